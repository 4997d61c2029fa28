{#
  Refuses, with dbt's own message, a target that would not be what an enforced contract says.
  Asked in every run: columns come with the feed, and the contract may have changed since.
  dbt-duckdb knows `enforced_constraint_types`: there a table with a foreign key must not be renamed, or the table it
  references can never be dropped again.
#}
{% macro _assert_contract(opened, plan) %}
  {% if config.get('contract').enforced %}
    {% do get_assert_columns_equivalent(plan.shape) %}
    {% if enforced_constraint_types is defined and 'foreign_key' in enforced_constraint_types() %}
      {% do auto_cdc._python().refuse_swap(model=opened, plan=plan) %}
    {% endif %}
  {% endif %}
{% endmacro %}
