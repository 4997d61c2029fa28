{# The model's rows are the table; only rows that differ from those that are there are written. #}
{% materialization recomputed_table, default %}
  {{ return(auto_cdc._run()) }}
{% endmaterialization %}
