-- auto_cdc: model customers: build the target

-- stage the model's rows
create or replace transient table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select
    src."ID" as "ID",
    src."NAME" as "NAME",
    src."NOTE" as "NOTE",
    src."OPERATION" as "OPERATION",
    src."CHANGED_AT" as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src
) as src;

-- list the versions
create or replace transient table shop."customers__auto_cdc_versions_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with versions_read as (
    select __auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002"
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
from shop."customers__auto_cdc_versions_c0ffee000002" as ver;

-- check the snapshot  (only if num_at_most_one_version)
with counted as (
    select count(*) as num_read_rows from shop."customers__auto_cdc_stage_c0ffee000002"
),
missing as (
    select
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_version,
        min(case when stg.__auto_cdc_sequence is null then 'ID=' || coalesce(cast(stg."ID" as varchar), 'null') end) as null_version_example,
        count(case when stg."ID" is null then 1 end) as null_key_0,
        min(case when stg."ID" is null then coalesce(cast(stg.__auto_cdc_sequence as varchar), 'null') end) as null_key_0_example
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg
),
repeated as (
    select stg."ID", stg.__auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002" as stg
    group by stg."ID", stg.__auto_cdc_sequence having count(*) > 1
),
duplicated as (
    select count(*) as duplicate_keys, min('ID=' || coalesce(cast(repeated."ID" as varchar), 'null') || ' in version ' || cast(repeated.__auto_cdc_sequence as varchar)) as duplicate_keys_example from repeated
),
waiting as (
    select count(__auto_cdc_place) as waiting, coalesce('version ' || cast(max(__auto_cdc_sequence) as varchar), 'a rebuild') as empty_snapshots_example from shop."customers__auto_cdc_versions_c0ffee000002"
)
select counted.num_read_rows, missing.*, duplicated.*, case when counted.num_read_rows = 0 then waiting.waiting else 0 end as empty_snapshots, waiting.empty_snapshots_example
from counted cross join missing cross join duplicated cross join waiting;

-- check the snapshots  (only if num_several_versions)
with counted as (
    select count(*) as num_read_rows from shop."customers__auto_cdc_stage_c0ffee000002"
),
missing as (
    select
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_version,
        min(case when stg.__auto_cdc_sequence is null then 'ID=' || coalesce(cast(stg."ID" as varchar), 'null') end) as null_version_example,
        count(case when stg."ID" is null then 1 end) as null_key_0,
        min(case when stg."ID" is null then coalesce(cast(stg.__auto_cdc_sequence as varchar), 'null') end) as null_key_0_example
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg
),
repeated as (
    select stg."ID", stg.__auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002" as stg
    group by stg."ID", stg.__auto_cdc_sequence having count(*) > 1
),
duplicated as (
    select count(*) as duplicate_keys, min('ID=' || coalesce(cast(repeated."ID" as varchar), 'null') || ' in version ' || cast(repeated.__auto_cdc_sequence as varchar)) as duplicate_keys_example from repeated
),
waiting as (
    select count(__auto_cdc_place) as waiting, coalesce('version ' || cast(max(__auto_cdc_sequence) as varchar), 'a rebuild') as empty_snapshots_example from shop."customers__auto_cdc_versions_c0ffee000002"
)
select counted.num_read_rows, missing.*, duplicated.*, case when counted.num_read_rows = 0 then waiting.waiting else 0 end as empty_snapshots, waiting.empty_snapshots_example
from counted cross join missing cross join duplicated cross join waiting;

