{# Waits for another run of the model where the engine lets it come in between; opens the transaction of a later turn. #}
{% macro _lock(opened) %}
  {% set sql = auto_cdc._python().lock(model=opened) %}
  {% if sql %}
    {% call statement('auto_cdc_lock', auto_begin=true) %}
{{ sql }}
    {% endcall %}
  {% endif %}
{% endmacro %}
