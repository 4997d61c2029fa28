{# After the commit: frees what the statements of a turn used. #}
{% macro _close(turns) %}
  {% for step in turns.closing %}
    {% do run_query(step.text) %}
  {% endfor %}
{% endmacro %}
