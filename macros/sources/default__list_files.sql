{# As the engine says it; where an engine lists no files, this refuses. #}
{% macro default__list_files(path) %}
  {{ return(auto_cdc._python().list_files(
    path=path, adapter_type=adapter.type(), model=model.name if model is defined and model else 'none'
  )) }}
{% endmacro %}
