{#
  The event log of a schema, as something to select from; of the target's own schema unless another is named. Where there
  is none, commands that send nothing of it get a name all the same, so that a project may be shared between engines.
#}
{% macro event_log(schema=none, database=none) %}
  {% if execute and flags.WHICH not in ['compile', 'generate'] %}
    {% do auto_cdc._python().require_log(
      name=model.name if model is defined else 'none', adapter_type=adapter.type()
    ) %}
  {% endif %}
  {{ return(api.Relation.create(
    database=database or target.database or none,
    schema=schema or target.schema,
    identifier=auto_cdc._python().event_log_identifier(),
    type='table'
  )) }}
{% endmacro %}
