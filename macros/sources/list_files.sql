{# The files under a path, as a relation for a FROM; an adapter or a project can bring its own by dispatch. #}
{% macro list_files(path=none) %}
  {{ return(adapter.dispatch('list_files', 'auto_cdc')(path)) }}
{% endmacro %}
