{# Sends a plan's statements, inside one transaction, and passes on what was noticed. The caller commits. #}
{% macro _execute(plan) %}
  {% set outcome = auto_cdc._python().run_plan(plan=plan, send=auto_cdc._send, tell=auto_cdc._tell) %}
  {% for warning in outcome.warnings + auto_cdc._missing_transactions() %}
    {% do exceptions.warn('auto_cdc: model ' ~ plan.model ~ ': ' ~ warning) %}
  {% endfor %}
  {{ return(outcome) }}
{% endmacro %}
