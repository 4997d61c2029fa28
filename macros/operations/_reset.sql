{# Forgets how far this model's streams were read, in one transaction, and returns what was done, in a sentence. #}
{% macro _reset(streams) %}
  {% set target = this.incorporate(type='table') %}
  {% set opened = auto_cdc._open(target) %}
  {% do auto_cdc._lock(opened) %}
  {% set companion = load_cached_relation(auto_cdc._beside(target, opened.relations.companion_identifier)) %}
  {% set plan = auto_cdc._python().plan_reset(
    model=opened, ask=auto_cdc._ask, companion_exists=companion is not none, streams=streams
  ) %}
  {% do auto_cdc._execute(plan) %}
  {% do adapter.commit() %}
  {{ return('auto_cdc: model ' ~ plan.model ~ ': ' ~ plan.action) }}
{% endmacro %}
