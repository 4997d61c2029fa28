{#
  True where this run applies events to a target that is there, false where it builds one: on the first run, with
  --full-refresh, and while dbt parses. The counterpart of is_incremental(), which is always false in our models.
  A unit test has no target, unless it says otherwise by an override. What it tells has to agree with the plan, or a
  model that reads only what is new would be built from that alone.
#}
{% macro is_applying() %}
  {% if not execute or not this or should_full_refresh() %}
    {{ return(false) }}
  {% endif %}
  {% set cdc = auto_cdc._python() %}
  {% set companion = cdc.companion_identifier(this.identifier, adapter.type()) %}
  {{ return(
    load_cached_relation(this) is not none
    and load_cached_relation(auto_cdc._beside(this, companion)) is not none
    and cdc.has_bounds(config=model.config, adapter_type=adapter.type(), target=this | string, ask=auto_cdc._ask)
  ) }}
{% endmacro %}
