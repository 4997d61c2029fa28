{# Moves a target, and all that is beside it, to this model's place, in one transaction, and returns what was done. #}
{% macro _moved(from_name, from_schema, from_database) %}
  {% set cdc = auto_cdc._python() %}
  {% set target = this.incorporate(type='table') %}
  {% set opened = auto_cdc._open(target) %}
  {% set source = api.Relation.create(
    database=from_database or this.database,
    schema=from_schema or this.schema,
    identifier=from_name or this.identifier,
    type='table'
  ) %}
  {% do auto_cdc._lock(opened) %}
  {% set there = load_cached_relation(source) %}
  {% set existing = load_cached_relation(target) %}
  {% set plan = cdc.plan_move(
    model=opened,
    adapter_type=auto_cdc._adapter_type(target),
    source=source,
    destination=target,
    source_beside=auto_cdc._beside_there(opened, source),
    destination_beside=auto_cdc._beside_there(opened, target),
    source_kind=there.type | string if there is not none else '',
    destination_kind=existing.type | string if existing is not none else '',
    contract=get_table_columns_and_constraints() if config.get('contract').enforced else '',
    ask=auto_cdc._ask
  ) %}
  {% if source.schema != target.schema %}
    {% do adapter.create_schema(target) %}
  {% endif %}
  {% do auto_cdc._execute(plan) %}
  {% do adapter.commit() %}
  {{ return('auto_cdc: model ' ~ plan.model ~ ': ' ~ plan.action) }}
{% endmacro %}
