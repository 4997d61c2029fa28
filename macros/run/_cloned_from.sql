{# What `clone_companions` has to be told of the schema to which dbt defers; nothing where it does not. #}
{% macro _cloned_from() %}
  {% if defer_relation is not defined or not defer_relation %}
    {{ return('') }}
  {% endif %}
  {{ return(auto_cdc._python().clone_arguments(
    schema=this.schema,
    target_schema=target.schema,
    database=this.database,
    original_schema=defer_relation.schema,
    original_database=defer_relation.database
  )) }}
{% endmacro %}
