{#
  The names of the columns of what stands in FROM; none where nobody can tell: an ephemeral model, or a table that
  `dbt compile` and the like come before. Commands that run models find what these read.
  In a unit test the relation is the name of a CTE, and the input's own table, whose columns dbt gives it, is asked.
#}
{% macro _columns_of(relation) %}
  {% if not execute or not relation %}
    {{ return([]) }}
  {% endif %}
  {% set place = relation %}
  {% if relation is not string and relation.is_cte %}
    {% set place = auto_cdc._stood_in_for(relation) %}
  {% endif %}
  {% if place is none or not (
    flags.WHICH in ['run', 'build', 'test', 'snapshot'] or (place is not string and load_cached_relation(place))
  ) %}
    {{ return([]) }}
  {% endif %}
  {{ return(get_columns_in_query('select * from ' ~ place)) }}
{% endmacro %}
