{# The plan of the next run: what the catalog knows of the model's relations, and a way to ask for more. #}
{% macro _plan(opened, target) %}
  {% set existing = load_cached_relation(target) %}
  {% set companion = load_cached_relation(auto_cdc._beside(target, opened.relations.companion_identifier)) %}
  {{ return(auto_cdc._python().make_plan(
    model=opened,
    ask=auto_cdc._ask,
    target_exists=existing is not none,
    target_is_view=existing is not none and existing.is_view,
    companion_exists=companion is not none,
    full_refresh=should_full_refresh(),
    contract_sql=get_table_columns_and_constraints() if config.get('contract').enforced else '',
    partial=auto_cdc._partial()
  )) }}
{% endmacro %}
