{# After the commit: frees what the plan's statements used. #}
{% macro _close(plan) %}
  {% for step in plan.closing %}
    {% do run_query(step.text) %}
  {% endfor %}
{% endmacro %}
