{#
  Calls one of our macros in the context of a model, compiled: an operation itself has neither `this` nor `config`.
  `builtins.ref` is dbt's own way to the project's models.
#}
{% macro _in_model(name, macro, full_refresh=false, arguments={}) %}
  {{ return(auto_cdc._python().call_in_model(
    resolver=builtins.ref, name=name, macro=macro, full_refresh=full_refresh, arguments=arguments
  )) }}
{% endmacro %}
