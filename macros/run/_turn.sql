{#
  One turn of a run: a plan, made and executed. Where a version query gives the snapshots, every turn applies the next
  of them and is committed, until none is left; other models have one turn.
#}
{% macro _turn(opened, target, turns, entry) %}
  {% do auto_cdc._lock(opened) %}
  {% do auto_cdc._finish(opened, target) %}
  {% if turns.asks %}
    {% do auto_cdc._python().ask_version(
      turns=turns,
      query=auto_cdc._version_query(),
      applying=auto_cdc.is_applying(),
      ask=auto_cdc._ask,
      send=auto_cdc._send
    ) %}
  {% endif %}
  {% if turns.is_idle %}
    {% do turns.done() %}
    {{ return(none) }}
  {% endif %}

  {% set plan = auto_cdc._plan(opened, target, turns) %}
  {% do auto_cdc._assert_contract(opened, plan) %}
  {% do write(plan.script) %}
  {% set outcome = auto_cdc._execute(plan, entry) %}
  {% if plan.creates %}
    {% do auto_cdc._set_table_options(target) %}
    {% do create_indexes(target) %}
  {% endif %}
  {% do turns.done(plan, outcome) %}
  {% if not turns.ended %}
    {% do auto_cdc._log(entry, turns) %}
    {% do adapter.commit() %}
    {% do entry.keeps() %}
    {% do auto_cdc._close(turns) %}
    {% do auto_cdc._python().tell('auto_cdc: model ' ~ plan.model ~ ': applied version ' ~ turns.version ~ ': ' ~ outcome.message) %}
  {% endif %}
{% endmacro %}
