{#
  The one executor of all our materializations: what dbt does around a model, and a plan in the middle.
  Everything from the first statement to the commit is one transaction where the engine has them.
#}
{% macro _run() %}
  {% set target = this.incorporate(type='table') %}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% do auto_cdc._send_header() %}
  {% set opened = auto_cdc._open(target) %}
  {% set plan = auto_cdc._plan(opened, target) %}
  {% do auto_cdc._assert_contract(opened, plan) %}
  {% do write(plan.script) %}
  {% set outcome = auto_cdc._execute(plan) %}
  {% do store_result('main', auto_cdc._python().response(outcome.message, outcome.figures)) %}

  {% do apply_grants(target, config.get('grants'), should_revoke=should_revoke(load_cached_relation(this), plan.creates)) %}
  {% do persist_docs(target, model) %}
  {% if plan.creates %}
    {% do auto_cdc._set_table_options(target) %}
    {% do create_indexes(target) %}
  {% endif %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {% do auto_cdc._close(plan) %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target, auto_cdc._beside(target, opened.relations.companion_identifier)]}) }}
{% endmacro %}
