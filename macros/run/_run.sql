{# The one executor of all our materializations: a run, with its row in the event log, also where the run is refused. #}
{% macro _run() %}
  {{ return(auto_cdc._python().logged(
    entry=auto_cdc._log_entry(),
    prepare=auto_cdc._prepare_log,
    run=auto_cdc._apply,
    refuse=auto_cdc._log_refused,
    tell=auto_cdc._python().tell
  )) }}
{% endmacro %}
