{# The model's rows are whole copies of a source, one per version; what differs is kept as SCD type 1 or 2. #}
{% materialization auto_cdc_snapshot, default %}
  {{ return(auto_cdc._run()) }}
{% endmaterialization %}
