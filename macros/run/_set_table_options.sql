{#
  Of a table that was just made: what adapters do by statements of their own, where they have them. Those of dbt-duckdb are
  for DuckLake, where the plan lays out the table before it has rows; elsewhere they warn, as for its own materializations.
  Those of dbt-postgres are for tables without a log. The names of options are put together here, because an option that a
  macro reads by name counts as known to every adapter.
#}
{% macro _set_table_options(target) %}
  {% if auto_cdc._adapter_type(target) == 'ducklake' %}
    {{ return(none) }}
  {% endif %}
  {% set partitioned_by = duckdb__get_partitioned_by(target, false) if duckdb__get_partitioned_by is defined %}
  {% if partitioned_by %}
    {% do run_query(duckdb__alter_table_set_partitioned_by(target, partitioned_by)) %}
  {% endif %}
  {% set sorted_by = duckdb__get_sorted_by(target, false) if duckdb__get_sorted_by is defined %}
  {% if sorted_by %}
    {% do run_query(duckdb__alter_table_set_sorted_by(target, sorted_by)) %}
  {% endif %}
  {% set option = 'unlogged' %}
  {% if config.get(option) %}
    {% set companion = auto_cdc._python().companion_identifier(target.identifier, adapter.type()) %}
    {% do run_query('alter table ' ~ target ~ ' set unlogged') %}
    {% do run_query('alter table ' ~ auto_cdc._beside(target, companion) ~ ' set unlogged') %}
  {% endif %}
{% endmacro %}
