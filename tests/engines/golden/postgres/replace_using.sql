-- auto_cdc: model customers: build the target

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
select
    src."id" as "id",
    src."name" as "name",
    src."note" as "note",
    src."operation" as "operation",
    src."changed_at" as "changed_at",
    src."changed_at" as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    execute 'analyze pg_temp."customers__auto_cdc_stage" (' || (
        select string_agg(quote_ident(attname), ', ') from pg_attribute
        where attrelid = 'pg_temp."customers__auto_cdc_stage"'::regclass and attnum > 0
            and (attname = any (array['id']) or starts_with(attname, '__auto_cdc_'))
    ) || ')';
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- find the newest rows of each key
create temporary table pg_temp."customers__auto_cdc_winners" on commit drop as
select
    stg."id",
    max(stg.__auto_cdc_sequence) as __auto_cdc_latest,
    true as __auto_cdc_is_new,
    false as __auto_cdc_same,
    0 as __auto_cdc_copies
from pg_temp."customers__auto_cdc_stage" as stg
group by stg."id";
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_winners";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- check the rows
with read as (
    select
        count(*) as num_read_rows,
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when stg.__auto_cdc_sequence is null then 'id=' || coalesce(cast(stg."id" as varchar), 'null') end) as null_sequence_example
    from pg_temp."customers__auto_cdc_stage" as stg
),
stood as (
    select
        count(case when won.__auto_cdc_same then 1 end) as num_equal_keys,
        count(case when won.__auto_cdc_is_new then 1 end) as num_newer_keys,
        coalesce(sum(won.__auto_cdc_copies), 0) as num_late_rows
    from pg_temp."customers__auto_cdc_winners" as won
)
select * from read cross join stood;

-- create the companion
create table shop.customers__auto_cdc with (fillfactor = 90) as
with rows as (
    select
        cast(null as integer) as "id",
        cast(null as timestamp without time zone) as __auto_cdc_sequence,
        'control' as __auto_cdc_kind,
        '{"change_data_feed": false, "engine": "PostgreSQL", "format": 1, "key_types": ["integer"], "keys": ["id"], "materialized": "replace_using", "once": [], "scd_type": "1", "sequence_type": "timestamp without time zone", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
)
select
    cast("id" as integer) as "id",
    cast(__auto_cdc_sequence as timestamp without time zone) as __auto_cdc_sequence,
    cast(__auto_cdc_kind as varchar) as __auto_cdc_kind,
    cast(__auto_cdc_control as varchar) as __auto_cdc_control
from rows;

-- make the companion quick to read
create index on shop.customers__auto_cdc ("id");
create index on shop.customers__auto_cdc (__auto_cdc_kind) where __auto_cdc_kind not in ('upsert', 'delete');
analyze shop.customers__auto_cdc;

-- create the target
create table shop.customers as
with newest as (
    select stg."id", stg."name", stg."note", stg."operation", stg."changed_at"
    from pg_temp."customers__auto_cdc_stage" as stg
    join pg_temp."customers__auto_cdc_winners" as won on array[won."id"] = array[stg."id"] and won.__auto_cdc_latest = stg.__auto_cdc_sequence
    where won.__auto_cdc_is_new
)
select
    cast("id" as integer) as "id",
    cast("name" as text) as "name",
    cast("note" as text) as "note",
    cast("operation" as text) as "operation",
    cast("changed_at" as timestamp without time zone) as "changed_at"
from newest;

-- auto_cdc: model customers: replace the rows of the incoming keys

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
select
    src."id" as "id",
    src."name" as "name",
    src."note" as "note",
    src."operation" as "operation",
    src."changed_at" as "changed_at",
    src."changed_at" as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    execute 'analyze pg_temp."customers__auto_cdc_stage" (' || (
        select string_agg(quote_ident(attname), ', ') from pg_attribute
        where attrelid = 'pg_temp."customers__auto_cdc_stage"'::regclass and attnum > 0
            and (attname = any (array['id']) or starts_with(attname, '__auto_cdc_'))
    ) || ')';
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- find the rows of the keys
create temporary table pg_temp."customers__auto_cdc_stored" on commit drop as
with incoming as (
    select distinct "id" from pg_temp."customers__auto_cdc_stage"
)
select tgt."id", tgt."changed_at" as __auto_cdc_sequence, tgt.ctid as __auto_cdc_locator
from shop.customers as tgt join incoming as inc on array[inc."id"] = array[tgt."id"];
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_stored";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- find the newest rows of each key
create temporary table pg_temp."customers__auto_cdc_winners" on commit drop as
with stored as (
    select "id", max(__auto_cdc_sequence) as __auto_cdc_latest
    from pg_temp."customers__auto_cdc_stored" group by "id"
)
select
    stg."id",
    max(stg.__auto_cdc_sequence) as __auto_cdc_latest,
    (max(stored.__auto_cdc_latest) is null or max(stg.__auto_cdc_sequence) > max(stored.__auto_cdc_latest)) as __auto_cdc_is_new,
    coalesce(max(stg.__auto_cdc_sequence) = max(stored.__auto_cdc_latest), false) as __auto_cdc_same,
    count(case when stg.__auto_cdc_sequence < stored.__auto_cdc_latest then 1 end) as __auto_cdc_copies
