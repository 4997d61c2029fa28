{#
  Takes the table that is at a model's place over as its target: the table stays as it is and gets its companion.
  `dbt run` goes on with it from there.
#}
{% macro adopt(model=none) %}
  {% do auto_cdc._require('adopt', 'model', model) %}
  {% if execute %}
    {% do log(auto_cdc._in_model(model, '_adopted'), info=true) %}
  {% endif %}
{% endmacro %}
