{#
  For SCD type 2 targets: fails with each key that has more than one version without an end. `keys`: the columns that
  identify a row, as one writes them in SQL.
#}
{% test one_open_version(model, keys) %}
{% set key = keys if keys is string else keys | join(', ') %}
select {{ key }}, count(*) as open_versions
from {{ model }}
where __END_AT is null
group by {{ key }}
having count(*) > 1
{% endtest %}
