{# Makes the event log, or brings one of an older release up to date, in a transaction of its own. #}
{% macro _prepare_log(entry) %}
  {% do auto_cdc._python().prepare_log(
    entry=entry, begin=auto_cdc._begin, ask=auto_cdc._ask, send=auto_cdc._send, commit=adapter.commit
  ) %}
{% endmacro %}
