{# The model's rows replace all rows of their key, where they are newer. #}
{% materialization replace_using, default %}
  {{ return(auto_cdc._run()) }}
{% endmaterialization %}
