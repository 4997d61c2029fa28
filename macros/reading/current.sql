{# The open rows of a history, as a sub-query for FROM; of a bitemporal table those that are believed now. #}
{% macro current(relation) %}
  {% if not execute %}
    {{ return('(select * from ' ~ relation ~ ')') }}
  {% endif %}
  {{ return(auto_cdc._python().current(source=auto_cdc._history('current', relation))) }}
{% endmacro %}
