{# Opens a transaction where dbt only notes that there should be one. #}
{% macro _begin() %}
  {% set sql = auto_cdc._python().begin(adapter_type=adapter.type()) %}
  {% if sql %}
    {% call statement('auto_cdc_begin', auto_begin=true) %}
{{ sql }}
    {% endcall %}
  {% endif %}
{% endmacro %}
