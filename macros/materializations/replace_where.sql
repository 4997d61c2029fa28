{# The model's rows replace the rows of a range of the target. #}
{% materialization replace_where, default %}
  {{ return(auto_cdc._run()) }}
{% endmaterialization %}
