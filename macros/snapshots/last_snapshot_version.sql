{#
  The version that was applied last: a relation with one column, `version`, and one row, or none before the first
  snapshot and in the first turn of `--full-refresh`. For a version query.
#}
{% macro last_snapshot_version() %}
  {% if not execute %}
    {{ return('') }}
  {% endif %}
  {% set cdc = auto_cdc._python() %}
  {% if auto_cdc._version_is_kept() %}
    {{ return(cdc.version_relation(adapter_type=auto_cdc._adapter_type(this), identifier=this.identifier, target=this | string, last=true, run_id=invocation_id)) }}
  {% endif %}
  {% set companion = auto_cdc._beside(this, cdc.companion_identifier(this.identifier, adapter.type())) %}
  {% set known = cdc.last_version(companion | string) if auto_cdc.is_applying() else cdc.no_version() %}
  {{ return('(\n' ~ known ~ '\n)') }}
{% endmacro %}
