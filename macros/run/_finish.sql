{# Where a run is no transaction: finishes the one before, if it was stopped while it wrote. #}
{% macro _finish(opened, target) %}
  {% set companion = load_cached_relation(auto_cdc._beside(target, opened.relations.companion_identifier)) %}
  {% set plan = auto_cdc._python().unfinished(
    model=opened,
    companion_exists=companion is not none,
    full_refresh=should_full_refresh(),
    ask=auto_cdc._ask
  ) %}
  {% if plan is not none %}
    {% do auto_cdc._python().tell('auto_cdc: model ' ~ plan.model ~ ': finishing the run before, which was stopped') %}
    {% do auto_cdc._execute(plan) %}
  {% endif %}
{% endmacro %}
