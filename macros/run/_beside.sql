{# A table in the target's schema, by its name. #}
{% macro _beside(target, identifier) %}
  {{ return(target.incorporate(path={'identifier': identifier}, type='table')) }}
{% endmacro %}
