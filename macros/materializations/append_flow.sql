{# The model's rows are added to the target; what they are read from gives each run what is new. #}
{% materialization append_flow, default %}
  {{ return(auto_cdc._run()) }}
{% endmaterialization %}
