{# What has to be done for one model after `dbt clone`, from what the catalog says of the clone and the original. #}
{% macro _clone_plan(node, from_schema, from_database, wanted) %}
  {% set cdc = auto_cdc._python() %}
  {% set table = auto_cdc._table_of(node) %}
  {% set original = api.Relation.create(
    database=from_database if from_database and node.database == target.database else node.database,
    schema=cdc.schema_cloned_from(schema=node.schema, target_schema=target.schema, from_schema=from_schema),
    identifier=cdc.companion_identifier(node.alias, adapter.type()),
    type='table'
  ) %}
  {% set companion = auto_cdc._beside(table, original.identifier) %}
  {% set files = original.incorporate(
    path={'identifier': cdc.files_identifier(node.alias, adapter.type())}, type='table'
  ) %}
  {% set existing = load_cached_relation(table) %}
  {{ return(cdc.plan_clone(
    name=node.name,
    adapter_type=auto_cdc._adapter_type(table),
    identifier=node.alias,
    target=table | string,
    beside=table.incorporate,
    original_companion=original | string,
    original_has_companion=load_cached_relation(original) is not none,
    original_files=files | string if load_cached_relation(files) is not none else '',
    exists=existing is not none,
    is_view=existing is not none and existing.is_view,
    has_companion=load_cached_relation(companion) is not none,
    wanted=wanted
  )) }}
{% endmacro %}
