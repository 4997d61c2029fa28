{# Takes this model's table over, in one transaction, and returns what was done, in a sentence. #}
{% macro _adopted() %}
  {% set cdc = auto_cdc._python() %}
  {% set target = this.incorporate(type='table') %}
  {% do auto_cdc._send_header() %}
  {% set opened = auto_cdc._open(target) %}
  {% do auto_cdc._lock(opened) %}
  {% set existing = load_cached_relation(target) %}
  {% set companion = load_cached_relation(auto_cdc._beside(target, opened.relations.companion_identifier)) %}
  {% set plan = cdc.plan_adoption(
    model=opened,
    ask=auto_cdc._ask,
    target_exists=existing is not none,
    target_is_view=existing is not none and existing.is_view,
    companion_exists=companion is not none
  ) %}
  {% set outcome = auto_cdc._execute(plan) %}
  {% do adapter.commit() %}
  {{ return(cdc.adopted(model=opened, outcome=outcome)) }}
{% endmacro %}
