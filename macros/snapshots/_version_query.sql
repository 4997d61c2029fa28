{#
  The model's version query, rendered as late as dbt renders hooks: in the text of an option, `ref` knows the project.
  None where the model has none.
#}
{% macro _version_query() %}
  {% set written = auto_cdc._python().written_option(config=config, name='version_query') %}
  {{ return(render(written) if written else none) }}
{% endmacro %}
