{# All rows of a history, its bounds under other names and with another open end, as a sub-query for FROM. #}
{% macro with_bounds(
  relation,
  start_at='valid_from',
  end_at='valid_to',
  open_end=none,
  system_start_at='system_from',
  system_end_at='system_to',
  system_open_end=none
) %}
  {% if not execute %}
    {{ return('(select * from ' ~ relation ~ ')') }}
  {% endif %}
  {{ return(auto_cdc._python().with_bounds(
    source=auto_cdc._history('with_bounds', relation),
    quote=adapter.quote,
    start_at=start_at,
    end_at=end_at,
    open_end=open_end,
    system_start_at=system_start_at,
    system_end_at=system_end_at,
    system_open_end=system_open_end
  )) }}
{% endmacro %}
