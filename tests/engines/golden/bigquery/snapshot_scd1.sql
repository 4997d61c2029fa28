-- auto_cdc: model customers: build the target

-- stage the model's rows
create or replace table shop.`customers__auto_cdc_stage_c0ffee000002` as
select src.*, generate_uuid() as __auto_cdc_row
from (
select
    src.`id` as `id`,
    src.`name` as `name`,
    src.`note` as `note`,
    src.`operation` as `operation`,
    src.`changed_at` as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src
) as src;

-- list the versions
create or replace table shop.`customers__auto_cdc_versions_c0ffee000002` as
select src.*, generate_uuid() as __auto_cdc_row
from (
with versions_read as (
    select __auto_cdc_sequence from shop.`customers__auto_cdc_stage_c0ffee000002`
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
from placed
) as src;

-- count the versions
select
    count(ver.__auto_cdc_place) as num_snapshot_versions,
    case when count(ver.__auto_cdc_place) = 1 then 1 else 0 end as num_single_versions,
    case when count(ver.__auto_cdc_place) > 1 then 0 else 1 end as num_at_most_one_version,
    case when count(ver.__auto_cdc_place) > 1 then 1 else 0 end as num_several_versions,
    case when count(ver.__auto_cdc_place) > 50 then 1 else 0 end as num_crowds_of_versions,
    count(*) - count(ver.__auto_cdc_place) as num_skipped_versions
from shop.`customers__auto_cdc_versions_c0ffee000002` as ver;

-- check the snapshot  (only if num_at_most_one_version)
with counted as (
    select count(*) as num_read_rows from shop.`customers__auto_cdc_stage_c0ffee000002`
),
missing as (
    select
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_version,
        min(case when stg.__auto_cdc_sequence is null then 'id=' || coalesce(cast(stg.`id` as string), 'null') end) as null_version_example,
        count(case when stg.`id` is null then 1 end) as null_key_0,
        min(case when stg.`id` is null then coalesce(cast(stg.__auto_cdc_sequence as string), 'null') end) as null_key_0_example
    from shop.`customers__auto_cdc_stage_c0ffee000002` as stg
),
repeated as (
    select stg.`id`, stg.__auto_cdc_sequence from shop.`customers__auto_cdc_stage_c0ffee000002` as stg
    group by stg.`id`, stg.__auto_cdc_sequence having count(*) > 1
),
duplicated as (
    select count(*) as duplicate_keys, min('id=' || coalesce(cast(repeated.`id` as string), 'null') || ' in version ' || cast(repeated.__auto_cdc_sequence as string)) as duplicate_keys_example from repeated
),
waiting as (
    select count(__auto_cdc_place) as waiting, coalesce('version ' || cast(max(__auto_cdc_sequence) as string), 'a rebuild') as empty_snapshots_example from shop.`customers__auto_cdc_versions_c0ffee000002`
)
select counted.num_read_rows, missing.*, duplicated.*, case when counted.num_read_rows = 0 then waiting.waiting else 0 end as empty_snapshots, waiting.empty_snapshots_example
from counted cross join missing cross join duplicated cross join waiting;

-- check the snapshots  (only if num_several_versions)
with counted as (
    select count(*) as num_read_rows from shop.`customers__auto_cdc_stage_c0ffee000002`
),
missing as (
    select
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_version,
        min(case when stg.__auto_cdc_sequence is null then 'id=' || coalesce(cast(stg.`id` as string), 'null') end) as null_version_example,
        count(case when stg.`id` is null then 1 end) as null_key_0,
        min(case when stg.`id` is null then coalesce(cast(stg.__auto_cdc_sequence as string), 'null') end) as null_key_0_example
    from shop.`customers__auto_cdc_stage_c0ffee000002` as stg
),
repeated as (
    select stg.`id`, stg.__auto_cdc_sequence from shop.`customers__auto_cdc_stage_c0ffee000002` as stg
    group by stg.`id`, stg.__auto_cdc_sequence having count(*) > 1
),
duplicated as (
    select count(*) as duplicate_keys, min('id=' || coalesce(cast(repeated.`id` as string), 'null') || ' in version ' || cast(repeated.__auto_cdc_sequence as string)) as duplicate_keys_example from repeated
),
waiting as (
    select count(__auto_cdc_place) as waiting, coalesce('version ' || cast(max(__auto_cdc_sequence) as string), 'a rebuild') as empty_snapshots_example from shop.`customers__auto_cdc_versions_c0ffee000002`
)
select counted.num_read_rows, missing.*, duplicated.*, case when counted.num_read_rows = 0 then waiting.waiting else 0 end as empty_snapshots, waiting.empty_snapshots_example
from counted cross join missing cross join duplicated cross join waiting;

-- count the differences
with stored as (
    select 0 as __auto_cdc_copies
),
sizes as (
    select ver.__auto_cdc_place, ver.__auto_cdc_sequence, count(stg.__auto_cdc_sequence) as __auto_cdc_copies
    from shop.`customers__auto_cdc_versions_c0ffee000002` as ver left join shop.`customers__auto_cdc_stage_c0ffee000002` as stg on stg.__auto_cdc_sequence = ver.__auto_cdc_sequence
    where ver.__auto_cdc_place is not null
    group by ver.__auto_cdc_place, ver.__auto_cdc_sequence
),
before as (
    select sizes.__auto_cdc_sequence,
        coalesce(lag(sizes.__auto_cdc_copies) over (order by sizes.__auto_cdc_place), stored.__auto_cdc_copies) as __auto_cdc_copies
    from sizes cross join stored
),
present as (
    select stg.`id`, ver.__auto_cdc_place
    from shop.`customers__auto_cdc_stage_c0ffee000002` as stg
    join shop.`customers__auto_cdc_versions_c0ffee000002` as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
),
past as (
    select `id`, __auto_cdc_place + 1 as __auto_cdc_place from present
),
deletes as (
    select ver.__auto_cdc_sequence, count(*) as __auto_cdc_ways
    from past as __auto_cdc_around join shop.`customers__auto_cdc_versions_c0ffee000002` as ver on ver.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    where not exists (
        select 1 from present as now
        where now.`id` = __auto_cdc_around.`id` and now.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    )
    group by ver.__auto_cdc_sequence
),
greedy as (
    select count(*) as greedy_versions, min('version ' || cast(before.__auto_cdc_sequence as string) || ' deletes ' || cast(deletes.__auto_cdc_ways as string) || ' of ' || cast(before.__auto_cdc_copies as string) || ' rows') as greedy_versions_example
    from deletes join before on before.__auto_cdc_sequence = deletes.__auto_cdc_sequence
    where deletes.__auto_cdc_ways > 0.5 * before.__auto_cdc_copies
)
select *
from greedy;

-- create the companion
create table shop.customers__auto_cdc (
    `id` INT64,
    __auto_cdc_sequence DATETIME,
    __auto_cdc_kind string,
    __auto_cdc_control string
) cluster by `id`;

-- create the companion
insert into shop.customers__auto_cdc (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select whose.`id`, whose.__auto_cdc_sequence, whose.__auto_cdc_kind, whose.__auto_cdc_control from (
select
    cast(null as INT64) as `id`,
    cast(null as DATETIME) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as whose
where not exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal');

-- create the target
drop table if exists shop.customers
-- auto_cdc: next statement
create table shop.customers (
    `id` INT64,
    `name` STRING,
    `note` STRING,
    `operation` STRING
) cluster by id;

-- create the target
insert into shop.customers (`id`, `name`, `note`, `operation`)
select `id`, `name`, `note`, `operation` from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_sequence = (select max(__auto_cdc_sequence) from shop.`customers__auto_cdc_versions_c0ffee000002` where __auto_cdc_place is not null);

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told.`id`, told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as INT64) as `id`,
    cast(null as DATETIME) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "BigQuery", "format": 1, "key_types": ["INT64"], "keys": ["id"], "materialized": "auto_cdc_snapshot", "once": [], "scd_type": "1", "sequence_type": "DATETIME", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
union all
select more.*, null as __auto_cdc_control from (
select cast(null as INT64) as `id`, max(__auto_cdc_sequence) as __auto_cdc_sequence, 'snapshot' as __auto_cdc_kind
from shop.`customers__auto_cdc_versions_c0ffee000002`
) as more
union all
select more.*, null as __auto_cdc_control from (
select cast(null as INT64) as `id`, __auto_cdc_sequence as __auto_cdc_sequence, cast(null as string) as __auto_cdc_kind
from shop.`customers__auto_cdc_versions_c0ffee000002`
) as more
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
union all
select told.`id`, told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as INT64) as `id`,
    cast(null as DATETIME) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
) as src
on tgt.__auto_cdc_kind = src.__auto_cdc_kind
when matched then update set __auto_cdc_control = src.__auto_cdc_control
when not matched then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control);

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- free the working tables
drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_versions_c0ffee000002`;

-- drop what told the columns
drop view if exists shop.`customers__auto_cdc_described`;

-- auto_cdc: model customers: apply the new snapshots

-- stage the model's rows
create or replace table shop.`customers__auto_cdc_stage_c0ffee000002` as
select src.*, generate_uuid() as __auto_cdc_row
from (
with evaluated as (
    select
        src.`id` as `id`,
        src.`name` as `name`,
        src.`note` as `note`,
        src.`operation` as `operation`,
        src.`changed_at` as __auto_cdc_sequence,
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
    select tgt.`id`, tgt.`name`, tgt.`note`, tgt.`operation`, to_json_string(tgt.`id`) as __auto_cdc_locator from shop.customers as tgt
),
paired as (
    select
        coalesce(src.`id`, past.`id`) as `id`,
        src.`name`,
        src.`note`,
        src.`operation`,
        src.__auto_cdc_sequence,
        past.__auto_cdc_locator,
        src.__auto_cdc_is_new is not null as __auto_cdc_is_read,
        coalesce(src.__auto_cdc_is_new, false) as __auto_cdc_is_new,
        coalesce(src.__auto_cdc_is_new and past.__auto_cdc_locator is not null and not (src.`name` is distinct from past.`name`) and not (src.`note` is distinct from past.`note`) and not (src.`operation` is distinct from past.`operation`), false) as __auto_cdc_same
    from marked as src
    full join past on past.`id` = case when src.__auto_cdc_is_new then src.`id` end
)
select
    `id`,
    __auto_cdc_sequence,
    __auto_cdc_locator,
    __auto_cdc_is_read,
    __auto_cdc_is_new,
    __auto_cdc_same,
    case when __auto_cdc_is_new and not __auto_cdc_same then `name` end as `name`,
    case when __auto_cdc_is_new and not __auto_cdc_same then `note` end as `note`,
    case when __auto_cdc_is_new and not __auto_cdc_same then `operation` end as `operation`
from paired
) as src;

-- list the versions
create or replace table shop.`customers__auto_cdc_versions_c0ffee000002` as
select src.*, generate_uuid() as __auto_cdc_row
from (
with versions_read as (
    select __auto_cdc_sequence from shop.`customers__auto_cdc_stage_c0ffee000002`
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
from placed
) as src;

-- count the versions
select
    count(ver.__auto_cdc_place) as num_snapshot_versions,
    case when count(ver.__auto_cdc_place) = 1 then 1 else 0 end as num_single_versions,
    case when count(ver.__auto_cdc_place) > 1 then 0 else 1 end as num_at_most_one_version,
    case when count(ver.__auto_cdc_place) > 1 then 1 else 0 end as num_several_versions,
    case when count(ver.__auto_cdc_place) > 50 then 1 else 0 end as num_crowds_of_versions,
    count(*) - count(ver.__auto_cdc_place) as num_skipped_versions,
    count(case when ver.__auto_cdc_is_late then ver.__auto_cdc_sequence end) as num_late_versions,
    cast(max(case when ver.__auto_cdc_is_late then ver.__auto_cdc_sequence end) as string) || ' (the last one is ' || cast((select max(__auto_cdc_sequence) from shop.customers__auto_cdc where __auto_cdc_kind = 'snapshot') as string) || ')' as num_late_versions_example
from shop.`customers__auto_cdc_versions_c0ffee000002` as ver;

-- check the snapshot  (only if num_at_most_one_version)
with counted as (
    select
        count(case when __auto_cdc_is_read then 1 end) as num_read_rows,
        count(case when __auto_cdc_is_read then __auto_cdc_locator end) as paired,
        (select count(*) from (select tgt.`id` from shop.customers as tgt) as standing)
            - count(case when not __auto_cdc_is_read then 1 end) as met
    from shop.`customers__auto_cdc_stage_c0ffee000002`
),
missing as (
    select
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_version,
        min(case when stg.__auto_cdc_sequence is null then 'id=' || coalesce(cast(stg.`id` as string), 'null') end) as null_version_example,
        count(case when stg.`id` is null then 1 end) as null_key_0,
        min(case when stg.`id` is null then coalesce(cast(stg.__auto_cdc_sequence as string), 'null') end) as null_key_0_example
    from (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as stg
),
repeated as (
    select stg.`id`, stg.__auto_cdc_sequence, stg.__auto_cdc_locator from (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as stg cross join counted
    where stg.__auto_cdc_locator is null or counted.paired > counted.met
    group by stg.`id`, stg.__auto_cdc_sequence, stg.__auto_cdc_locator having count(*) > 1
),
duplicated as (
    select count(*) as duplicate_keys, min('id=' || coalesce(cast(repeated.`id` as string), 'null') || ' in version ' || cast(repeated.__auto_cdc_sequence as string)) as duplicate_keys_example from repeated
),
waiting as (
    select count(__auto_cdc_place) as waiting, coalesce('version ' || cast(max(__auto_cdc_sequence) as string), 'a rebuild') as empty_snapshots_example from shop.`customers__auto_cdc_versions_c0ffee000002`
)
select counted.num_read_rows, missing.*, duplicated.*, case when counted.num_read_rows = 0 then waiting.waiting else 0 end as empty_snapshots, waiting.empty_snapshots_example
from counted cross join missing cross join duplicated cross join waiting;

-- check the snapshots  (only if num_several_versions)
with counted as (
    select
        count(case when __auto_cdc_is_read then 1 end) as num_read_rows,
        count(case when __auto_cdc_is_read then __auto_cdc_locator end) as paired,
        (select count(*) from (select tgt.`id` from shop.customers as tgt) as standing)
            - count(case when not __auto_cdc_is_read then 1 end) as met
    from shop.`customers__auto_cdc_stage_c0ffee000002`
),
missing as (
    select
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_version,
        min(case when stg.__auto_cdc_sequence is null then 'id=' || coalesce(cast(stg.`id` as string), 'null') end) as null_version_example,
        count(case when stg.`id` is null then 1 end) as null_key_0,
        min(case when stg.`id` is null then coalesce(cast(stg.__auto_cdc_sequence as string), 'null') end) as null_key_0_example
    from (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as stg
),
repeated as (
    select stg.`id`, stg.__auto_cdc_sequence, stg.__auto_cdc_locator from (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as stg
    group by stg.`id`, stg.__auto_cdc_sequence, stg.__auto_cdc_locator having count(*) > 1
),
duplicated as (
    select count(*) as duplicate_keys, min('id=' || coalesce(cast(repeated.`id` as string), 'null') || ' in version ' || cast(repeated.__auto_cdc_sequence as string)) as duplicate_keys_example from repeated
),
waiting as (
    select count(__auto_cdc_place) as waiting, coalesce('version ' || cast(max(__auto_cdc_sequence) as string), 'a rebuild') as empty_snapshots_example from shop.`customers__auto_cdc_versions_c0ffee000002`
)
select counted.num_read_rows, missing.*, duplicated.*, case when counted.num_read_rows = 0 then waiting.waiting else 0 end as empty_snapshots, waiting.empty_snapshots_example
from counted cross join missing cross join duplicated cross join waiting;

-- keep what differs from the target  (only if num_single_versions)
create or replace table shop.`customers__auto_cdc_winners_c0ffee000002` as
select src.*, generate_uuid() as __auto_cdc_row
from (
select
    stg.`id` as `id`,
    stg.`name` as `name`,
    stg.`note` as `note`,
    stg.`operation` as `operation`,
    (select max(__auto_cdc_sequence) from shop.`customers__auto_cdc_versions_c0ffee000002` where __auto_cdc_place is not null) as __auto_cdc_sequence,
    case when stg.__auto_cdc_is_read then 'upsert' else 'delete' end as __auto_cdc_kind,
    stg.__auto_cdc_locator
from shop.`customers__auto_cdc_stage_c0ffee000002` as stg
where (stg.__auto_cdc_is_new and not stg.__auto_cdc_same) or not stg.__auto_cdc_is_read
) as src;

-- count the differences  (only if num_single_versions)
with counted as (
    select count(*) as num_new_events, count(case when __auto_cdc_kind = 'delete' then 1 end) as num_deleted_rows from shop.`customers__auto_cdc_winners_c0ffee000002`
),
by_hand as (
    select count(*) as repeated_keys, min('id=' || coalesce(cast(found.`id` as string), 'null')) as repeated_keys_example
    from (select `id` from shop.`customers__auto_cdc_winners_c0ffee000002` group by `id` having count(*) > 1) as found
),
stored as (
    select count(*) as __auto_cdc_copies from shop.customers
),
sizes as (
    select ver.__auto_cdc_place, ver.__auto_cdc_sequence, count(stg.__auto_cdc_sequence) as __auto_cdc_copies
    from shop.`customers__auto_cdc_versions_c0ffee000002` as ver left join (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as stg on stg.__auto_cdc_sequence = ver.__auto_cdc_sequence
    where ver.__auto_cdc_place is not null
    group by ver.__auto_cdc_place, ver.__auto_cdc_sequence
),
before as (
    select sizes.__auto_cdc_sequence,
        coalesce(lag(sizes.__auto_cdc_copies) over (order by sizes.__auto_cdc_place), stored.__auto_cdc_copies) as __auto_cdc_copies
    from sizes cross join stored
),
present as (
    select stg.`id`, ver.__auto_cdc_place
    from (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as stg
    join shop.`customers__auto_cdc_versions_c0ffee000002` as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
),
past as (
    select `id`, __auto_cdc_place + 1 as __auto_cdc_place from present
    union all
    select `id`, 1 as __auto_cdc_place from shop.customers
),
deletes as (
    select ver.__auto_cdc_sequence, count(*) as __auto_cdc_ways
    from past as __auto_cdc_around join shop.`customers__auto_cdc_versions_c0ffee000002` as ver on ver.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    where not exists (
        select 1 from present as now
        where now.`id` = __auto_cdc_around.`id` and now.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    )
    group by ver.__auto_cdc_sequence
),
greedy as (
    select count(*) as greedy_versions, min('version ' || cast(before.__auto_cdc_sequence as string) || ' deletes ' || cast(deletes.__auto_cdc_ways as string) || ' of ' || cast(before.__auto_cdc_copies as string) || ' rows') as greedy_versions_example
    from deletes join before on before.__auto_cdc_sequence = deletes.__auto_cdc_sequence
    where deletes.__auto_cdc_ways > 0.5 * before.__auto_cdc_copies
)
select *
from counted cross join by_hand cross join greedy;

-- compare the snapshots  (only if num_several_versions)
create or replace table shop.`customers__auto_cdc_winners_c0ffee000002` as
select src.*, generate_uuid() as __auto_cdc_row
from (
select stg.`id` as `id`, stg.`name` as `name`, stg.`note` as `note`, stg.`operation` as `operation`, stg.__auto_cdc_sequence, 'upsert' as __auto_cdc_kind
from (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as stg where stg.__auto_cdc_sequence = (select max(__auto_cdc_sequence) from shop.`customers__auto_cdc_versions_c0ffee000002` where __auto_cdc_place is not null) and not stg.__auto_cdc_same
union all
select __auto_cdc_around.`id`, cast(null as STRING) as `name`, cast(null as STRING) as `note`, cast(null as STRING) as `operation`, (select max(__auto_cdc_sequence) from shop.`customers__auto_cdc_versions_c0ffee000002` where __auto_cdc_place is not null) as __auto_cdc_sequence, 'delete' as __auto_cdc_kind from shop.customers as __auto_cdc_around
where not exists (select 1 from (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as stg where stg.__auto_cdc_sequence = (select max(__auto_cdc_sequence) from shop.`customers__auto_cdc_versions_c0ffee000002` where __auto_cdc_place is not null) and stg.__auto_cdc_locator = to_json_string(__auto_cdc_around.`id`))
) as src;

-- count the differences  (only if num_several_versions)
with counted as (
    select count(*) as num_new_events, count(case when __auto_cdc_kind = 'delete' then 1 end) as num_deleted_rows from shop.`customers__auto_cdc_winners_c0ffee000002`
),
by_hand as (
    select count(*) as repeated_keys, min('id=' || coalesce(cast(found.`id` as string), 'null')) as repeated_keys_example
    from (select `id` from shop.`customers__auto_cdc_winners_c0ffee000002` group by `id` having count(*) > 1) as found
),
stored as (
    select count(*) as __auto_cdc_copies from shop.customers
),
sizes as (
    select ver.__auto_cdc_place, ver.__auto_cdc_sequence, count(stg.__auto_cdc_sequence) as __auto_cdc_copies
    from shop.`customers__auto_cdc_versions_c0ffee000002` as ver left join (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as stg on stg.__auto_cdc_sequence = ver.__auto_cdc_sequence
    where ver.__auto_cdc_place is not null
    group by ver.__auto_cdc_place, ver.__auto_cdc_sequence
),
before as (
    select sizes.__auto_cdc_sequence,
        coalesce(lag(sizes.__auto_cdc_copies) over (order by sizes.__auto_cdc_place), stored.__auto_cdc_copies) as __auto_cdc_copies
    from sizes cross join stored
),
present as (
    select stg.`id`, ver.__auto_cdc_place
    from (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as stg
    join shop.`customers__auto_cdc_versions_c0ffee000002` as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
),
past as (
    select `id`, __auto_cdc_place + 1 as __auto_cdc_place from present
    union all
    select `id`, 1 as __auto_cdc_place from shop.customers
),
deletes as (
    select ver.__auto_cdc_sequence, count(*) as __auto_cdc_ways
    from past as __auto_cdc_around join shop.`customers__auto_cdc_versions_c0ffee000002` as ver on ver.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    where not exists (
        select 1 from present as now
        where now.`id` = __auto_cdc_around.`id` and now.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    )
    group by ver.__auto_cdc_sequence
),
greedy as (
    select count(*) as greedy_versions, min('version ' || cast(before.__auto_cdc_sequence as string) || ' deletes ' || cast(deletes.__auto_cdc_ways as string) || ' of ' || cast(before.__auto_cdc_copies as string) || ' rows') as greedy_versions_example
    from deletes join before on before.__auto_cdc_sequence = deletes.__auto_cdc_sequence
    where deletes.__auto_cdc_ways > 0.5 * before.__auto_cdc_copies
)
select *
from counted cross join by_hand cross join greedy;

-- count what is written  (only if num_new_events or num_snapshot_versions)
select
    count(case when __auto_cdc_step = 1 and __auto_cdc_action = 'born' then 1 end) as num_upserted_rows
from (
    select
        cast(null as INT64) as `id`,
        cast(null as STRING) as `name`,
        cast(null as STRING) as `note`,
        cast(null as STRING) as `operation`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    (select cast(null as string) as place limit 0)
    union all
    (
    select to_json_string(won.`id`) from shop.`customers__auto_cdc_winners_c0ffee000002` as won
    )
    ) as gone where place is not null
    union all
    select
        cast(row_born.`id` as INT64) as `id`,
        cast(row_born.`name` as STRING) as `name`,
        cast(row_born.`note` as STRING) as `note`,
        cast(row_born.`operation` as STRING) as `operation`,
        to_json_string(row_born.`id`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`operation`
    from (
    (select cast(null as INT64) as `id`, cast(null as STRING) as `name`, cast(null as STRING) as `note`, cast(null as STRING) as `operation` limit 0)
    union all
    (
    select `id`, `name`, `note`, `operation` from shop.`customers__auto_cdc_winners_c0ffee000002` where __auto_cdc_kind = 'upsert'
    )
    ) as born
    ) as row_born
) as changes;

-- write down what becomes of shop.customers__auto_cdc  (only if num_new_events or num_snapshot_versions)
create or replace table shop.`customers__auto_cdc_companion_changes_c0ffee000002` as
select
    cast(null as INT64) as `id`,
    cast(null as DATETIME) as __auto_cdc_sequence,
    cast(null as string) as __auto_cdc_kind,
    cast(null as string) as __auto_cdc_control,
    cast(null as string) as __auto_cdc_locator,
    cast('' as string) as __auto_cdc_action,
    0 as __auto_cdc_step
from (select 1 as one) as nothing
where false
union all
-- only if num_snapshot_versions
select
    cast(null as INT64) as `id`,
    cast(value_0 as DATETIME) as __auto_cdc_sequence,
    cast(null as string) as __auto_cdc_kind,
    cast(null as string) as __auto_cdc_control,
    place as __auto_cdc_locator,
    cast('ended' as string) as __auto_cdc_action,
    0 as __auto_cdc_step
from (
(select cast(null as string) as place, cast(null as DATETIME) as value_0 limit 0)
union all
(
select to_json_string(cmp.`id`) || ',' || to_json_string(cmp.__auto_cdc_sequence) || ',' || to_json_string(cmp.__auto_cdc_kind) as locator, (select max(__auto_cdc_sequence) from shop.`customers__auto_cdc_versions_c0ffee000002` where __auto_cdc_place is not null) as value
from shop.customers__auto_cdc as cmp where cmp.__auto_cdc_kind = 'snapshot'
)
) as ended
union all
-- only if num_snapshot_versions
select
    cast(row_born.`id` as INT64) as `id`,
    cast(row_born.__auto_cdc_sequence as DATETIME) as __auto_cdc_sequence,
    cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,
    cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,
    to_json_string(row_born.`id`) || ',' || to_json_string(row_born.__auto_cdc_sequence) || ',' || to_json_string(row_born.__auto_cdc_kind) as __auto_cdc_locator,
    cast('born' as string) as __auto_cdc_action,
    1 as __auto_cdc_step
from (
select
    cast(null as INT64) as `id`,
    born.__auto_cdc_sequence,
    cast(null as string) as __auto_cdc_kind,
    cast(null as string) as __auto_cdc_control
from (
(select cast(null as DATETIME) as __auto_cdc_sequence limit 0)
union all
(
select __auto_cdc_sequence from shop.`customers__auto_cdc_versions_c0ffee000002` where __auto_cdc_place is not null
)
) as born
) as row_born;

-- write down what is left to do  (only if num_new_events or num_snapshot_versions)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect\\n    cast(null as INT64) as `id`,\\n    cast(null as STRING) as `name`,\\n    cast(null as STRING) as `note`,\\n    cast(null as STRING) as `operation`,\\n    __auto_cdc_locator, \'gone\' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from (\\n    select\\n        cast(null as INT64) as `id`,\\n        cast(null as STRING) as `name`,\\n        cast(null as STRING) as `note`,\\n        cast(null as STRING) as `operation`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    (select cast(null as string) as place limit 0)\\n    union all\\n    (\\n    select to_json_string(won.`id`) from shop.`customers__auto_cdc_winners_c0ffee000002` as won\\n    )\\n    ) as gone where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as INT64) as `id`,\\n        cast(row_born.`name` as STRING) as `name`,\\n        cast(row_born.`note` as STRING) as `note`,\\n        cast(row_born.`operation` as STRING) as `operation`,\\n        to_json_string(row_born.`id`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`operation`\\n    from (\\n    (select cast(null as INT64) as `id`, cast(null as STRING) as `name`, cast(null as STRING) as `note`, cast(null as STRING) as `operation` limit 0)\\n    union all\\n    (\\n    select `id`, `name`, `note`, `operation` from shop.`customers__auto_cdc_winners_c0ffee000002` where __auto_cdc_kind = \'upsert\'\\n    )\\n    ) as born\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action in (\'gone\', \'born\')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect `id`, `name`, `note`, `operation`, cast(null as string) as __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as INT64) as `id`,\\n        cast(null as STRING) as `name`,\\n        cast(null as STRING) as `note`,\\n        cast(null as STRING) as `operation`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    (select cast(null as string) as place limit 0)\\n    union all\\n    (\\n    select to_json_string(won.`id`) from shop.`customers__auto_cdc_winners_c0ffee000002` as won\\n    )\\n    ) as gone where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as INT64) as `id`,\\n        cast(row_born.`name` as STRING) as `name`,\\n        cast(row_born.`note` as STRING) as `note`,\\n        cast(row_born.`operation` as STRING) as `operation`,\\n        to_json_string(row_born.`id`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`operation`\\n    from (\\n    (select cast(null as INT64) as `id`, cast(null as STRING) as `name`, cast(null as STRING) as `note`, cast(null as STRING) as `operation` limit 0)\\n    union all\\n    (\\n    select `id`, `name`, `note`, `operation` from shop.`customers__auto_cdc_winners_c0ffee000002` where __auto_cdc_kind = \'upsert\'\\n    )\\n    ) as born\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = \'born\'\\n) as src\\non to_json_string(tgt.`id`) = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = \'gone\' then delete\\nwhen not matched and src.__auto_cdc_action = \'born\' then insert (`id`, `name`, `note`, `operation`) values (src.`id`, src.`name`, src.`note`, src.`operation`)"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\\nselect\\n    cast(null as INT64) as `id`,\\n    cast(null as DATETIME) as __auto_cdc_sequence,\\n    cast(null as string) as __auto_cdc_kind,\\n    cast(null as string) as __auto_cdc_control,\\n    __auto_cdc_locator, \'gone\' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from shop.`customers__auto_cdc_companion_changes_c0ffee000002`\\nwhere __auto_cdc_action in (\'gone\', \'born\')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, cast(null as string) as __auto_cdc_locator, __auto_cdc_action\\nfrom shop.`customers__auto_cdc_companion_changes_c0ffee000002`\\nwhere __auto_cdc_action = \'born\'\\nunion all\\nselect `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action\\nfrom shop.`customers__auto_cdc_companion_changes_c0ffee000002`\\nwhere __auto_cdc_action = \'ended\'\\nunion all\\nselect `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, to_json_string(own.`id`) || \',\' || to_json_string(own.__auto_cdc_sequence) || \',\' || to_json_string(own.__auto_cdc_kind), \'done\' as __auto_cdc_action\\nfrom (\\nselect\\n    cast(null as INT64) as `id`,\\n    cast(null as DATETIME) as __auto_cdc_sequence,\\n    \'journal\' as __auto_cdc_kind,\\n    \'c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_versions_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_winners_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_companion_changes_c0ffee000002`\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}\' as __auto_cdc_control\\n) as own\\n) as src\\non to_json_string(tgt.`id`) || \',\' || to_json_string(tgt.__auto_cdc_sequence) || \',\' || to_json_string(tgt.__auto_cdc_kind) = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = \'gone\' then delete\\nwhen matched and src.__auto_cdc_action = \'ended\' then update set __auto_cdc_sequence = src.__auto_cdc_sequence\\nwhen matched and src.__auto_cdc_action = \'done\' and tgt.__auto_cdc_kind = \'journal\' and substr(tgt.__auto_cdc_control, 1, 13) = \'c0ffee000002 \' then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched and src.__auto_cdc_action = \'born\' then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control)"]], "frees": "drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_versions_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_winners_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_companion_changes_c0ffee000002`", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_new_events or num_snapshot_versions)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_new_events or num_snapshot_versions)
merge into shop.customers as tgt using (
select
    cast(null as INT64) as `id`,
    cast(null as STRING) as `name`,
    cast(null as STRING) as `note`,
    cast(null as STRING) as `operation`,
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(null as INT64) as `id`,
        cast(null as STRING) as `name`,
        cast(null as STRING) as `note`,
        cast(null as STRING) as `operation`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    (select cast(null as string) as place limit 0)
    union all
    (
    select to_json_string(won.`id`) from shop.`customers__auto_cdc_winners_c0ffee000002` as won
    )
    ) as gone where place is not null
    union all
    select
        cast(row_born.`id` as INT64) as `id`,
        cast(row_born.`name` as STRING) as `name`,
        cast(row_born.`note` as STRING) as `note`,
        cast(row_born.`operation` as STRING) as `operation`,
        to_json_string(row_born.`id`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`operation`
    from (
    (select cast(null as INT64) as `id`, cast(null as STRING) as `name`, cast(null as STRING) as `note`, cast(null as STRING) as `operation` limit 0)
    union all
    (
    select `id`, `name`, `note`, `operation` from shop.`customers__auto_cdc_winners_c0ffee000002` where __auto_cdc_kind = 'upsert'
    )
    ) as born
    ) as row_born
) as changes
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select `id`, `name`, `note`, `operation`, cast(null as string) as __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as INT64) as `id`,
        cast(null as STRING) as `name`,
        cast(null as STRING) as `note`,
        cast(null as STRING) as `operation`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    (select cast(null as string) as place limit 0)
    union all
    (
    select to_json_string(won.`id`) from shop.`customers__auto_cdc_winners_c0ffee000002` as won
    )
    ) as gone where place is not null
    union all
    select
        cast(row_born.`id` as INT64) as `id`,
        cast(row_born.`name` as STRING) as `name`,
        cast(row_born.`note` as STRING) as `note`,
        cast(row_born.`operation` as STRING) as `operation`,
        to_json_string(row_born.`id`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`operation`
    from (
    (select cast(null as INT64) as `id`, cast(null as STRING) as `name`, cast(null as STRING) as `note`, cast(null as STRING) as `operation` limit 0)
    union all
    (
    select `id`, `name`, `note`, `operation` from shop.`customers__auto_cdc_winners_c0ffee000002` where __auto_cdc_kind = 'upsert'
    )
    ) as born
    ) as row_born
) as changes
where __auto_cdc_action = 'born'
) as src
on to_json_string(tgt.`id`) = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when not matched and src.__auto_cdc_action = 'born' then insert (`id`, `name`, `note`, `operation`) values (src.`id`, src.`name`, src.`note`, src.`operation`);