-- count the differences
with stored as (
    select 0 as __auto_cdc_copies
),
sizes as (
    select ver.__auto_cdc_place, ver.__auto_cdc_sequence, count(stg.__auto_cdc_sequence) as __auto_cdc_copies
    from shop."customers__auto_cdc_versions_c0ffee000002" as ver left join shop."customers__auto_cdc_stage_c0ffee000002" as stg on stg.__auto_cdc_sequence = ver.__auto_cdc_sequence
    where ver.__auto_cdc_place is not null
    group by ver.__auto_cdc_place, ver.__auto_cdc_sequence
),
before as (
    select sizes.__auto_cdc_sequence,
        coalesce(lag(sizes.__auto_cdc_copies) over (order by sizes.__auto_cdc_place), stored.__auto_cdc_copies) as __auto_cdc_copies
    from sizes cross join stored
),
present as (
    select stg."ID", ver.__auto_cdc_place
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg
    join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
),
past as (
    select "ID", __auto_cdc_place + 1 as __auto_cdc_place from present
),
deletes as (
    select ver.__auto_cdc_sequence, count(*) as __auto_cdc_ways
    from past as __auto_cdc_around join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    where not exists (
        select 1 from present as now
        where now."ID" = __auto_cdc_around."ID" and now.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
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
create table shop.customers__auto_cdc (
    "ID" NUMBER(38,0),
    __auto_cdc_sequence TIMESTAMP_NTZ(9),
    __auto_cdc_kind varchar,
    __auto_cdc_control varchar
) cluster by ("ID");

-- create the companion
insert into shop.customers__auto_cdc ("ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select whose."ID", whose.__auto_cdc_sequence, whose.__auto_cdc_kind, whose.__auto_cdc_control from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as whose
where not exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal');

-- create the target
create or replace table shop.customers (
    "ID" NUMBER(38,0),
    "NAME" VARCHAR(16777216),
    "NOTE" VARCHAR(16777216),
    "OPERATION" VARCHAR(16777216)
) cluster by (id);

-- create the target
insert into shop.customers ("ID", "NAME", "NOTE", "OPERATION")
select "ID", "NAME", "NOTE", "OPERATION" from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_sequence = (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null);

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told."ID", told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Snowflake", "format": 1, "key_types": ["NUMBER(38,0)"], "keys": ["id"], "materialized": "auto_cdc_snapshot", "once": [], "scd_type": "1", "sequence_type": "TIMESTAMP_NTZ(9)", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
union all
select more.*, null as __auto_cdc_control from (
select cast(null as NUMBER(38,0)) as "ID", max(__auto_cdc_sequence) as __auto_cdc_sequence, 'snapshot' as __auto_cdc_kind
from shop."customers__auto_cdc_versions_c0ffee000002"
) as more
union all
select more.*, null as __auto_cdc_control from (
select cast(null as NUMBER(38,0)) as "ID", __auto_cdc_sequence as __auto_cdc_sequence, cast(null as varchar) as __auto_cdc_kind
from shop."customers__auto_cdc_versions_c0ffee000002"
) as more
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
union all
select told."ID", told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
) as src
on tgt.__auto_cdc_kind = src.__auto_cdc_kind
when matched then update set __auto_cdc_control = src.__auto_cdc_control
when not matched then insert ("ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src."ID", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control);

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_versions_c0ffee000002";

-- auto_cdc: model customers: apply the new snapshots

-- stage the model's rows
create or replace transient table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with evaluated as (
    select
        src."ID" as "ID",
        src."NAME" as "NAME",
        src."NOTE" as "NOTE",
        src."OPERATION" as "OPERATION",
        src."CHANGED_AT" as __auto_cdc_sequence,
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
    select tgt."ID", tgt."NAME", tgt."NOTE", tgt."OPERATION", coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') as __auto_cdc_locator from shop.customers as tgt
),
paired as (
    select
        coalesce(src."ID", past."ID") as "ID",
        src."NAME",
        src."NOTE",
        src."OPERATION",
        src.__auto_cdc_sequence,
        past.__auto_cdc_locator,
        src.__auto_cdc_is_new is not null as __auto_cdc_is_read,
        coalesce(src.__auto_cdc_is_new, false) as __auto_cdc_is_new,
        coalesce(src.__auto_cdc_is_new and past.__auto_cdc_locator is not null and not (src."NAME" is distinct from past."NAME") and not (src."NOTE" is distinct from past."NOTE") and not (src."OPERATION" is distinct from past."OPERATION"), false) as __auto_cdc_same
    from marked as src
    full join past on past."ID" = case when src.__auto_cdc_is_new then src."ID" end
)
select
    "ID",
    __auto_cdc_sequence,
    __auto_cdc_locator,
    __auto_cdc_is_read,
    __auto_cdc_is_new,
    __auto_cdc_same,
    case when __auto_cdc_is_new and not __auto_cdc_same then "NAME" end as "NAME",
    case when __auto_cdc_is_new and not __auto_cdc_same then "NOTE" end as "NOTE",
    case when __auto_cdc_is_new and not __auto_cdc_same then "OPERATION" end as "OPERATION"
from paired
) as src;

-- list the versions
create or replace transient table shop."customers__auto_cdc_versions_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with versions_read as (
    select __auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002"
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
    cast(max(case when ver.__auto_cdc_is_late then ver.__auto_cdc_sequence end) as varchar) || ' (the last one is ' || cast((select max(__auto_cdc_sequence) from shop.customers__auto_cdc where __auto_cdc_kind = 'snapshot') as varchar) || ')' as num_late_versions_example
from shop."customers__auto_cdc_versions_c0ffee000002" as ver;

-- check the snapshot  (only if num_at_most_one_version)
with counted as (
    select
        count(case when __auto_cdc_is_read then 1 end) as num_read_rows,
        count(case when __auto_cdc_is_read then __auto_cdc_locator end) as paired,
        (select count(*) from (select tgt."ID" from shop.customers as tgt) as standing)
            - count(case when not __auto_cdc_is_read then 1 end) as met
    from shop."customers__auto_cdc_stage_c0ffee000002"
),
missing as (
    select
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_version,
        min(case when stg.__auto_cdc_sequence is null then 'ID=' || coalesce(cast(stg."ID" as varchar), 'null') end) as null_version_example,
        count(case when stg."ID" is null then 1 end) as null_key_0,
        min(case when stg."ID" is null then coalesce(cast(stg.__auto_cdc_sequence as varchar), 'null') end) as null_key_0_example
    from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as stg
),
repeated as (
    select stg."ID", stg.__auto_cdc_sequence, stg.__auto_cdc_locator from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as stg cross join counted
    where stg.__auto_cdc_locator is null or counted.paired > counted.met
    group by stg."ID", stg.__auto_cdc_sequence, stg.__auto_cdc_locator having count(*) > 1
),
duplicated as (
    select count(*) as duplicate_keys, min('ID=' || coalesce(cast(repeated."ID" as varchar), 'null') || ' in version ' || cast(repeated.__auto_cdc_sequence as varchar)) as duplicate_keys_example from repeated
),
waiting as (
    select count(__auto_cdc_place) as waiting, coalesce('version ' || cast(max(__auto_cdc_sequence) as varchar), 'a rebuild') as empty_snapshots_example from shop."customers__auto_cdc_versions_c0ffee000002"
)
select counted.num_read_rows, missing.*, duplicated.*, case when counted.num_read_rows = 0 then waiting.waiting else 0 end as empty_snapshots, waiting.empty_snapshots_example
from counted cross join missing cross join duplicated cross join waiting;

-- check the snapshots  (only if num_several_versions)
with counted as (
    select
        count(case when __auto_cdc_is_read then 1 end) as num_read_rows,
        count(case when __auto_cdc_is_read then __auto_cdc_locator end) as paired,
        (select count(*) from (select tgt."ID" from shop.customers as tgt) as standing)
            - count(case when not __auto_cdc_is_read then 1 end) as met
    from shop."customers__auto_cdc_stage_c0ffee000002"
),
missing as (
    select
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_version,
        min(case when stg.__auto_cdc_sequence is null then 'ID=' || coalesce(cast(stg."ID" as varchar), 'null') end) as null_version_example,
        count(case when stg."ID" is null then 1 end) as null_key_0,
        min(case when stg."ID" is null then coalesce(cast(stg.__auto_cdc_sequence as varchar), 'null') end) as null_key_0_example
    from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as stg
),
repeated as (
    select stg."ID", stg.__auto_cdc_sequence, stg.__auto_cdc_locator from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as stg
    group by stg."ID", stg.__auto_cdc_sequence, stg.__auto_cdc_locator having count(*) > 1
),
duplicated as (
    select count(*) as duplicate_keys, min('ID=' || coalesce(cast(repeated."ID" as varchar), 'null') || ' in version ' || cast(repeated.__auto_cdc_sequence as varchar)) as duplicate_keys_example from repeated
),
waiting as (
    select count(__auto_cdc_place) as waiting, coalesce('version ' || cast(max(__auto_cdc_sequence) as varchar), 'a rebuild') as empty_snapshots_example from shop."customers__auto_cdc_versions_c0ffee000002"
)
select counted.num_read_rows, missing.*, duplicated.*, case when counted.num_read_rows = 0 then waiting.waiting else 0 end as empty_snapshots, waiting.empty_snapshots_example
from counted cross join missing cross join duplicated cross join waiting;

-- keep what differs from the target  (only if num_single_versions)
create or replace transient table shop."customers__auto_cdc_winners_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select
    stg."ID" as "ID",
    stg."NAME" as "NAME",
    stg."NOTE" as "NOTE",
    stg."OPERATION" as "OPERATION",
    (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null) as __auto_cdc_sequence,
    case when stg.__auto_cdc_is_read then 'upsert' else 'delete' end as __auto_cdc_kind,
    stg.__auto_cdc_locator
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
where (stg.__auto_cdc_is_new and not stg.__auto_cdc_same) or not stg.__auto_cdc_is_read
) as src;

-- count the differences  (only if num_single_versions)
with counted as (
    select count(*) as num_new_events, count(case when __auto_cdc_kind = 'delete' then 1 end) as num_deleted_rows from shop."customers__auto_cdc_winners_c0ffee000002"
),
by_hand as (
    select count(*) as repeated_keys, min('ID=' || coalesce(cast(found."ID" as varchar), 'null')) as repeated_keys_example
    from (select "ID" from shop."customers__auto_cdc_winners_c0ffee000002" group by "ID" having count(*) > 1) as found
),
stored as (
    select count(*) as __auto_cdc_copies from shop.customers
),
sizes as (
    select ver.__auto_cdc_place, ver.__auto_cdc_sequence, count(stg.__auto_cdc_sequence) as __auto_cdc_copies
    from shop."customers__auto_cdc_versions_c0ffee000002" as ver left join (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as stg on stg.__auto_cdc_sequence = ver.__auto_cdc_sequence
    where ver.__auto_cdc_place is not null
    group by ver.__auto_cdc_place, ver.__auto_cdc_sequence
),
before as (
    select sizes.__auto_cdc_sequence,
        coalesce(lag(sizes.__auto_cdc_copies) over (order by sizes.__auto_cdc_place), stored.__auto_cdc_copies) as __auto_cdc_copies
    from sizes cross join stored
),
present as (
    select stg."ID", ver.__auto_cdc_place
    from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as stg
    join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
),
past as (
    select "ID", __auto_cdc_place + 1 as __auto_cdc_place from present
    union all
    select "ID", 1 as __auto_cdc_place from shop.customers
),
deletes as (
    select ver.__auto_cdc_sequence, count(*) as __auto_cdc_ways
    from past as __auto_cdc_around join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    where not exists (
        select 1 from present as now
        where now."ID" = __auto_cdc_around."ID" and now.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
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
create or replace transient table shop."customers__auto_cdc_winners_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select stg."ID" as "ID", stg."NAME" as "NAME", stg."NOTE" as "NOTE", stg."OPERATION" as "OPERATION", stg.__auto_cdc_sequence, 'upsert' as __auto_cdc_kind
from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as stg where stg.__auto_cdc_sequence = (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null) and not stg.__auto_cdc_same
union all
select __auto_cdc_around."ID", cast(null as VARCHAR(16777216)) as "NAME", cast(null as VARCHAR(16777216)) as "NOTE", cast(null as VARCHAR(16777216)) as "OPERATION", (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null) as __auto_cdc_sequence, 'delete' as __auto_cdc_kind from shop.customers as __auto_cdc_around
where not exists (select 1 from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as stg where stg.__auto_cdc_sequence = (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null) and stg.__auto_cdc_locator = coalesce(cast(length(cast(__auto_cdc_around."ID" as varchar)) as varchar) || ':' || cast(__auto_cdc_around."ID" as varchar), '-'))
) as src;

-- count the differences  (only if num_several_versions)
with counted as (
    select count(*) as num_new_events, count(case when __auto_cdc_kind = 'delete' then 1 end) as num_deleted_rows from shop."customers__auto_cdc_winners_c0ffee000002"
),
by_hand as (
    select count(*) as repeated_keys, min('ID=' || coalesce(cast(found."ID" as varchar), 'null')) as repeated_keys_example
    from (select "ID" from shop."customers__auto_cdc_winners_c0ffee000002" group by "ID" having count(*) > 1) as found
),
stored as (
    select count(*) as __auto_cdc_copies from shop.customers
),
sizes as (
    select ver.__auto_cdc_place, ver.__auto_cdc_sequence, count(stg.__auto_cdc_sequence) as __auto_cdc_copies
    from shop."customers__auto_cdc_versions_c0ffee000002" as ver left join (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as stg on stg.__auto_cdc_sequence = ver.__auto_cdc_sequence
    where ver.__auto_cdc_place is not null
    group by ver.__auto_cdc_place, ver.__auto_cdc_sequence
),
before as (
    select sizes.__auto_cdc_sequence,
        coalesce(lag(sizes.__auto_cdc_copies) over (order by sizes.__auto_cdc_place), stored.__auto_cdc_copies) as __auto_cdc_copies
    from sizes cross join stored
),
present as (
    select stg."ID", ver.__auto_cdc_place
    from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as stg
    join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
),
past as (
    select "ID", __auto_cdc_place + 1 as __auto_cdc_place from present
    union all
    select "ID", 1 as __auto_cdc_place from shop.customers
),
deletes as (
    select ver.__auto_cdc_sequence, count(*) as __auto_cdc_ways
    from past as __auto_cdc_around join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
    where not exists (
        select 1 from present as now
        where now."ID" = __auto_cdc_around."ID" and now.__auto_cdc_place = __auto_cdc_around.__auto_cdc_place
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

-- count what is written  (only if num_new_events or num_snapshot_versions)
select
    count(case when __auto_cdc_step = 1 and __auto_cdc_action = 'born' then 1 end) as num_upserted_rows
from (
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
        cast(null as VARCHAR(16777216)) as "OPERATION",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    with gone (place) as (
    select coalesce(cast(length(cast(won."ID" as varchar)) as varchar) || ':' || cast(won."ID" as varchar), '-') from shop."customers__auto_cdc_winners_c0ffee000002" as won
    )
    select * from gone
    ) as gone where place is not null
    union all
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
        cast(row_born."OPERATION" as VARCHAR(16777216)) as "OPERATION",
        coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born."ID",
        born."NAME",
        born."NOTE",
        born."OPERATION"
    from (
    with born ("ID", "NAME", "NOTE", "OPERATION") as (
    select "ID", "NAME", "NOTE", "OPERATION" from shop."customers__auto_cdc_winners_c0ffee000002" where __auto_cdc_kind = 'upsert'
    )
    select * from born
    ) as born
    ) as row_born
) as changes;

-- write down what becomes of shop.customers__auto_cdc  (only if num_new_events or num_snapshot_versions)
create or replace transient table shop."customers__auto_cdc_companion_changes_c0ffee000002" as
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    cast(null as varchar) as __auto_cdc_kind,
    cast(null as varchar) as __auto_cdc_control,
    cast(null as varchar) as __auto_cdc_locator,
    cast('' as varchar) as __auto_cdc_action,
    0 as __auto_cdc_step
from (select 1 as one) as nothing
where false
union all
-- only if num_snapshot_versions
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(value_0 as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    cast(null as varchar) as __auto_cdc_kind,
    cast(null as varchar) as __auto_cdc_control,
    place as __auto_cdc_locator,
    cast('ended' as varchar) as __auto_cdc_action,
    0 as __auto_cdc_step
from (
with ended (place, value_0) as (
select coalesce(cast(length(cast(cmp."ID" as varchar)) as varchar) || ':' || cast(cmp."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, cmp.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, cmp.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(cmp.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(cmp.__auto_cdc_kind as varchar), '-') as locator, (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null) as value
from shop.customers__auto_cdc as cmp where cmp.__auto_cdc_kind = 'snapshot'
)
select * from ended
) as ended
union all
-- only if num_snapshot_versions
select
    cast(row_born."ID" as NUMBER(38,0)) as "ID",
    cast(row_born.__auto_cdc_sequence as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    cast(row_born.__auto_cdc_kind as varchar) as __auto_cdc_kind,
    cast(row_born.__auto_cdc_control as varchar) as __auto_cdc_control,
    coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, row_born.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(row_born.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(row_born.__auto_cdc_kind as varchar), '-') as __auto_cdc_locator,
    cast('born' as varchar) as __auto_cdc_action,
    1 as __auto_cdc_step
from (
select
    cast(null as NUMBER(38,0)) as "ID",
    born.__auto_cdc_sequence,
    cast(null as varchar) as __auto_cdc_kind,
    cast(null as varchar) as __auto_cdc_control
from (
with born (__auto_cdc_sequence) as (
select __auto_cdc_sequence from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null
)
select * from born
) as born
) as row_born;

-- write down what is left to do  (only if num_new_events or num_snapshot_versions)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n    cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n    cast(null as VARCHAR(16777216)) as \\"OPERATION\\",\\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from (\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as VARCHAR(16777216)) as \\"OPERATION\\",\\n        place as __auto_cdc_locator,\\n        cast(''gone'' as varchar) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    with gone (place) as (\\n    select coalesce(cast(length(cast(won.\\"ID\\" as varchar)) as varchar) || '':'' || cast(won.\\"ID\\" as varchar), ''-'') from shop.\\"customers__auto_cdc_winners_c0ffee000002\\" as won\\n    )\\n    select * from gone\\n    ) as gone where place is not null\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"OPERATION\\" as VARCHAR(16777216)) as \\"OPERATION\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"OPERATION\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\") as (\\n    select \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\" from shop.\\"customers__auto_cdc_winners_c0ffee000002\\" where __auto_cdc_kind = ''upsert''\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action in (''gone'', ''born'')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as VARCHAR(16777216)) as \\"OPERATION\\",\\n        place as __auto_cdc_locator,\\n        cast(''gone'' as varchar) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    with gone (place) as (\\n    select coalesce(cast(length(cast(won.\\"ID\\" as varchar)) as varchar) || '':'' || cast(won.\\"ID\\" as varchar), ''-'') from shop.\\"customers__auto_cdc_winners_c0ffee000002\\" as won\\n    )\\n    select * from gone\\n    ) as gone where place is not null\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"OPERATION\\" as VARCHAR(16777216)) as \\"OPERATION\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"OPERATION\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\") as (\\n    select \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\" from shop.\\"customers__auto_cdc_winners_c0ffee000002\\" where __auto_cdc_kind = ''upsert''\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = ''born''\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\") values (src.\\"ID\\", src.\\"NAME\\", src.\\"NOTE\\", src.\\"OPERATION\\")"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n    cast(null as varchar) as __auto_cdc_kind,\\n    cast(null as varchar) as __auto_cdc_control,\\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"\\nwhere __auto_cdc_action in (''gone'', ''born'')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\\nfrom shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"\\nwhere __auto_cdc_action = ''born''\\nunion all\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action\\nfrom shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"\\nwhere __auto_cdc_action = ''ended''\\nunion all\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, coalesce(cast(length(cast(own.\\"ID\\" as varchar)) as varchar) || '':'' || cast(own.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, own.__auto_cdc_sequence) as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, own.__auto_cdc_sequence) as varchar), ''-'') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(own.__auto_cdc_kind as varchar), ''-''), ''done'' as __auto_cdc_action\\nfrom (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n    ''journal'' as __auto_cdc_kind,\\n    ''c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stage_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_versions_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_winners_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_companion_changes_c0ffee000002\\\\\\\\\\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}'' as __auto_cdc_control\\n) as own\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.__auto_cdc_sequence) as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, tgt.__auto_cdc_sequence) as varchar), ''-'') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(tgt.__auto_cdc_kind as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\\nwhen matched and src.__auto_cdc_action = ''ended'' then update set __auto_cdc_sequence = src.__auto_cdc_sequence\\nwhen matched and src.__auto_cdc_action = ''done'' and tgt.__auto_cdc_kind = ''journal'' and substr(tgt.__auto_cdc_control, 1, 13) = ''c0ffee000002 '' then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.\\"ID\\", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control)"]], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_versions_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_winners_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_new_events or num_snapshot_versions)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_new_events or num_snapshot_versions)
merge into shop.customers as tgt using (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
        cast(null as VARCHAR(16777216)) as "OPERATION",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    with gone (place) as (
    select coalesce(cast(length(cast(won."ID" as varchar)) as varchar) || ':' || cast(won."ID" as varchar), '-') from shop."customers__auto_cdc_winners_c0ffee000002" as won
    )
    select * from gone
    ) as gone where place is not null
    union all
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
        cast(row_born."OPERATION" as VARCHAR(16777216)) as "OPERATION",
        coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born."ID",
        born."NAME",
        born."NOTE",
        born."OPERATION"
    from (
    with born ("ID", "NAME", "NOTE", "OPERATION") as (
    select "ID", "NAME", "NOTE", "OPERATION" from shop."customers__auto_cdc_winners_c0ffee000002" where __auto_cdc_kind = 'upsert'
    )
    select * from born
    ) as born
    ) as row_born
) as changes
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select "ID", "NAME", "NOTE", "OPERATION", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
        cast(null as VARCHAR(16777216)) as "OPERATION",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    with gone (place) as (
    select coalesce(cast(length(cast(won."ID" as varchar)) as varchar) || ':' || cast(won."ID" as varchar), '-') from shop."customers__auto_cdc_winners_c0ffee000002" as won
    )
    select * from gone
    ) as gone where place is not null
    union all
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
        cast(row_born."OPERATION" as VARCHAR(16777216)) as "OPERATION",
        coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born."ID",
        born."NAME",
        born."NOTE",
        born."OPERATION"
    from (
    with born ("ID", "NAME", "NOTE", "OPERATION") as (
    select "ID", "NAME", "NOTE", "OPERATION" from shop."customers__auto_cdc_winners_c0ffee000002" where __auto_cdc_kind = 'upsert'
    )
    select * from born
    ) as born
    ) as row_born
) as changes
where __auto_cdc_action = 'born'
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", "NAME", "NOTE", "OPERATION") values (src."ID", src."NAME", src."NOTE", src."OPERATION");

