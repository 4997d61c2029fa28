{# The model at hand, with its options parsed and its relations named. #}
{% macro _open(target) %}
  {% set asks = auto_cdc._version_query() is not none %}
  {% set overrides = var('replace_where_overrides', none) %}
  {{ return(auto_cdc._python().open_model(
    name=model.name,
    adapter_type=auto_cdc._adapter_type(target),
    config=model.config,
    written=model.unrendered_config,
    identifier=target.identifier,
    target=target | string,
    sql=compiled_code,
    beside=target.incorporate,
    current_version=auto_cdc.current_snapshot_version() if asks else '',
    replace_where_overrides=overrides,
    overridable=auto_cdc._overridable() if overrides else [],
    cloned_from=auto_cdc._cloned_from()
  )) }}
{% endmacro %}
