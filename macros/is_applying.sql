{#
  True where this run applies events to a target that is there, false where it builds one: on the first run, with
  --full-refresh, and while dbt parses. The counterpart of is_incremental(), which is always false in our models.
#}
{% macro is_applying() %}
  {% if not execute or should_full_refresh() %}
    {{ return(false) }}
  {% endif %}
  {% set companion = auto_cdc._python().companion_identifier(this.identifier, adapter.type()) %}
  {{ return(
    load_cached_relation(this) is not none
    and load_cached_relation(auto_cdc._beside(this, companion)) is not none
  ) }}
{% endmacro %}
