{# The flag under which the model's SQL reads a part of its source only, if there is one. #}
{% macro _partial() %}
  {% if flags.EMPTY %}
    {{ return('--empty') }}
  {% endif %}
  {{ return('--sample' if invocation_args_dict.get('sample') else '') }}
{% endmacro %}