from pg_temp."customers__auto_cdc_stage" as stg
left join stored on array[stored."id"] = array[stg."id"]
group by stg."id";
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_winners";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- check the rows
with read as (
    select
        count(*) as num_read_rows,
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when stg.__auto_cdc_sequence is null then 'id=' || coalesce(cast(stg."id" as varchar), 'null') end) as null_sequence_example
    from pg_temp."customers__auto_cdc_stage" as stg
),
stood as (
    select
        count(case when won.__auto_cdc_same then 1 end) as num_equal_keys,
        count(case when won.__auto_cdc_is_new then 1 end) as num_newer_keys,
        coalesce(sum(won.__auto_cdc_copies), 0) as num_late_rows
    from pg_temp."customers__auto_cdc_winners" as won
)
select * from read cross join stood;

-- compare the rows  (only if num_equal_keys)
create temporary table pg_temp."customers__auto_cdc_events" on commit drop as
with both_sides as (
    select "id", "name", "note", "operation", "changed_at", 1 as __auto_cdc_weight from (
        select stg."id", stg."name", stg."note", stg."operation", stg."changed_at"
        from pg_temp."customers__auto_cdc_stage" as stg
        join pg_temp."customers__auto_cdc_winners" as won on array[won."id"] = array[stg."id"] and won.__auto_cdc_latest = stg.__auto_cdc_sequence
        where won.__auto_cdc_same
    ) as incoming
    union all
    select "id", "name", "note", "operation", "changed_at", -1 as __auto_cdc_weight from (
        select tgt."id", tgt."name", tgt."note", tgt."operation", tgt."changed_at"
        from shop.customers as tgt
        join pg_temp."customers__auto_cdc_winners" as won on array[won."id"] = array[tgt."id"]
        where won.__auto_cdc_same
    ) as stored
)
select "id", sum(__auto_cdc_weight) as __auto_cdc_copies from both_sides
group by "id", "name" collate "C", "note" collate "C", "operation" collate "C", "changed_at" having sum(__auto_cdc_weight) <> 0;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_events";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- count the differences  (only if num_equal_keys)
select
    count(*) as num_differing_rows,
    coalesce(sum(case when __auto_cdc_copies > 0 then __auto_cdc_copies end), 0) as num_upserted_rows,
    coalesce(-sum(case when __auto_cdc_copies < 0 then __auto_cdc_copies end), 0) as num_deleted_rows
from pg_temp."customers__auto_cdc_events";

-- delete the rows of the keys that differ  (only if num_differing_rows)
delete from shop.customers where ctid = any (array(
    select past.__auto_cdc_locator
    from pg_temp."customers__auto_cdc_stored" as past
    join (
        select distinct "id" from pg_temp."customers__auto_cdc_events"
    ) as dif on array[dif."id"] = array[past."id"]
));

-- insert the rows of the keys that differ  (only if num_differing_rows)
insert into shop.customers ("id", "name", "note", "operation", "changed_at")
select stg."id", stg."name", stg."note", stg."operation", stg."changed_at"
from pg_temp."customers__auto_cdc_stage" as stg
join pg_temp."customers__auto_cdc_winners" as won on array[won."id"] = array[stg."id"] and won.__auto_cdc_latest = stg.__auto_cdc_sequence
join (
    select distinct "id" from pg_temp."customers__auto_cdc_events"
) as dif on array[dif."id"] = array[stg."id"]
where won.__auto_cdc_same;

-- delete the rows of the keys  (only if num_newer_keys)
delete from shop.customers where ctid = any (array(
    select past.__auto_cdc_locator
    from pg_temp."customers__auto_cdc_stored" as past
    join pg_temp."customers__auto_cdc_winners" as won on array[won."id"] = array[past."id"]
    where won.__auto_cdc_is_new
));

-- insert the newest rows  (only if num_newer_keys)
insert into shop.customers ("id", "name", "note", "operation", "changed_at")
select stg."id", stg."name", stg."note", stg."operation", stg."changed_at"
from pg_temp."customers__auto_cdc_stage" as stg
join pg_temp."customers__auto_cdc_winners" as won on array[won."id"] = array[stg."id"] and won.__auto_cdc_latest = stg.__auto_cdc_sequence
where won.__auto_cdc_is_new;
