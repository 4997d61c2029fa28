{# Removes keys from this model's target and all that stands beside it, in one transaction, and returns what went. #}
{% macro _forgotten(keys) %}
  {% set cdc = auto_cdc._python() %}
  {% set target = this.incorporate(type='table') %}
  {% set opened = auto_cdc._open(target) %}
  {% do auto_cdc._lock(opened) %}
  {% set existing = load_cached_relation(target) %}
  {% set forgetting = cdc.plan_forget(
    model=opened,
    ask=auto_cdc._ask,
    target_exists=existing is not none,
    target_is_view=existing is not none and existing.is_view,
    beside=auto_cdc._beside_there(opened, target),
    keys=keys
  ) %}
  {% set outcome = auto_cdc._execute(forgetting.plan) %}
  {% do adapter.commit() %}
  {% do auto_cdc._close(forgetting.plan) %}
  {{ return(cdc.forgotten(forgetting=forgetting, outcome=outcome)) }}
{% endmacro %}
