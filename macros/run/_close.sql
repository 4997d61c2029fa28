{# After the commit: frees what the statements of a turn used. #}
{% macro _close(turns) %}
  {% for step in turns.closing %}
    {% for sql in auto_cdc._python().statements(adapter_type=adapter.type(), sql=step.text) %}
      {% do auto_cdc._tell_engine(sql) %}
    {% endfor %}
  {% endfor %}
{% endmacro %}
