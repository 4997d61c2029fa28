{#
  Sends a plan's statements, inside one transaction, and passes on what was noticed. The caller commits; `entry` is
  the run's row of the event log, where it has one.
#}
{% macro _execute(plan, entry=none) %}
  {% set outcome = auto_cdc._python().run_plan(plan=plan, send=auto_cdc._send, tell=auto_cdc._python().tell, entry=entry) %}
  {% for warning in outcome.warnings + auto_cdc._missing_transactions() %}
    {% do exceptions.warn('auto_cdc: model ' ~ plan.model ~ ': ' ~ warning) %}
  {% endfor %}
  {{ return(outcome) }}
{% endmacro %}
