{#
  Removes a key, or several, from a model's target, its companion, its change feed and its quarantine.
  In the change feed a row remains that says that the key was deleted, without a value.
#}
{% macro forget(model=none, keys=none) %}
  {% do auto_cdc._require('forget', 'model', model) %}
  {% if execute %}
    {% do log(auto_cdc._in_model(model, '_forgotten', arguments={'keys': keys}), info=true) %}
  {% endif %}
{% endmacro %}
