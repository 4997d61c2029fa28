{# Sends the model's sql_header, if it has one: settings and functions that its SQL needs, from the first look on. #}
{% macro _send_header() %}
  {% set header = config.get('sql_header') %}
  {% if header %}
    {% call statement('auto_cdc_header') %}
{{ header }}
    {% endcall %}
  {% endif %}
{% endmacro %}
