{# Sends one statement that gives no rows, outside a transaction where none is open. #}
{% macro _tell_engine(sql) %}
  {% call statement('auto_cdc_told', fetch_result=false, auto_begin=false) %}
{{ sql }}
  {% endcall %}
{% endmacro %}
