{#
  Files of which each committed run reads only what no run has read: select ... from {{ auto_cdc.read_files('landing/*.json') }}.
  As it stands it gives the rows of all files that are there; a run of a model that reads them once puts the new ones in
  its place, so they are not looked through before that. Noted for the validation while dbt parses, as flows are.
#}
{% macro read_files(path=none) %}
  {% set reads = context.setdefault('auto_cdc_reads', []) %}
  {% set cdc = auto_cdc._python() %}
  {% set marked = cdc.read_files(
    model=model.name,
    adapter_type=adapter.type(),
    path=path,
    options=kwargs,
    others=varargs,
    before=reads,
    looks=execute and not cdc.reads_in_steps(materialized=config.get('materialized'), command=flags.WHICH),
    ask=auto_cdc._ask
  ) %}
  {% do config({'auto_cdc_reads': reads}) %}
  {{ return(marked) }}
{% endmacro %}
