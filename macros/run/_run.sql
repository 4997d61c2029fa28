{#
  The one executor of all our materializations: what dbt does around a model, and a plan in the middle.
  Everything from the first statement to the commit is one transaction where the engine has them.
#}
{% macro _run() %}
  {% set cdc = auto_cdc._python() %}
  {% set target = this.incorporate(type='table') %}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% set opened = auto_cdc._open(model, target, compiled_code) %}
  {% set contract_sql = get_table_columns_and_constraints() if config.get('contract').enforced else '' %}
  {% set plan = auto_cdc._plan(opened, target, should_full_refresh(), contract_sql) %}
  {% if plan.creates and contract_sql %}
    {% do get_assert_columns_equivalent(plan.shape) %}
  {% endif %}
  {% do write(plan.script) %}
  {% set outcome = cdc.run_plan(plan=plan, send=auto_cdc._send) %}
  {% for warning in outcome.warnings + auto_cdc._missing_transactions() %}
    {% do exceptions.warn('auto_cdc: model ' ~ model.name ~ ': ' ~ warning) %}
  {% endfor %}
  {% do store_result('main', cdc.response(outcome.message, outcome.figures)) %}

  {% do apply_grants(target, config.get('grants'), should_revoke=should_revoke(load_cached_relation(this), plan.creates)) %}
  {% do persist_docs(target, model) %}
  {% if plan.creates %}
    {% do create_indexes(target) %}
  {% endif %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {% for step in plan.closing %}
    {% do run_query(step.text) %}
  {% endfor %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target, auto_cdc._beside(target, opened.relations.companion_identifier)]}) }}
{% endmacro %}
