{# The table that a unit test's input stands in for, or none where a CTE is an ephemeral model. #}
{% macro _stood_in_for(relation) %}
  {% for node in builtins.ref.manifest.nodes.values() if model.resource_type == 'unit_test' %}
    {% set names = [node.identifier, node.unique_id.split('.')[-1]] %}
    {% if relation.identifier in names | map('replace', '', '__dbt__cte__', 1) | list %}
      {% set table = api.Relation.create(database=node.database, schema=node.schema, identifier=node.identifier) %}
      {% set deferred = node.defer_relation %}
      {{ return(table if load_cached_relation(table) or not deferred else api.Relation.create(
        database=deferred.database, schema=deferred.schema, identifier=deferred.alias
      )) }}
    {% endif %}
  {% endfor %}
  {{ return(none) }}
{% endmacro %}