-- change shop.customers__auto_cdc  (only if num_new_events or num_snapshot_versions)
merge into shop.customers__auto_cdc as tgt using (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    cast(null as varchar) as __auto_cdc_kind,
    cast(null as varchar) as __auto_cdc_control,
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from shop."customers__auto_cdc_companion_changes_c0ffee000002"
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action
from shop."customers__auto_cdc_companion_changes_c0ffee000002"
where __auto_cdc_action = 'born'
union all
select "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action
from shop."customers__auto_cdc_companion_changes_c0ffee000002"
where __auto_cdc_action = 'ended'
union all
select "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, coalesce(cast(length(cast(own."ID" as varchar)) as varchar) || ':' || cast(own."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, own.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, own.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(own.__auto_cdc_kind as varchar), '-'), 'done' as __auto_cdc_action
from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_versions_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_winners_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}' as __auto_cdc_control
) as own
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(tgt.__auto_cdc_kind as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'ended' then update set __auto_cdc_sequence = src.__auto_cdc_sequence
when matched and src.__auto_cdc_action = 'done' and tgt.__auto_cdc_kind = 'journal' and substr(tgt.__auto_cdc_control, 1, 13) = 'c0ffee000002 ' then update set __auto_cdc_control = src.__auto_cdc_control
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src."ID", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control);

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_versions_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_winners_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_companion_changes_c0ffee000002";

-- cross it off  (only if num_new_events or num_snapshot_versions)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';
