{# The model's rows are change events; the target is kept as SCD type 1 or 2. #}
{% materialization auto_cdc, default %}
  {{ return(auto_cdc._run()) }}
{% endmaterialization %}
