{#
  What runs changed in the target of a model with `change_data_feed`, as a sub-query for FROM: from a version or time to
  another, both included. Before the feed is there, commands that run no model get a sub-query that nobody sends.
#}
{% macro table_changes(relation, start, end=none) %}
  {% set cdc = auto_cdc._python() %}
  {% set name = model.name if model is defined else 'none' %}
  {% set feed = cdc.feed_of(model=name, relation=relation, adapter_type=adapter.type()) %}
  {% set exists = execute and load_cached_relation(feed) is not none %}
  {% if not execute or not (exists or flags.WHICH in ['run', 'build', 'test', 'snapshot', 'run-operation']) %}
    {{ return('(select * from ' ~ feed ~ ')') }}
  {% endif %}
  {{ return(cdc.table_changes(
    model=name, relation=relation, feed=feed, adapter_type=adapter.type(), exists=exists, start=start, end=end,
    ask=auto_cdc._ask
  )) }}
{% endmacro %}
