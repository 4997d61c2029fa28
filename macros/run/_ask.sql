{# Sends one query that changes nothing and returns its rows; where an engine needs more statements for it, these first. #}
{% macro _ask(query) %}
  {% set asked = auto_cdc._python().statements(adapter_type=adapter.type(), sql=query) %}
  {% for sql in asked[:-1] %}
    {% do auto_cdc._tell_engine(sql) %}
  {% endfor %}
  {{ return(run_query(asked[-1]).rows) }}
{% endmacro %}
