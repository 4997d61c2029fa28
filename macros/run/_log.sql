{# Writes the row of what was done since the last one, in the transaction that did it. #}
{% macro _log(entry, turns) %}
  {% set version = '' if turns.waits else turns.version %}
  {% do auto_cdc._python().log_row(entry=entry, ask=auto_cdc._ask, send=auto_cdc._send, version=version) %}
{% endmacro %}
