{#
  Removes the oldest rows of what grows: change feeds and quarantines of models, and the event logs of their schemas. Everything is
  planned before anything is written; then it is one transaction a table.
#}
{% macro trim(models=none, older_than=none, keep_last=none, tables=none) %}
  {% if execute %}
    {% set cdc = auto_cdc._python() %}
    {% set plans, logs = [], [] %}
    {% for node in cdc.find_models(resolver=builtins.ref, wanted=models) %}
      {% set table = auto_cdc._table_of(node) %}
      {% set companion = load_cached_relation(auto_cdc._beside(table, cdc.companion_identifier(node.alias, adapter.type()))) %}
      {% set feed = load_cached_relation(cdc.feed_of(model=node.name, relation=table, adapter_type=adapter.type())) %}
      {% set kept = cdc.quarantine_identifier(node.alias, adapter.type()) %}
      {% set quarantine = load_cached_relation(auto_cdc._beside(table, kept)) %}
      {% set log_table = load_cached_relation(auto_cdc._beside(table, cdc.event_log_identifier())) %}
      {% set is_new = log_table is not none and log_table | string not in logs %}
      {% set found = cdc.plan_trim(
        name=node.name,
        adapter_type=auto_cdc._adapter_type(table),
        feed=feed | string if feed is not none else '',
        quarantine=quarantine | string if quarantine is not none else '',
        log=log_table | string if is_new else '',
        companion=companion | string if companion is not none else '',
        keep_last=keep_last,
        older_than=older_than,
        tables=tables
      ) %}
      {% for plan in found %}
        {% do plans.append((plan, table)) %}
      {% endfor %}
      {% do logs.append(log_table | string) %}
    {% endfor %}
    {% for plan, table in plans %}
      {% set outcome = auto_cdc._in_transaction(plan, table) %}
      {% do log('auto_cdc: ' ~ plan.action ~ ' (' ~ outcome.measures['num_trimmed_rows'] ~ ' rows)', info=true) %}
    {% endfor %}
    {% if not plans %}
      {% do log('auto_cdc: there is nothing to trim', info=true) %}
    {% endif %}
  {% endif %}
{% endmacro %}
