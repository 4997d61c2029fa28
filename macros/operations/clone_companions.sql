{#
  After `dbt clone`: gives each cloned target of ours the companion of the one it was cloned from.
  Everything is looked at before anything is written; then it is one transaction a model.
#}
{% macro clone_companions(from_schema=none, from_database=none, models=none) %}
  {% do auto_cdc._require('clone_companions', 'from_schema', from_schema) %}
  {% if execute %}
    {% set plans = [] %}
    {% for node in auto_cdc._python().find_models(resolver=builtins.ref, wanted=models) %}
      {% do plans.append((auto_cdc._clone_plan(node, from_schema, from_database, models is not none), auto_cdc._table_of(node))) %}
    {% endfor %}
    {% for plan, table in plans %}
      {% set outcome = auto_cdc._in_transaction(plan, table) %}
      {% set rows = ' (' ~ outcome.measures['num_companion_rows'] ~ ' rows)' if plan.steps else '' %}
      {% do log('auto_cdc: model ' ~ plan.model ~ ': ' ~ plan.action ~ rows, info=true) %}
    {% endfor %}
  {% endif %}
{% endmacro %}
