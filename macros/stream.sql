{#
  A relation of which each committed run reads only what is new: select ... from {{ auto_cdc.stream(ref('x'), offset='id') }}.
  As it stands it gives everything; a run of ours puts the new rows in its place. Noted for the validation while dbt
  parses, as flows are.
#}
{% macro stream(relation, offset=none, look_back=none, change_feed=none, name=none) %}
  {% set reads = context.setdefault('auto_cdc_reads', []) %}
  {% set marked = auto_cdc._python().stream(
    model=model.name,
    adapter_type=adapter.type(),
    relation=relation,
    options=dict(kwargs, offset=offset, look_back=look_back, change_feed=change_feed, name=name),
    others=varargs,
    before=reads,
    executes=execute
  ) %}
  {% do config({'auto_cdc_reads': reads}) %}
  {{ return(marked) }}
{% endmacro %}
