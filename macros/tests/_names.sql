{# The columns that a test was given, one or a list, as SQL; a forgotten argument would render as nothing. #}
{% macro _names(test, argument, columns) %}
  {% if not columns %}
    {% do exceptions.raise_compiler_error(
      "auto_cdc." ~ test ~ ": " ~ argument ~ " is missing; write " ~ argument ~ ": [<column>, ...]"
    ) %}
  {% endif %}
  {{ return(columns if columns is string else columns | join(', ')) }}
{% endmacro %}
