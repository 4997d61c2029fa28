-- auto_cdc: model customers: build the target

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
select
    src."id" as "id",
    src."name" as "name",
    src."note" as "note",
    src."operation" as "operation",
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

-- list the versions
create temporary table pg_temp."customers__auto_cdc_versions" on commit drop as
with versions_read as (
    select __auto_cdc_sequence from pg_temp."customers__auto_cdc_stage"
),
versions as (
    select distinct __auto_cdc_sequence from versions_read where __auto_cdc_sequence is not null
),
told as (
    select __auto_cdc_sequence, false as __auto_cdc_hidden, false as __auto_cdc_is_late from versions
),
placed as (
    select told.*, case when not __auto_cdc_hidden then row_number() over (partition by __auto_cdc_hidden order by __auto_cdc_sequence) end as __auto_cdc_place
    from told
)
select __auto_cdc_sequence, __auto_cdc_place, case when __auto_cdc_place <= 50 then power(2.0, __auto_cdc_place - 1) end as __auto_cdc_weight, __auto_cdc_is_late
from placed;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_versions";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- count the versions
select
    count(ver.__auto_cdc_place) as num_snapshot_versions,
    case when count(ver.__auto_cdc_place) = 1 then 1 else 0 end as num_single_versions,
    case when count(ver.__auto_cdc_place) > 1 then 0 else 1 end as num_at_most_one_version,
    case when count(ver.__auto_cdc_place) > 1 then 1 else 0 end as num_several_versions,
    case when count(ver.__auto_cdc_place) > 50 then 1 else 0 end as num_crowds_of_versions,
    count(*) - count(ver.__auto_cdc_place) as num_skipped_versions
from pg_temp."customers__auto_cdc_versions" as ver;

-- check the snapshot  (only if num_at_most_one_version)
with counted as (
    select count(*) as num_read_rows from pg_temp."customers__auto_cdc_stage"
),
missing as (
    select
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_version,
        min(case when stg.__auto_cdc_sequence is null then 'id=' || coalesce(cast(stg."id" as varchar), 'null') end) as null_version_example,
        count(case when stg."id" is null then 1 end) as null_key_0,
        min(case when stg."id" is null then coalesce(cast(stg.__auto_cdc_sequence as varchar), 'null') end) as null_key_0_example
    from pg_temp."customers__auto_cdc_stage" as stg
),
repeated as (
    select stg."id", stg.__auto_cdc_sequence from pg_temp."customers__auto_cdc_stage" as stg
    group by stg."id", stg.__auto_cdc_sequence having count(*) > 1
),
duplicated as (
    select count(*) as duplicate_keys, min('id=' || coalesce(cast(repeated."id" as varchar), 'null') || ' in version ' || cast(repeated.__auto_cdc_sequence as varchar)) as duplicate_keys_example from repeated
),
waiting as (
    select count(__auto_cdc_place) as waiting, coalesce('version ' || cast(max(__auto_cdc_sequence) as varchar), 'a rebuild') as empty_snapshots_example from pg_temp."customers__auto_cdc_versions"
)
select counted.num_read_rows, missing.*, duplicated.*, case when counted.num_read_rows = 0 then waiting.waiting else 0 end as empty_snapshots, waiting.empty_snapshots_example
from counted cross join missing cross join duplicated cross join waiting;

-- check the snapshots  (only if num_several_versions)
with counted as (
    select count(*) as num_read_rows from pg_temp."customers__auto_cdc_stage"
),
missing as (
    select
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_version,
        min(case when stg.__auto_cdc_sequence is null then 'id=' || coalesce(cast(stg."id" as varchar), 'null') end) as null_version_example,
        count(case when stg."id" is null then 1 end) as null_key_0,
        min(case when stg."id" is null then coalesce(cast(stg.__auto_cdc_sequence as varchar), 'null') end) as null_key_0_example
    from pg_temp."customers__auto_cdc_stage" as stg
),
repeated as (
    select stg."id", stg.__auto_cdc_sequence from pg_temp."customers__auto_cdc_stage" as stg
    group by stg."id", stg.__auto_cdc_sequence having count(*) > 1
),
duplicated as (
    select count(*) as duplicate_keys, min('id=' || coalesce(cast(repeated."id" as varchar), 'null') || ' in version ' || cast(repeated.__auto_cdc_sequence as varchar)) as duplicate_keys_example from repeated
),
waiting as (
    select count(__auto_cdc_place) as waiting, coalesce('version ' || cast(max(__auto_cdc_sequence) as varchar), 'a rebuild') as empty_snapshots_example from pg_temp."customers__auto_cdc_versions"
)
select counted.num_read_rows, missing.*, duplicated.*, case when counted.num_read_rows = 0 then waiting.waiting else 0 end as empty_snapshots, waiting.empty_snapshots_example
from counted cross join missing cross join duplicated cross join waiting;

