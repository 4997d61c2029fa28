{# The model with its options parsed and its relations named; `sql` is its compiled SELECT. #}
{% macro _open(node, target, sql) %}
  {{ return(auto_cdc._python().open_model(
    name=node.name,
    adapter_type=adapter.type(),
    config=node.config,
    written=node.unrendered_config,
    identifier=target.identifier,
    target=target | string,
    sql=sql,
    beside=target.incorporate
  )) }}
{% endmacro %}
