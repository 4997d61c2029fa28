{#
  Refuses, with dbt's own message, a target that would not be what an enforced contract says.
  Asked in every run: columns come with the feed, and the contract may have changed since.
#}
{% macro _assert_contract(plan) %}
  {% if config.get('contract').enforced %}
    {% do get_assert_columns_equivalent(plan.shape) %}
  {% endif %}
{% endmacro %}
