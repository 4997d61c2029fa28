{#
  After a model was renamed, or moved to another schema: moves its target, and all that is beside it, from where they
  were to where the model has them now.
#}
{% macro move_companions(model=none, from_name=none, from_schema=none, from_database=none) %}
  {% do auto_cdc._require('move_companions', 'model', model) %}
  {% if execute %}
    {% do log(auto_cdc._in_model(model, '_moved', arguments={
      'from_name': from_name, 'from_schema': from_schema, 'from_database': from_database
    }), info=true) %}
  {% endif %}
{% endmacro %}
