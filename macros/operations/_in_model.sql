{#
  Calls one of our macros in the context of a model, compiled: an operation itself has neither `this` nor `config`.
  `builtins.ref` is dbt's own way to the project's models. Where another process writes the model's tables first, what
  the macro did is rolled back, and it is called again.
#}
{% macro _in_model(name, macro, full_refresh=false, arguments={}) %}
  {% set cdc = auto_cdc._python() %}
  {% set node = cdc.find_models(resolver=builtins.ref, wanted=[name])[0] %}
  {% set table = auto_cdc._table_of(node) %}
  {% set called = {
    'resolver': builtins.ref, 'name': name, 'macro': macro, 'full_refresh': full_refresh, 'arguments': arguments
  } %}
  {{ return(cdc.begun_again(
    adapter_type=auto_cdc._adapter_type(table),
    name=node.name,
    target=table | string,
    run=cdc.call_in_model,
    arguments=called,
    tell=cdc.tell
  )) }}
{% endmacro %}
