{#
  Executes the plan of an operation on the tables of a model, whose target is `table`, in a transaction of its own; again
  where another process writes them first.
#}
{% macro _in_transaction(plan, table) %}
  {{ return(auto_cdc._python().begun_again(
    adapter_type=auto_cdc._adapter_type(table),
    name=plan.model,
    target=table | string,
    run=auto_cdc._committed,
    arguments={'plan': plan},
    tell=auto_cdc._python().tell
  )) }}
{% endmacro %}
