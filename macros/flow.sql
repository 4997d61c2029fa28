{#
  One flow of an auto_cdc model that has several: {% call auto_cdc.flow('name', once=true) %} select ... {% endcall %}.
  Its SELECT becomes a part of the model's, which stays one SELECT; its options stand beside it in a comment and, for the
  validation while dbt parses, in the model's configuration. `context` is where dbt keeps what it renders one model with.
#}
{% macro flow(name=none) %}
  {% set flows = context.setdefault('auto_cdc_flows', []) %}
  {% set select = auto_cdc._python().flow(
    model=model.name,
    adapter_type=adapter.type(),
    before=flows,
    name=name,
    options=kwargs,
    others=varargs,
    sql=caller() if caller else none
  ) %}
  {% do config({'auto_cdc_flows': flows}) %}
  {{ return(select) }}
{% endmacro %}
