{#
  The rows of a history that held at a time, as a sub-query for FROM. Without `system_time`, a bitemporal table is read as
  it is believed now. While dbt parses, no value is known yet, and any sub-query will do.
#}
{% macro as_of(relation, business_time, system_time=none) %}
  {% if not execute %}
    {{ return('(select * from ' ~ relation ~ ')') }}
  {% endif %}
  {{ return(auto_cdc._python().as_of(
    source=auto_cdc._history('as_of', relation), business_time=business_time, system_time=system_time
  )) }}
{% endmacro %}
