{#
  The plan of the next run: what the catalog knows of the model's relations, and a way to ask for more.
  After the first of several turns the relations are there, though the catalog was asked before.
#}
{% macro _plan(opened, target, turns=none) %}
  {% set is_first = turns is none or turns.is_first %}
  {% set existing = load_cached_relation(target) %}
  {% set companion = load_cached_relation(auto_cdc._beside(target, opened.relations.companion_identifier)) %}
  {{ return(auto_cdc._python().make_plan(
    model=opened,
    ask=auto_cdc._ask,
    target_exists=existing is not none or not is_first,
    target_is_view=existing is not none and existing.is_view and is_first,
    companion_exists=companion is not none or not is_first,
    full_refresh=should_full_refresh() and is_first,
    contract_sql=get_table_columns_and_constraints() if config.get('contract').enforced else '',
    partial=auto_cdc._partial(),
    waits=turns is not none and turns.waits,
    beside=auto_cdc._beside_there(opened, target, is_first),
    schema=auto_cdc._in_schema(opened, target),
    run_id=invocation_id
  )) }}
{% endmacro %}
