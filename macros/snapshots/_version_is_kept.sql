{#
  Whether the versions lie in relations of their own: while a model runs. Elsewhere (compile, show, unit tests) the
  version query itself stands in their place.
#}
{% macro _version_is_kept() %}
  {{ return(flags.WHICH in ['run', 'build', 'retry'] and model.resource_type == 'model') }}
{% endmacro %}
