{#
  What dbt does around a model, and plans in the middle.
  Everything from the first statement to the commit is one transaction where the engine has them.
#}
{% macro _apply(entry) %}
  {% set target = this.incorporate(type='table') %}
  {% if not entry.repeats %}
    {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {% else %}
    {% do auto_cdc._python().look_again(adapter_type=adapter.type(), adapter=adapter, relation=target) %}
  {% endif %}
  {% do auto_cdc._begin_run() %}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% do auto_cdc._send_header() %}
  {% set opened = auto_cdc._open(target) %}
  {% do entry.opens(opened) %}
  {% do auto_cdc._look_afresh(opened, target) if entry.repeats %}
  {% set turns = auto_cdc._python().turns(model=opened, entry=entry, partial=auto_cdc._partial(), run_id=invocation_id) %}
  {% for turn in turns %}
    {% do auto_cdc._turn(opened, target, turn, entry) %}
  {% endfor %}
  {% set outcome = turns.outcome %}
  {% do store_result('main', auto_cdc._python().response(outcome.message, outcome.figures, outcome.expectations)) %}

  {% do apply_grants(target, config.get('grants'), should_revoke=should_revoke(load_cached_relation(this), turns.creates)) %}
  {% do persist_docs(target, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do auto_cdc._log(entry, turns) %}
  {% do adapter.commit() %}
  {% do entry.commits() %}
  {% do auto_cdc._close(turns) %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {% set kept = [target, auto_cdc._beside(target, opened.relations.companion_identifier)] %}
  {% do kept.append(auto_cdc._beside(target, opened.relations.changes_identifier)) if opened.feeds %}
  {% do kept.append(auto_cdc._beside(target, opened.relations.quarantine_identifier)) if opened.quarantines %}
  {{ return({'relations': kept}) }}
{% endmacro %}
