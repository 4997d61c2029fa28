{#
  Prints the plan of a model's next run, statement by statement; runs nothing and writes nothing.
  The model is compiled as `dbt run` would do it, in a context of its own.
#}
{% macro explain(model=none, full_refresh=false) %}
  {% do auto_cdc._require('explain', 'model', model) %}
  {% if execute %}
    {% do print(auto_cdc._in_model(model, '_explained', full_refresh)) %}
  {% endif %}
{% endmacro %}
