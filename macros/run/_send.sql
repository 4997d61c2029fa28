{# Sends one statement of a plan, inside the model's transaction, and returns its first row and how many it wrote. #}
{% macro _send(name, sql) %}
  {% call statement('auto_cdc', fetch_result=true, auto_begin=true) %}
{{ sql }}
  {% endcall %}
  {{ return(auto_cdc._python().sent(load_result('auto_cdc'))) }}
{% endmacro %}
