{# Refuses an operation that was not told what to work on. #}
{% macro _require(operation, argument, value) %}
  {% if not value %}
    {% do exceptions.raise_compiler_error(
      "auto_cdc: " ~ operation ~ " needs to know the " ~ argument ~ "; write dbt run-operation auto_cdc." ~ operation
      ~ " --args '{" ~ argument ~ ": ...}'"
    ) %}
  {% endif %}
{% endmacro %}
