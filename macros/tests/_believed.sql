{# The condition on the rows that a test is about: of a bitemporal table those that are believed now, else all. #}
{% macro _believed(relation) %}
  {{ return(auto_cdc._python().believed(columns=auto_cdc._columns_of(relation)) | join(' and ') or 'true') }}
{% endmacro %}
