{#
  For SCD type 2 targets: fails with each version that goes on after the next one of its key has started, and with
  each that has no start or ends where it starts. `keys`: the columns that identify a row, as one writes them in SQL.
  Of a bitemporal table it looks at what is believed now; `no_overlapping_rectangles` is about all of it.
#}
{% test no_overlapping_versions(model, keys) %}
{% set key = auto_cdc._names('no_overlapping_versions', 'keys', keys) %}
with versions as (
    select
        {{ key }}, __START_AT, __END_AT,
        lead(__START_AT) over (partition by {{ key }} order by __START_AT) as next_start_at
    from {{ model }}
    where {{ auto_cdc._believed(model) }}
)
select *
from versions
where __START_AT is null
    or __END_AT <= __START_AT
    or next_start_at < __END_AT
    or (__END_AT is null and next_start_at is not null)
{% endtest %}
