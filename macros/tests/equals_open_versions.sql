{#
  For SCD type 1 targets: fails with each row that is not as often in the open versions of a type 2 table of the same
  events, or the other way round. `columns`: those that both tables have and that are compared, keys included, as one
  writes them in SQL; null equals null. Of a bitemporal history, the versions that are believed now.
#}
{% test equals_open_versions(model, history, columns) %}
{% set columns = auto_cdc._names('equals_open_versions', 'columns', columns) %}
with rows_of_both as (
    select {{ columns }}, 1 as in_table, 0 as in_history
    from {{ model }}
    union all
    select {{ columns }}, 0 as in_table, 1 as in_history
    from {{ history }}
    where __END_AT is null and {{ auto_cdc._believed(history) }}
)
select {{ columns }}, sum(in_table) as rows_in_table, sum(in_history) as rows_in_history
from rows_of_both
group by {{ columns }}
having sum(in_table) <> sum(in_history)
{% endtest %}
