{#
  The model's version query, rendered as late as dbt renders hooks: in the text of an option, `ref` knows the project.
  None where the model has none.
#}
{% macro _version_query() %}
  {% set written = config.get('version_query') or (config.get('meta') or {}).get('version_query') %}
  {{ return(render(written) if written else none) }}
{% endmacro %}