-- count the differences
with stored as (
    select 0 as __auto_cdc_copies
),
sizes as (
    select ver.__auto_cdc_place, ver.__auto_cdc_sequence, count(stg.__auto_cdc_sequence) as __auto_cdc_copies
    from pg_temp."customers__auto_cdc_versions" as ver left join pg_temp."customers__auto_cdc_stage" as stg on stg.__auto_cdc_sequence = ver.__auto_cdc_sequence
    where ver.__auto_cdc_place is not null
    group by ver.__auto_cdc_place, ver.__auto_cdc_sequence
),
before as (
    select sizes.__auto_cdc_sequence,
        coalesce(lag(sizes.__auto_cdc_copies) over (order by sizes.__auto_cdc_place), stored.__auto_cdc_copies) as __auto_cdc_copies
    from sizes cross join stored
),
present as (
    select stg."id", ver.__auto_cdc_place
    from pg_temp."customers__auto_cdc_stage" as stg
    join pg_temp."customers__auto_cdc_versions" as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
),
past as (
    select "id", __auto_cdc_place + 1 as __auto_cdc_place from present
),
deletes as (
    select ver.__auto_cdc_sequence, count(*) as __auto_cdc_ways
    from past as __auto_cdc_around join pg_temp."customers__auto_cdc_versions" as ver on ver.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    where not exists (
        select 1 from present as now
        where now."id" = __auto_cdc_around."id" and now.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    )
    group by ver.__auto_cdc_sequence
),
greedy as (
    select count(*) as greedy_versions, min('version ' || cast(before.__auto_cdc_sequence as varchar) || ' deletes ' || cast(deletes.__auto_cdc_ways as varchar) || ' of ' || cast(before.__auto_cdc_copies as varchar) || ' rows') as greedy_versions_example
    from deletes join before on before.__auto_cdc_sequence = deletes.__auto_cdc_sequence
    where deletes.__auto_cdc_ways > 0.5 * before.__auto_cdc_copies
)
select *
from greedy;

