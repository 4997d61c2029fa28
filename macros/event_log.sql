{# The event log of a schema, as something to select from; of the target's own schema unless another is named. #}
{% macro event_log(schema=none, database=none) %}
  {{ return(api.Relation.create(
    database=database or target.database,
    schema=schema or target.schema,
    identifier=auto_cdc._python().event_log_identifier(),
    type='table'
  )) }}
{% endmacro %}
