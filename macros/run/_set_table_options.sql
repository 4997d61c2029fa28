{#
  Of a table that was just made: what dbt-duckdb lays out by statements of its own, where it has them (DuckLake).
  Elsewhere its macros warn, as for its own materializations. Rows that the first load wrote keep their files.
#}
{% macro _set_table_options(target) %}
  {% set partitioned_by = duckdb__get_partitioned_by(target, false) if duckdb__get_partitioned_by is defined %}
  {% if partitioned_by %}
    {% do run_query(duckdb__alter_table_set_partitioned_by(target, partitioned_by)) %}
  {% endif %}
  {% set sorted_by = duckdb__get_sorted_by(target, false) if duckdb__get_sorted_by is defined %}
  {% if sorted_by %}
    {% do run_query(duckdb__alter_table_set_sorted_by(target, sorted_by)) %}
  {% endif %}
{% endmacro %}
