{# Has the session see what other runs have written since it looked, to the target and what is beside it. #}
{% macro _look_afresh(opened, target) %}
  {% set there = [target.identifier] if load_cached_relation(target) is not none else [] %}
  {% for identifier in there + auto_cdc._beside_there(opened, target) %}
    {% set sql = opened.afresh(auto_cdc._beside(target, identifier) | string) %}
    {% do auto_cdc._tell_engine(sql) if sql %}
  {% endfor %}
{% endmacro %}
