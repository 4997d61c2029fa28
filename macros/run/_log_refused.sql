{#
  Takes back what a run did that fails, and writes its row in a transaction of its own. After an error of the engine dbt
  has rolled back already: then the first statement opens a transaction only to end it, and dbt believes it open either way.
#}
{% macro _log_refused(sql) %}
  {% if not auto_cdc._missing_transactions() %}
    {% call statement('auto_cdc_rollback', auto_begin=true) %}
rollback
    {% endcall %}
    {% call statement('auto_cdc_begin', auto_begin=false) %}
begin
    {% endcall %}
  {% endif %}
  {% do auto_cdc._send('write the event log', sql) %}
  {% do adapter.commit() %}
{% endmacro %}
