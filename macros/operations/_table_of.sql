{# The relation of a model's target, of a model that is not the one at hand. #}
{% macro _table_of(node) %}
  {{ return(api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias, type='table')) }}
{% endmacro %}
