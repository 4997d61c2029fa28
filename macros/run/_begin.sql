{# Opens a transaction, by a statement of its own where dbt only notes that there should be one. #}
{% macro _begin() %}
  {% set sql = auto_cdc._python().begin(adapter_type=adapter.type()) %}
  {% call statement('auto_cdc_begin', auto_begin=true) %}
{{ sql or 'select 1' }}
  {% endcall %}
{% endmacro %}
