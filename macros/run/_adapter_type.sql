{#
  The type of the adapter, or the word for what is peculiar about a relation's tables: `ducklake`, where dbt-duckdb can
  tell that they are in one.
#}
{% macro _adapter_type(relation) %}
  {% if adapter.is_ducklake is defined and adapter.is_ducklake(relation) %}
    {{ return('ducklake') }}
  {% endif %}
  {{ return(adapter.type()) }}
{% endmacro %}
