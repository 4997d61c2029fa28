{#
  Forgets how far a model's streams were read, all of them or those that are named: its next run reads them from their
  beginning. No row of the target is changed.
#}
{% macro reset_streams(model=none, streams=none) %}
  {% do auto_cdc._require('reset_streams', 'model', model) %}
  {% if execute %}
    {% do log(auto_cdc._in_model(model, '_reset', arguments={'streams': streams}), info=true) %}
  {% endif %}
{% endmacro %}
