{# This run's row of the event log, to be filled while it goes on. #}
{% macro _log_entry() %}
  {% set cdc = auto_cdc._python() %}
  {% set log = auto_cdc._beside(this, cdc.event_log_identifier()) %}
  {% set existing = load_cached_relation(log) %}
  {{ return(cdc.open_entry(
    run_id=invocation_id,
    model=model.unique_id,
    name=model.name,
    target=this | string,
    relation=log | string,
    kind='' if existing is none else 'view' if existing.is_view else 'table',
    adapter_type=auto_cdc._adapter_type(this),
    config=model.config
  )) }}
{% endmacro %}
