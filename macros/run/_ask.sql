{# Sends one query that changes nothing and returns its rows, with what an engine needs before it and frees behind it. #}
{% macro _ask(query) %}
  {% set cdc = auto_cdc._python() %}
  {% set found = [] %}
  {% set asked = cdc.statements(adapter_type=adapter.type(), sql=query) %}
  {% for sql in asked %}
    {% if asked | length == 1 or cdc.gives_rows(adapter_type=adapter.type(), sql=sql) %}
      {% do found.append(run_query(sql).rows) %}
    {% else %}
      {% do auto_cdc._tell_engine(sql) %}
    {% endif %}
  {% endfor %}
  {{ return(found[-1]) }}
{% endmacro %}
