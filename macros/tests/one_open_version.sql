{#
  For SCD type 2 targets: fails with each key that has more than one version without an end; of a bitemporal table,
  among those that are believed now. `keys`: the columns that identify a row, as one writes them in SQL.
#}
{% test one_open_version(model, keys) %}
{% set key = auto_cdc._names('one_open_version', 'keys', keys) %}
select {{ key }}, count(*) as open_versions
from {{ model }}
where __END_AT is null and {{ auto_cdc._believed(model) }}
group by {{ key }}
having count(*) > 1
{% endtest %}