-- create the companion
create table shop.customers__auto_cdc with (fillfactor = 90) as
with rows as (
    select
        cast(null as integer) as "id",
        cast(null as timestamp without time zone) as __auto_cdc_sequence,
        'control' as __auto_cdc_kind,
        '{"change_data_feed": false, "engine": "PostgreSQL", "format": 1, "key_types": ["integer"], "keys": ["id"], "materialized": "auto_cdc_snapshot", "once": [], "scd_type": "1", "sequence_type": "timestamp without time zone", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
    union all
    select more.*, null as __auto_cdc_control from (
    select cast(null as integer) as "id", max(__auto_cdc_sequence) as __auto_cdc_sequence, 'snapshot' as __auto_cdc_kind
    from pg_temp."customers__auto_cdc_versions"
    ) as more
    union all
    select more.*, null as __auto_cdc_control from (
    select cast(null as integer) as "id", __auto_cdc_sequence as __auto_cdc_sequence, cast(null as varchar) as __auto_cdc_kind
    from pg_temp."customers__auto_cdc_versions"
    ) as more
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
with rows as (
    select "id", "name", "note", "operation" from pg_temp."customers__auto_cdc_stage" where __auto_cdc_sequence = (select max(__auto_cdc_sequence) from pg_temp."customers__auto_cdc_versions" where __auto_cdc_place is not null)
)
select
    cast("id" as integer) as "id",
    cast("name" as text) as "name",
    cast("note" as text) as "note",
    cast("operation" as text) as "operation"
from rows;

-- auto_cdc: model customers: apply the new snapshots

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
with evaluated as (
    select
        src."id" as "id",
        src."name" as "name",
        src."note" as "note",
        src."operation" as "operation",
        src."changed_at" as __auto_cdc_sequence,
        'upsert' as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
),
marked as (
    select src.*, not coalesce(src.__auto_cdc_sequence <= (select max(__auto_cdc_sequence) from shop.customers__auto_cdc where __auto_cdc_kind = 'snapshot'), false) as __auto_cdc_is_new
    from evaluated as src
),
past as (
    select tgt."id", tgt."name", tgt."note", tgt."operation", tgt.ctid as __auto_cdc_locator from shop.customers as tgt
),
paired as (
    select
        coalesce(src."id", past."id") as "id",
        src."name",
        src."note",
        src."operation",
        src.__auto_cdc_sequence,
        past.__auto_cdc_locator,
        src.__auto_cdc_is_new is not null as __auto_cdc_is_read,
        coalesce(src.__auto_cdc_is_new, false) as __auto_cdc_is_new,
        coalesce(src.__auto_cdc_is_new and past.__auto_cdc_locator is not null and not (src."name" collate "C" is distinct from past."name" collate "C") and not (src."note" collate "C" is distinct from past."note" collate "C") and not (src."operation" collate "C" is distinct from past."operation" collate "C"), false) as __auto_cdc_same
    from marked as src
    full join past on past."id" = case when src.__auto_cdc_is_new then src."id" end
)
select
    "id",
    __auto_cdc_sequence,
    __auto_cdc_locator,
    __auto_cdc_is_read,
    __auto_cdc_is_new,
    __auto_cdc_same,
    case when __auto_cdc_is_new and not __auto_cdc_same then "name" end as "name",
    case when __auto_cdc_is_new and not __auto_cdc_same then "note" end as "note",
    case when __auto_cdc_is_new and not __auto_cdc_same then "operation" end as "operation"
from paired;
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

-- list the versions
create temporary table pg_temp."customers__auto_cdc_versions" on commit drop as
with versions_read as (
    select __auto_cdc_sequence from pg_temp."customers__auto_cdc_stage"
),
versions as (
    select distinct __auto_cdc_sequence from versions_read where __auto_cdc_sequence is not null
),
told as (
    select ver.__auto_cdc_sequence, coalesce(ver.__auto_cdc_sequence <= (select max(__auto_cdc_sequence) from shop.customers__auto_cdc where __auto_cdc_kind = 'snapshot'), false) as __auto_cdc_hidden, coalesce(ver.__auto_cdc_sequence <= (select max(__auto_cdc_sequence) from shop.customers__auto_cdc where __auto_cdc_kind = 'snapshot'), false) and not known.__auto_cdc_sequence is not null as __auto_cdc_is_late
    from versions as ver
    left join (select distinct __auto_cdc_sequence from (select __auto_cdc_sequence from shop.customers__auto_cdc where __auto_cdc_kind is null or __auto_cdc_kind = 'snapshot') as applied) as known
        on known.__auto_cdc_sequence = ver.__auto_cdc_sequence
),
placed as (
    select told.*, case when not __auto_cdc_hidden then row_number() over (partition by __auto_cdc_hidden order by __auto_cdc_sequence) end as __auto_cdc_place
    from told
)
select __auto_cdc_sequence, __auto_cdc_place, case when __auto_cdc_place <= 50 then power(2.0, __auto_cdc_place - 1) end as __auto_cdc_weight, __auto_cdc_is_late
from placed;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_versions";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- count the versions
select
    count(ver.__auto_cdc_place) as num_snapshot_versions,
    case when count(ver.__auto_cdc_place) = 1 then 1 else 0 end as num_single_versions,
    case when count(ver.__auto_cdc_place) > 1 then 0 else 1 end as num_at_most_one_version,
    case when count(ver.__auto_cdc_place) > 1 then 1 else 0 end as num_several_versions,
    case when count(ver.__auto_cdc_place) > 50 then 1 else 0 end as num_crowds_of_versions,
    count(*) - count(ver.__auto_cdc_place) as num_skipped_versions,
    count(case when ver.__auto_cdc_is_late then ver.__auto_cdc_sequence end) as num_late_versions,
    cast(max(case when ver.__auto_cdc_is_late then ver.__auto_cdc_sequence end) as varchar) || ' (the last one is ' || cast((select max(__auto_cdc_sequence) from shop.customers__auto_cdc where __auto_cdc_kind = 'snapshot') as varchar) || ')' as num_late_versions_example
from pg_temp."customers__auto_cdc_versions" as ver;

-- check the snapshot  (only if num_at_most_one_version)
with counted as (
    select
        count(case when __auto_cdc_is_read then 1 end) as num_read_rows,
        count(case when __auto_cdc_is_read then __auto_cdc_locator end) as paired,
        (select count(*) from (select tgt."id" from shop.customers as tgt) as standing)
            - count(case when not __auto_cdc_is_read then 1 end) as met
    from pg_temp."customers__auto_cdc_stage"
),
missing as (
    select
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_version,
        min(case when stg.__auto_cdc_sequence is null then 'id=' || coalesce(cast(stg."id" as varchar), 'null') end) as null_version_example,
        count(case when stg."id" is null then 1 end) as null_key_0,
        min(case when stg."id" is null then coalesce(cast(stg.__auto_cdc_sequence as varchar), 'null') end) as null_key_0_example
    from (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as stg
),
repeated as (
    select stg."id", stg.__auto_cdc_sequence, stg.__auto_cdc_locator from (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as stg cross join counted
    where stg.__auto_cdc_locator is null or counted.paired > counted.met
    group by stg."id", stg.__auto_cdc_sequence, stg.__auto_cdc_locator having count(*) > 1
),
duplicated as (
    select count(*) as duplicate_keys, min('id=' || coalesce(cast(repeated."id" as varchar), 'null') || ' in version ' || cast(repeated.__auto_cdc_sequence as varchar)) as duplicate_keys_example from repeated
),
waiting as (
    select count(__auto_cdc_place) as waiting, coalesce('version ' || cast(max(__auto_cdc_sequence) as varchar), 'a rebuild') as empty_snapshots_example from pg_temp."customers__auto_cdc_versions"
)
select counted.num_read_rows, missing.*, duplicated.*, case when counted.num_read_rows = 0 then waiting.waiting else 0 end as empty_snapshots, waiting.empty_snapshots_example
from counted cross join missing cross join duplicated cross join waiting;

-- check the snapshots  (only if num_several_versions)
with counted as (
    select
        count(case when __auto_cdc_is_read then 1 end) as num_read_rows,
        count(case when __auto_cdc_is_read then __auto_cdc_locator end) as paired,
        (select count(*) from (select tgt."id" from shop.customers as tgt) as standing)
            - count(case when not __auto_cdc_is_read then 1 end) as met
    from pg_temp."customers__auto_cdc_stage"
),
missing as (
    select
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_version,
        min(case when stg.__auto_cdc_sequence is null then 'id=' || coalesce(cast(stg."id" as varchar), 'null') end) as null_version_example,
        count(case when stg."id" is null then 1 end) as null_key_0,
        min(case when stg."id" is null then coalesce(cast(stg.__auto_cdc_sequence as varchar), 'null') end) as null_key_0_example
    from (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as stg
),
repeated as (
    select stg."id", stg.__auto_cdc_sequence, stg.__auto_cdc_locator from (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as stg
    group by stg."id", stg.__auto_cdc_sequence, stg.__auto_cdc_locator having count(*) > 1
),
duplicated as (
    select count(*) as duplicate_keys, min('id=' || coalesce(cast(repeated."id" as varchar), 'null') || ' in version ' || cast(repeated.__auto_cdc_sequence as varchar)) as duplicate_keys_example from repeated
),
waiting as (
    select count(__auto_cdc_place) as waiting, coalesce('version ' || cast(max(__auto_cdc_sequence) as varchar), 'a rebuild') as empty_snapshots_example from pg_temp."customers__auto_cdc_versions"
)
select counted.num_read_rows, missing.*, duplicated.*, case when counted.num_read_rows = 0 then waiting.waiting else 0 end as empty_snapshots, waiting.empty_snapshots_example
from counted cross join missing cross join duplicated cross join waiting;

-- keep what differs from the target  (only if num_single_versions)
create temporary table pg_temp."customers__auto_cdc_winners" on commit drop as
select
    stg."id" as "id",
    stg."name" as "name",
    stg."note" as "note",
    stg."operation" as "operation",
    (select max(__auto_cdc_sequence) from pg_temp."customers__auto_cdc_versions" where __auto_cdc_place is not null) as __auto_cdc_sequence,
    case when stg.__auto_cdc_is_read then 'upsert' else 'delete' end as __auto_cdc_kind,
    stg.__auto_cdc_locator
from pg_temp."customers__auto_cdc_stage" as stg
where (stg.__auto_cdc_is_new and not stg.__auto_cdc_same) or not stg.__auto_cdc_is_read;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_winners";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- count the differences  (only if num_single_versions)
with counted as (
    select count(*) as num_new_events, count(case when __auto_cdc_kind = 'delete' then 1 end) as num_deleted_rows from pg_temp."customers__auto_cdc_winners"
),
by_hand as (
    select count(*) as repeated_keys, min('id=' || coalesce(cast(found."id" as varchar), 'null')) as repeated_keys_example
    from (select "id" from pg_temp."customers__auto_cdc_winners" group by "id" having count(*) > 1) as found
),
stored as (
    select count(*) as __auto_cdc_copies from shop.customers
),
sizes as (
    select ver.__auto_cdc_place, ver.__auto_cdc_sequence, count(stg.__auto_cdc_sequence) as __auto_cdc_copies
    from pg_temp."customers__auto_cdc_versions" as ver left join (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as stg on stg.__auto_cdc_sequence = ver.__auto_cdc_sequence
    where ver.__auto_cdc_place is not null
    group by ver.__auto_cdc_place, ver.__auto_cdc_sequence
),
before as (
    select sizes.__auto_cdc_sequence,
        coalesce(lag(sizes.__auto_cdc_copies) over (order by sizes.__auto_cdc_place), stored.__auto_cdc_copies) as __auto_cdc_copies
    from sizes cross join stored
),
present as (
    select stg."id", ver.__auto_cdc_place
    from (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as stg
    join pg_temp."customers__auto_cdc_versions" as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
),
past as (
    select "id", __auto_cdc_place + 1 as __auto_cdc_place from present
    union all
    select "id", 1 as __auto_cdc_place from shop.customers
),
deletes as (
    select ver.__auto_cdc_sequence, count(*) as __auto_cdc_ways
    from past as __auto_cdc_around join pg_temp."customers__auto_cdc_versions" as ver on ver.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    where not exists (
        select 1 from present as now
        where now."id" = __auto_cdc_around."id" and now.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    )
    group by ver.__auto_cdc_sequence
),
greedy as (
    select count(*) as greedy_versions, min('version ' || cast(before.__auto_cdc_sequence as varchar) || ' deletes ' || cast(deletes.__auto_cdc_ways as varchar) || ' of ' || cast(before.__auto_cdc_copies as varchar) || ' rows') as greedy_versions_example
    from deletes join before on before.__auto_cdc_sequence = deletes.__auto_cdc_sequence
    where deletes.__auto_cdc_ways > 0.5 * before.__auto_cdc_copies
)
select *
from counted cross join by_hand cross join greedy;

-- compare the snapshots  (only if num_several_versions)
create temporary table pg_temp."customers__auto_cdc_winners" on commit drop as
select stg."id" as "id", stg."name" as "name", stg."note" as "note", stg."operation" as "operation", stg.__auto_cdc_sequence, 'upsert' as __auto_cdc_kind
from (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as stg where stg.__auto_cdc_sequence = (select max(__auto_cdc_sequence) from pg_temp."customers__auto_cdc_versions" where __auto_cdc_place is not null) and not stg.__auto_cdc_same
union all
select __auto_cdc_around."id", cast(null as text) as "name", cast(null as text) as "note", cast(null as text) as "operation", (select max(__auto_cdc_sequence) from pg_temp."customers__auto_cdc_versions" where __auto_cdc_place is not null) as __auto_cdc_sequence, 'delete' as __auto_cdc_kind from shop.customers as __auto_cdc_around
where not exists (select 1 from (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as stg where stg.__auto_cdc_sequence = (select max(__auto_cdc_sequence) from pg_temp."customers__auto_cdc_versions" where __auto_cdc_place is not null) and stg.__auto_cdc_locator = __auto_cdc_around.ctid);
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_winners";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- count the differences  (only if num_several_versions)
with counted as (
    select count(*) as num_new_events, count(case when __auto_cdc_kind = 'delete' then 1 end) as num_deleted_rows from pg_temp."customers__auto_cdc_winners"
),
by_hand as (
    select count(*) as repeated_keys, min('id=' || coalesce(cast(found."id" as varchar), 'null')) as repeated_keys_example
    from (select "id" from pg_temp."customers__auto_cdc_winners" group by "id" having count(*) > 1) as found
),
stored as (
    select count(*) as __auto_cdc_copies from shop.customers
),
sizes as (
    select ver.__auto_cdc_place, ver.__auto_cdc_sequence, count(stg.__auto_cdc_sequence) as __auto_cdc_copies
    from pg_temp."customers__auto_cdc_versions" as ver left join (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as stg on stg.__auto_cdc_sequence = ver.__auto_cdc_sequence
    where ver.__auto_cdc_place is not null
    group by ver.__auto_cdc_place, ver.__auto_cdc_sequence
),
before as (
    select sizes.__auto_cdc_sequence,
        coalesce(lag(sizes.__auto_cdc_copies) over (order by sizes.__auto_cdc_place), stored.__auto_cdc_copies) as __auto_cdc_copies
    from sizes cross join stored
),
present as (
    select stg."id", ver.__auto_cdc_place
    from (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as stg
    join pg_temp."customers__auto_cdc_versions" as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
),
past as (
    select "id", __auto_cdc_place + 1 as __auto_cdc_place from present
    union all
    select "id", 1 as __auto_cdc_place from shop.customers
),
deletes as (
    select ver.__auto_cdc_sequence, count(*) as __auto_cdc_ways
    from past as __auto_cdc_around join pg_temp."customers__auto_cdc_versions" as ver on ver.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    where not exists (
        select 1 from present as now
        where now."id" = __auto_cdc_around."id" and now.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    )
    group by ver.__auto_cdc_sequence
),
greedy as (
    select count(*) as greedy_versions, min('version ' || cast(before.__auto_cdc_sequence as varchar) || ' deletes ' || cast(deletes.__auto_cdc_ways as varchar) || ' of ' || cast(before.__auto_cdc_copies as varchar) || ' rows') as greedy_versions_example
    from deletes join before on before.__auto_cdc_sequence = deletes.__auto_cdc_sequence
    where deletes.__auto_cdc_ways > 0.5 * before.__auto_cdc_copies
)
select *
from counted cross join by_hand cross join greedy;

-- find the rows of the touched keys  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_gone" on commit drop as
select tgt.ctid as __auto_cdc_locator, won.__auto_cdc_kind
from shop.customers as tgt
join pg_temp."customers__auto_cdc_winners" as won on won."id" = tgt."id";
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_gone";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- delete the rows of the touched keys  (only if num_new_events)
delete from shop.customers where ctid = any (array(
    select __auto_cdc_locator from pg_temp."customers__auto_cdc_gone"
));

-- insert the rows  (only if num_new_events)
insert into shop.customers ("id", "name", "note", "operation")
select "id", "name", "note", "operation" from pg_temp."customers__auto_cdc_winners" where __auto_cdc_kind = 'upsert';

-- remember the last version  (only if num_snapshot_versions)
do $__auto_cdc_0$
declare
    __auto_cdc_usual text := current_setting('enable_memoize');
begin
    perform set_config('enable_memoize', 'off', true);
    update shop.customers__auto_cdc as tgt set __auto_cdc_sequence = changed.value
from (
select cmp.ctid as locator, (select max(__auto_cdc_sequence) from pg_temp."customers__auto_cdc_versions" where __auto_cdc_place is not null) as value
from shop.customers__auto_cdc as cmp where cmp.__auto_cdc_kind = 'snapshot'
) as changed
where tgt.ctid = changed.locator;
    perform set_config('enable_memoize', __auto_cdc_usual, true);
end
$__auto_cdc_0$;

-- remember the versions  (only if num_snapshot_versions)
insert into shop.customers__auto_cdc (__auto_cdc_sequence)
select __auto_cdc_sequence from pg_temp."customers__auto_cdc_versions" where __auto_cdc_place is not null;
