{# The names of the models to which a run may give another predicate. #}
{% macro _overridable() %}
  {{ return(
    graph.nodes.values()
    | selectattr('resource_type', 'equalto', 'model')
    | selectattr('config.materialized', 'equalto', 'replace_where')
    | map(attribute='name') | list
  ) }}
{% endmacro %}
