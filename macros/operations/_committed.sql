{# Executes the plan of an operation in a transaction of its own, and returns its outcome. #}
{% macro _committed(plan) %}
  {% do auto_cdc._begin() %}
  {% set outcome = auto_cdc._execute(plan) %}
  {% do adapter.commit() %}
  {{ return(outcome) }}
{% endmacro %}
