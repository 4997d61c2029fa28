{#
  The version of the snapshot that is to be read: a relation with one row and one column, `version`.
  For the SQL of a model with a version query. A unit test says the version itself, by an override.
#}
{% macro current_snapshot_version() %}
  {% if not execute %}
    {{ return('') }}
  {% elif auto_cdc._version_is_kept() %}
    {{ return(auto_cdc._python().version_relation(adapter_type=auto_cdc._adapter_type(this), identifier=this.identifier, target=this | string, last=false, run_id=invocation_id)) }}
  {% endif %}
  {% if model.resource_type == 'unit_test' %}
    {% do exceptions.raise_compiler_error(
      "auto_cdc: unit test " ~ model.name ~ ": say which version the model reads; write "
      ~ "overrides: {macros: {auto_cdc.current_snapshot_version: (select 1 as version)}}"
    ) %}
  {% endif %}
  {% set query = auto_cdc._version_query() %}
  {% if not query %}
    {% do exceptions.raise_compiler_error(
      "auto_cdc: model " ~ model.name ~ ": auto_cdc.current_snapshot_version() is that of the option version_query, which is not "
      ~ "set; set it, or select the version that the model wants by itself"
    ) %}
  {% endif %}
  {{ return('(\nselect version from (\n' ~ query ~ '\n) as asked_for (version)\n)') }}
{% endmacro %}
