{# The names of the tables in the target's schema, as dbt saw them, where runs that were stopped may have left some. #}
{% macro _in_schema(opened, target) %}
  {{ return(auto_cdc._python().tables_in(model=opened, adapter=adapter, database=target.database, schema=target.schema)) }}
{% endmacro %}
