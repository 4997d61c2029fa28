{#
  For bitemporal targets: fails with versions of a key that hold at one business time in one belief, and with those
  whose bounds are missing or turned round. `keys`: the columns that identify a row, as one writes them in SQL.
#}
{% test no_overlapping_rectangles(model, keys) %}
{% set key = auto_cdc._names('no_overlapping_rectangles', 'keys', keys) %}
{{ auto_cdc._python().overlapping_rectangles(relation=model | string, keys=key) }}
{% endtest %}
