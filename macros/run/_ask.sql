{# Sends one query that changes nothing and returns its rows. #}
{% macro _ask(query) %}
  {{ return(run_query(query).rows) }}
{% endmacro %}