-- change shop.customers__auto_cdc  (only if num_new_events or num_snapshot_versions)
merge into shop.customers__auto_cdc as tgt using (
select
    cast(null as INT64) as `id`,
    cast(null as DATETIME) as __auto_cdc_sequence,
    cast(null as string) as __auto_cdc_kind,
    cast(null as string) as __auto_cdc_control,
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from shop.`customers__auto_cdc_companion_changes_c0ffee000002`
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, cast(null as string) as __auto_cdc_locator, __auto_cdc_action
from shop.`customers__auto_cdc_companion_changes_c0ffee000002`
where __auto_cdc_action = 'born'
union all
select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action
from shop.`customers__auto_cdc_companion_changes_c0ffee000002`
where __auto_cdc_action = 'ended'
union all
select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, to_json_string(own.`id`) || ',' || to_json_string(own.__auto_cdc_sequence) || ',' || to_json_string(own.__auto_cdc_kind), 'done' as __auto_cdc_action
from (
select
    cast(null as INT64) as `id`,
    cast(null as DATETIME) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_versions_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_winners_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_companion_changes_c0ffee000002`", "asks": "", "otherwise": [], "appends": false}' as __auto_cdc_control
) as own
) as src
on to_json_string(tgt.`id`) || ',' || to_json_string(tgt.__auto_cdc_sequence) || ',' || to_json_string(tgt.__auto_cdc_kind) = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'ended' then update set __auto_cdc_sequence = src.__auto_cdc_sequence
when matched and src.__auto_cdc_action = 'done' and tgt.__auto_cdc_kind = 'journal' and substr(tgt.__auto_cdc_control, 1, 13) = 'c0ffee000002 ' then update set __auto_cdc_control = src.__auto_cdc_control
when not matched and src.__auto_cdc_action = 'born' then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control);

-- free the working tables
drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_versions_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_winners_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_companion_changes_c0ffee000002`;

-- cross it off  (only if num_new_events or num_snapshot_versions)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- drop what told the columns
drop view if exists shop.`customers__auto_cdc_described`;
