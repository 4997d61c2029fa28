-- auto_cdc: model customers: build the target

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
with evaluated as (
    select
        src."id" as "id",
        src."name" as "name",
        src."note" as "note",
        src."operation" as "operation",
        src."changed_at" as "changed_at",
        (
        (0)
    ) as __auto_cdc_sequence,
        'upsert' as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
),
told as (
    select src.*, coalesce((
        changed_at >= '2026-03-01'
    ), false) as __auto_cdc_is_new, false as __auto_cdc_is_late, cast(null as tid) as __auto_cdc_hidden
    from evaluated as src
)
select
    __auto_cdc_is_new,
    __auto_cdc_is_late,
    __auto_cdc_sequence,
    __auto_cdc_kind,
    __auto_cdc_hidden,
    "id",
    "name",
    "note",
    "operation",
    "changed_at"
from told;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_stage";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- count the rows
select count(*) as num_read_rows from pg_temp."customers__auto_cdc_stage";

-- create the companion
create table shop.customers__auto_cdc with (fillfactor = 90) as
with rows as (
    select
        cast(null as timestamp without time zone) as __auto_cdc_sequence,
        'control' as __auto_cdc_kind,
        '{"change_data_feed": false, "engine": "PostgreSQL", "format": 1, "key_types": [], "keys": [], "materialized": "replace_where", "once": [], "scd_type": "1", "sequence_type": "timestamp without time zone", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
)
select
    cast(__auto_cdc_sequence as timestamp without time zone) as __auto_cdc_sequence,
    cast(__auto_cdc_kind as varchar) as __auto_cdc_kind,
    cast(__auto_cdc_control as varchar) as __auto_cdc_control
from rows;

-- make the companion quick to read
analyze shop.customers__auto_cdc;

-- create the target
create table shop.customers as
with incoming as (
    select "id", "name", "note", "operation", "changed_at"
    from pg_temp."customers__auto_cdc_stage"
    where __auto_cdc_is_new
)
select
    cast("id" as integer) as "id",
    cast("name" as text) as "name",
    cast("note" as text) as "note",
    cast("operation" as text) as "operation",
    cast("changed_at" as timestamp without time zone) as "changed_at"
from incoming;

-- auto_cdc: model customers: replace the rows in the range

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
with evaluated as (
    select
        src."id" as "id",
        src."name" as "name",
        src."note" as "note",
        src."operation" as "operation",
        src."changed_at" as "changed_at",
        (
        (0)
    ) as __auto_cdc_sequence,
        'upsert' as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
),
told as (
    select src.*, coalesce((
        changed_at >= '2026-03-01'
    ), false) as __auto_cdc_is_new, false as __auto_cdc_is_late, cast(null as tid) as __auto_cdc_hidden
    from evaluated as src
)
select
    __auto_cdc_is_new,
    __auto_cdc_is_late,
    __auto_cdc_sequence,
    __auto_cdc_kind,
    __auto_cdc_hidden,
    "id",
    "name",
    "note",
    "operation",
    "changed_at"
from told;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_stage";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- count the rows
select count(*) as num_read_rows from pg_temp."customers__auto_cdc_stage";

-- find the rows in the range
create temporary table pg_temp."customers__auto_cdc_gone" on commit drop as
select src.ctid as __auto_cdc_locator
from shop.customers as src
where (
    changed_at >= '2026-03-01'
);
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_gone";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- compare the rows
create temporary table pg_temp."customers__auto_cdc_events" on commit drop as
with both_sides as (
    select tgt."id", tgt."name", tgt."note", tgt."operation", tgt."changed_at", tgt.ctid as __auto_cdc_locator, cast(null as tid) as __auto_cdc_event
    from shop.customers as tgt
    join pg_temp."customers__auto_cdc_gone" as gone on gone.__auto_cdc_locator = tgt.ctid
    union all
    select "id", "name", "note", "operation", "changed_at", cast(null as tid) as __auto_cdc_locator, ctid as __auto_cdc_event
    from pg_temp."customers__auto_cdc_stage"
    where __auto_cdc_is_new
)
select array_agg(__auto_cdc_locator) filter (where __auto_cdc_locator is not null) as __auto_cdc_locator, array_agg(__auto_cdc_event) filter (where __auto_cdc_event is not null) as __auto_cdc_event, count(__auto_cdc_locator) - count(__auto_cdc_event) as __auto_cdc_copies
from both_sides
group by "id", "name" collate "C", "note" collate "C", "operation" collate "C", "changed_at" having count(__auto_cdc_locator) - count(__auto_cdc_event) <> 0;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_events";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- count the differences
select
    count(*) as num_differing_rows,
    coalesce(-sum(case when __auto_cdc_copies < 0 then __auto_cdc_copies end), 0) as num_upserted_rows,
    coalesce(sum(case when __auto_cdc_copies > 0 then __auto_cdc_copies end), 0) as num_deleted_rows
from pg_temp."customers__auto_cdc_events";

-- delete the rows that differ  (only if num_differing_rows)
delete from shop.customers where ctid = any (array(
    select unnest(__auto_cdc_locator[1:__auto_cdc_copies])
    from pg_temp."customers__auto_cdc_events" where __auto_cdc_copies > 0
));

-- insert the rows that differ  (only if num_differing_rows)
insert into shop.customers ("id", "name", "note", "operation", "changed_at")
with places as (
    select unnest(__auto_cdc_event[1:-__auto_cdc_copies]) as __auto_cdc_event
    from pg_temp."customers__auto_cdc_events" where __auto_cdc_copies < 0
)
select stg."id", stg."name", stg."note", stg."operation", stg."changed_at"
from pg_temp."customers__auto_cdc_stage" as stg
join places on places.__auto_cdc_event = stg.ctid;
