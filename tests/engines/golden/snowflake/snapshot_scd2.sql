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

-- find the keys that move
create or replace transient table shop."customers__auto_cdc_moving_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with total as (
    select count(__auto_cdc_place) as places from shop."customers__auto_cdc_versions_c0ffee000002"
),
alike as (
    select stg."ID", count(*) as __auto_cdc_copies, sum(ver.__auto_cdc_weight) as __auto_cdc_weight
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg left join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
    where (select places from total) > 1
    group by stg."ID", stg."NAME", stg."NOTE", stg."OPERATION"
)
select alike."ID"
from alike cross join total
where total.places between 2 and 50
group by alike."ID" having not (count(*) = 1 and max(__auto_cdc_copies) = max(total.places) and max(__auto_cdc_weight) = max(power(2.0, total.places) - 1))
) as src;

-- find the keys that move among many  (only if num_crowds_of_versions)
insert into shop."customers__auto_cdc_moving_c0ffee000002" ("ID", __auto_cdc_row)
select src.*, uuid_string() as __auto_cdc_row
from (
with total as (
    select count(__auto_cdc_place) as places from shop."customers__auto_cdc_versions_c0ffee000002"
),
alike as (
    select stg."ID", count(*) as __auto_cdc_copies, count(distinct ver.__auto_cdc_place) as __auto_cdc_weight
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg left join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
    where (select places from total) > 1
    group by stg."ID", stg."NAME", stg."NOTE", stg."OPERATION"
)
select alike."ID"
from alike cross join total
group by alike."ID" having not (count(*) = 1 and max(__auto_cdc_copies) = max(total.places) and max(__auto_cdc_weight) = max(total.places))
) as src;

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
    join shop."customers__auto_cdc_moving_c0ffee000002" as moving on moving."ID" = stg."ID"
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

-- compare the snapshots
create or replace transient table shop."customers__auto_cdc_events_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with present as (
    select
        stg."ID" as "ID",
        stg."NAME" as "NAME",
        stg."NOTE" as "NOTE",
        stg."OPERATION" as "OPERATION",
        ver.__auto_cdc_place
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg
    join shop."customers__auto_cdc_moving_c0ffee000002" as moving on moving."ID" = stg."ID"
    join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
),
past as (
    select now."ID", now."NAME", now."NOTE", now."OPERATION", now.__auto_cdc_place + 1 as __auto_cdc_place from present as now
    where now.__auto_cdc_place < (select max(__auto_cdc_place) from shop."customers__auto_cdc_versions_c0ffee000002")
),
differing as (
    select
        coalesce(now."ID", past."ID") as "ID",
        now."NAME",
        now."NOTE",
        now."OPERATION",
        coalesce(now.__auto_cdc_place, past.__auto_cdc_place) as __auto_cdc_place,
        case when now."ID" is null then 'delete' else 'upsert' end as __auto_cdc_kind
    from present as now
    full join past on past."ID" = now."ID" and past.__auto_cdc_place = now.__auto_cdc_place
    where now."ID" is null or past."ID" is null or now."NAME" is distinct from past."NAME" or now."NOTE" is distinct from past."NOTE" or now."OPERATION" is distinct from past."OPERATION"
)
select
    evt."ID",
    evt."NAME",
    evt."NOTE",
    evt."OPERATION",
    ver.__auto_cdc_sequence,
    evt.__auto_cdc_kind
from differing as evt
join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_place = evt.__auto_cdc_place
) as src;

-- cut the touched timelines into runs
create or replace transient table shop."customers__auto_cdc_timeline_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with ordered as (
    select * from (
        select
            evt.__auto_cdc_row as __auto_cdc_event,
            evt."ID",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
            lag(evt.__auto_cdc_kind) over (partition by evt."ID" order by evt.__auto_cdc_sequence) as __auto_cdc_previous,
            lag(evt.__auto_cdc_row) over (partition by evt."ID" order by evt.__auto_cdc_sequence) as __auto_cdc_previous_event,
            lag(evt.__auto_cdc_sequence) over (partition by evt."ID" order by evt.__auto_cdc_sequence) as __auto_cdc_previous_sequence
        from shop."customers__auto_cdc_events_c0ffee000002" as evt
    ) as neighbours
    where __auto_cdc_previous_sequence is null or __auto_cdc_previous_sequence <> __auto_cdc_sequence
),
differing as (
    select pair.__auto_cdc_event
    from (
        select __auto_cdc_event, __auto_cdc_previous_event from ordered
        where __auto_cdc_kind = 'upsert' and __auto_cdc_previous = 'upsert'
    ) as pair
    join (select __auto_cdc_row as __auto_cdc_event, "NAME", "OPERATION" from shop."customers__auto_cdc_events_c0ffee000002") as this on this.__auto_cdc_event = pair.__auto_cdc_event
    left join (select __auto_cdc_row as __auto_cdc_event, "NAME", "OPERATION" from shop."customers__auto_cdc_events_c0ffee000002") as that on that.__auto_cdc_event = pair.__auto_cdc_previous_event
    where this."NAME" is distinct from that."NAME" or this."OPERATION" is distinct from that."OPERATION"
),
marked as (
    select
        evt.__auto_cdc_event,
        evt."ID",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        evt.__auto_cdc_kind = 'upsert' and (__auto_cdc_previous is null or __auto_cdc_previous = 'delete' or differing.__auto_cdc_event is not null) as __auto_cdc_opens,
        evt.__auto_cdc_kind = 'delete' and coalesce(__auto_cdc_previous = 'upsert', false) as __auto_cdc_closes
    from ordered as evt
    left join differing on differing.__auto_cdc_event = evt.__auto_cdc_event
),
bounded as (
    select
        marked.*,
        lead(__auto_cdc_sequence) over (partition by "ID" order by __auto_cdc_sequence) as __auto_cdc_next,
        __auto_cdc_kind = 'upsert' and coalesce(
            lead(__auto_cdc_opens or __auto_cdc_kind = 'delete') over (partition by "ID" order by __auto_cdc_sequence), true
        ) as __auto_cdc_last,
        max(case when __auto_cdc_opens then __auto_cdc_sequence end) over (partition by "ID" order by __auto_cdc_sequence rows between unbounded preceding and current row) as __auto_cdc_started
    from marked
)
select
    evt.__auto_cdc_event,
    evt."ID",
    evt.__auto_cdc_sequence,
    evt.__auto_cdc_kind,
    evt.__auto_cdc_last,
    case when evt.__auto_cdc_kind = 'upsert' then evt.__auto_cdc_started end as __auto_cdc_run_start,
    case when evt.__auto_cdc_last then evt.__auto_cdc_next end as __auto_cdc_run_end,
    ((evt.__auto_cdc_kind = 'delete' and not evt.__auto_cdc_closes) or (evt.__auto_cdc_kind = 'upsert' and not evt.__auto_cdc_opens) or (evt.__auto_cdc_opens and not evt.__auto_cdc_last)) as __auto_cdc_hides,
    false as __auto_cdc_same
from bounded as evt
) as src;

-- create the companion
create table shop.customers__auto_cdc (
    "ID" NUMBER(38,0),
    __auto_cdc_sequence TIMESTAMP_NTZ(9),
    __auto_cdc_kind varchar,
    __auto_cdc_run_start TIMESTAMP_NTZ(9),
    "NOTE" VARCHAR(16777216),
    __auto_cdc_control varchar
) cluster by ("ID");

-- create the companion
insert into shop.customers__auto_cdc ("ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, "NOTE", __auto_cdc_control)
select whose."ID", whose.__auto_cdc_sequence, whose.__auto_cdc_kind, whose.__auto_cdc_run_start, whose."NOTE", whose.__auto_cdc_control from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as VARCHAR(16777216)) as "NOTE",
    'c0ffee000002' as __auto_cdc_control
) as whose
where not exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal');

-- create the target
create or replace table shop.customers (
    "ID" NUMBER(38,0),
    "NAME" VARCHAR(16777216),
    "NOTE" VARCHAR(16777216),
    "OPERATION" VARCHAR(16777216),
    "__START_AT" TIMESTAMP_NTZ(9),
    "__END_AT" TIMESTAMP_NTZ(9)
) cluster by (id);

-- create the target
insert into shop.customers ("ID", "NAME", "NOTE", "OPERATION", "__START_AT", "__END_AT")
select * from (
with written as (
    select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
    from shop."customers__auto_cdc_timeline_c0ffee000002"
    where __auto_cdc_last and not __auto_cdc_same
)
select evt."ID", evt."NAME", evt."NOTE", evt."OPERATION", run.__auto_cdc_run_start as "__START_AT", run.__auto_cdc_run_end as "__END_AT"
from shop."customers__auto_cdc_events_c0ffee000002" as evt
join written as run on run.__auto_cdc_event = evt.__auto_cdc_row
) as moved
union all
select __auto_cdc_around."ID", __auto_cdc_around."NAME", __auto_cdc_around."NOTE", __auto_cdc_around."OPERATION", __auto_cdc_around.__auto_cdc_sequence as "__START_AT",
    cast(null as TIMESTAMP_NTZ(9)) as "__END_AT"
from shop."customers__auto_cdc_stage_c0ffee000002" as __auto_cdc_around
where __auto_cdc_around.__auto_cdc_sequence = (select min(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place = 1)
and not exists (select 1 from shop."customers__auto_cdc_moving_c0ffee000002" as moving where moving."ID" = __auto_cdc_around."ID");

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told."ID", told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_run_start, told."NOTE", told.__auto_cdc_control from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as VARCHAR(16777216)) as "NOTE",
    '{"change_data_feed": false, "engine": "Snowflake", "format": 1, "key_types": ["NUMBER(38,0)"], "keys": ["id"], "materialized": "auto_cdc_snapshot", "once": [], "scd_type": "2", "sequence_type": "TIMESTAMP_NTZ(9)", "system_type": "", "track_history": ["except", "note"], "truncates": false}' as __auto_cdc_control
union all
select more.*, null as __auto_cdc_control from (
select cast(null as NUMBER(38,0)) as "ID", max(__auto_cdc_sequence) as __auto_cdc_sequence, 'snapshot' as __auto_cdc_kind, cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start, cast(null as VARCHAR(16777216)) as "NOTE"
from shop."customers__auto_cdc_versions_c0ffee000002"
) as more
union all
select more.*, null as __auto_cdc_control from (
select cast(null as NUMBER(38,0)) as "ID", __auto_cdc_sequence as __auto_cdc_sequence, cast(null as varchar) as __auto_cdc_kind, cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start, cast(null as VARCHAR(16777216)) as "NOTE"
from shop."customers__auto_cdc_versions_c0ffee000002"
) as more
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
union all
select told."ID", told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_run_start, told."NOTE", told.__auto_cdc_control from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as VARCHAR(16777216)) as "NOTE",
    'c0ffee000002' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
) as src
on tgt.__auto_cdc_kind = src.__auto_cdc_kind
when matched then update set __auto_cdc_control = src.__auto_cdc_control
when not matched then insert ("ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, "NOTE", __auto_cdc_control) values (src."ID", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_run_start, src."NOTE", src.__auto_cdc_control);

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_versions_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_moving_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_events_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_timeline_c0ffee000002";

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
    select tgt."ID", tgt."NAME", tgt."NOTE", tgt."OPERATION", coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar), '-') as __auto_cdc_locator from shop.customers as tgt where tgt."__END_AT" is null
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
        coalesce(src.__auto_cdc_is_new and past.__auto_cdc_locator is not null and not (src."NAME" is distinct from past."NAME") and not (src."NOTE" is distinct from past."NOTE") and not (src."OPERATION" is distinct from past."OPERATION"), false) as __auto_cdc_same,
        coalesce(src.__auto_cdc_is_new and past.__auto_cdc_locator is not null and not (src."NAME" is distinct from past."NAME") and not (src."OPERATION" is distinct from past."OPERATION"), false) as __auto_cdc_continues
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
    __auto_cdc_continues,
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

-- find the keys that move  (only if num_several_versions)
create or replace transient table shop."customers__auto_cdc_moving_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with total as (
    select count(__auto_cdc_place) as places from shop."customers__auto_cdc_versions_c0ffee000002"
),
alike as (
    select stg."ID", stg.__auto_cdc_same, count(*) as __auto_cdc_copies, sum(ver.__auto_cdc_weight) as __auto_cdc_weight
    from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new or not __auto_cdc_is_read) as stg left join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
    where (select places from total) > 1
    group by stg."ID", stg.__auto_cdc_same
)
select alike."ID"
from alike cross join total
where total.places between 2 and 50
group by alike."ID" having not (count(*) = 1 and max(__auto_cdc_copies) = max(total.places) and max(__auto_cdc_weight) = max(power(2.0, total.places) - 1) and min(case when __auto_cdc_same then 1 else 0 end) = 1)
) as src;

-- find the keys that move among many  (only if num_crowds_of_versions)
insert into shop."customers__auto_cdc_moving_c0ffee000002" ("ID", __auto_cdc_row)
select src.*, uuid_string() as __auto_cdc_row
from (
with total as (
    select count(__auto_cdc_place) as places from shop."customers__auto_cdc_versions_c0ffee000002"
),
alike as (
    select stg."ID", stg.__auto_cdc_same, count(*) as __auto_cdc_copies, count(distinct ver.__auto_cdc_place) as __auto_cdc_weight
    from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new or not __auto_cdc_is_read) as stg left join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
    where (select places from total) > 1
    group by stg."ID", stg.__auto_cdc_same
)
select alike."ID"
from alike cross join total
group by alike."ID" having not (count(*) = 1 and max(__auto_cdc_copies) = max(total.places) and max(__auto_cdc_weight) = max(total.places) and min(case when __auto_cdc_same then 1 else 0 end) = 1)
) as src;

-- check the snapshot  (only if num_at_most_one_version)
with counted as (
    select
        count(case when __auto_cdc_is_read then 1 end) as num_read_rows,
        count(case when __auto_cdc_is_read then __auto_cdc_locator end) as paired,
        (select count(*) from (select tgt."ID" from shop.customers as tgt where tgt."__END_AT" is null) as standing)
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
        (select count(*) from (select tgt."ID" from shop.customers as tgt where tgt."__END_AT" is null) as standing)
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
    join shop."customers__auto_cdc_moving_c0ffee000002" as moving on moving."ID" = stg."ID"
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

-- count the differences  (only if num_single_versions)
with counted as (
    select count(*) as events, count(case when evt.__auto_cdc_kind = 'upsert' then 1 end) as born, count(case when not evt.__auto_cdc_continues then evt.__auto_cdc_locator end) as ended, count(case when evt.__auto_cdc_continues then evt.__auto_cdc_locator end) as rewritten from (
        select
            stg."ID" as "ID",
            stg."NAME" as "NAME",
            stg."NOTE" as "NOTE",
            stg."OPERATION" as "OPERATION",
            (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null) as __auto_cdc_sequence,
            case when stg.__auto_cdc_is_read then 'upsert' else 'delete' end as __auto_cdc_kind,
            stg.__auto_cdc_locator,
            stg.__auto_cdc_continues
        from shop."customers__auto_cdc_stage_c0ffee000002" as stg
        where (stg.__auto_cdc_is_new and not stg.__auto_cdc_same) or not stg.__auto_cdc_is_read
    ) as evt
),
by_hand as (
    select count(*) as num_later_bounds from shop.customers as tgt where tgt."__START_AT" >= (select min(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place = 1) or tgt."__END_AT" >= (select min(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place = 1)
),
touched as (
    select distinct "ID" from (
        select
            stg."ID" as "ID",
            stg."NAME" as "NAME",
            stg."NOTE" as "NOTE",
            stg."OPERATION" as "OPERATION",
            (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null) as __auto_cdc_sequence,
            case when stg.__auto_cdc_is_read then 'upsert' else 'delete' end as __auto_cdc_kind,
            stg.__auto_cdc_locator,
            stg.__auto_cdc_continues
        from shop."customers__auto_cdc_stage_c0ffee000002" as stg
        where (stg.__auto_cdc_is_new and not stg.__auto_cdc_same) or not stg.__auto_cdc_is_read
    ) as evt where __auto_cdc_locator is not null
),
met as (
    select count(*) as met, count(tgt."__START_AT") as started, (select count(*) from touched) as touched
    from shop.customers as tgt join touched on touched."ID" = tgt."ID"
    where tgt."__END_AT" is null
)
select case when events > 0 then by_hand.num_later_bounds else 0 end as num_later_bounds,
    case when by_hand.num_later_bounds = 0 and ended + rewritten = met and met = started and met = touched then 0 else events end as num_new_events,
    case when by_hand.num_later_bounds = 0 and ended + rewritten = met and met = started and met = touched then ended else 0 end as num_plain_ends,
    case when by_hand.num_later_bounds = 0 and ended + rewritten = met and met = started and met = touched then rewritten else 0 end as num_plain_rewrites,
    case when by_hand.num_later_bounds = 0 and ended + rewritten = met and met = started and met = touched then born else 0 end as num_plain_rows,
    case when by_hand.num_later_bounds = 0 and ended + rewritten = met and met = started and met = touched then ended + born else 0 end as num_upserted_rows
from counted cross join by_hand cross join met;

-- keep what differs from the target  (only if num_new_events)
create or replace transient table shop."customers__auto_cdc_events_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select
    stg."ID" as "ID",
    stg."NAME" as "NAME",
    stg."NOTE" as "NOTE",
    stg."OPERATION" as "OPERATION",
    (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null) as __auto_cdc_sequence,
    case when stg.__auto_cdc_is_read then 'upsert' else 'delete' end as __auto_cdc_kind,
    stg.__auto_cdc_locator,
    stg.__auto_cdc_continues
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
where (stg.__auto_cdc_is_new and not stg.__auto_cdc_same) or not stg.__auto_cdc_is_read
) as src;

-- compare the snapshots  (only if num_several_versions)
create or replace transient table shop."customers__auto_cdc_events_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with past_rows as (
    select tgt."ID", tgt."NAME", tgt."NOTE", tgt."OPERATION", coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar), '-') as __auto_cdc_locator from shop.customers as tgt where tgt."__END_AT" is null
),
moving_rows as (
    select stg.* from past_rows as stg
    join shop."customers__auto_cdc_moving_c0ffee000002" as moving on moving."ID" = stg."ID"
),
present as (
    select
        stg."ID" as "ID",
        case when stg.__auto_cdc_same then standing."NAME" else stg."NAME" end as "NAME",
        case when stg.__auto_cdc_same then standing."NOTE" else stg."NOTE" end as "NOTE",
        case when stg.__auto_cdc_same then standing."OPERATION" else stg."OPERATION" end as "OPERATION",
        ver.__auto_cdc_place
    from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as stg
    join shop."customers__auto_cdc_moving_c0ffee000002" as moving on moving."ID" = stg."ID"
    join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_sequence = stg.__auto_cdc_sequence
    left join moving_rows as standing on standing.__auto_cdc_locator = stg.__auto_cdc_locator
),
past as (
    select now."ID", now."NAME", now."NOTE", now."OPERATION", now.__auto_cdc_place + 1 as __auto_cdc_place from present as now
    where now.__auto_cdc_place < (select max(__auto_cdc_place) from shop."customers__auto_cdc_versions_c0ffee000002")
    union all
    select "ID", "NAME", "NOTE", "OPERATION", 1 as __auto_cdc_place from moving_rows
),
differing as (
    select
        coalesce(now."ID", past."ID") as "ID",
        now."NAME",
        now."NOTE",
        now."OPERATION",
        coalesce(now.__auto_cdc_place, past.__auto_cdc_place) as __auto_cdc_place,
        case when now."ID" is null then 'delete' else 'upsert' end as __auto_cdc_kind
    from present as now
    full join past on past."ID" = now."ID" and past.__auto_cdc_place = now.__auto_cdc_place
    where now."ID" is null or past."ID" is null or now."NAME" is distinct from past."NAME" or now."NOTE" is distinct from past."NOTE" or now."OPERATION" is distinct from past."OPERATION"
)
select
    evt."ID",
    evt."NAME",
    evt."NOTE",
    evt."OPERATION",
    ver.__auto_cdc_sequence,
    evt.__auto_cdc_kind
from differing as evt
join shop."customers__auto_cdc_versions_c0ffee000002" as ver on ver.__auto_cdc_place = evt.__auto_cdc_place
) as src;

-- count the differences  (only if num_several_versions)
with counted as (
    select count(*) as events from shop."customers__auto_cdc_events_c0ffee000002" as evt
),
by_hand as (
    select count(*) as num_later_bounds from shop.customers as tgt where tgt."__START_AT" >= (select min(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place = 1) or tgt."__END_AT" >= (select min(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place = 1)
)
select case when events > 0 then by_hand.num_later_bounds else 0 end as num_later_bounds, counted.events as num_new_events
from counted cross join by_hand;

-- find the versions of the keys  (only if num_new_events)
create or replace transient table shop."customers__auto_cdc_stored_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select tgt."ID",
    tgt."__START_AT" as __auto_cdc_sequence, tgt."__END_AT" as __auto_cdc_old_end, coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar), '-') as __auto_cdc_locator
from shop.customers as tgt
join (select distinct "ID" from shop."customers__auto_cdc_events_c0ffee000002") as evt on evt."ID" = tgt."ID"
where tgt."__END_AT" is null or tgt."__END_AT" >= (select min(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place = 1)
) as src;

-- leave out what a bound says already  (only if num_later_bounds)
merge into shop."customers__auto_cdc_events_c0ffee000002" as tgt using (
select distinct "ID", __auto_cdc_sequence from (
select "ID", __auto_cdc_sequence from shop."customers__auto_cdc_stored_c0ffee000002"
union all
select "ID", __auto_cdc_old_end as __auto_cdc_sequence from shop."customers__auto_cdc_stored_c0ffee000002"
) as found
) as gone
on tgt."ID" = gone."ID" and tgt.__auto_cdc_sequence = gone.__auto_cdc_sequence
when matched then delete;

-- line up the events of the touched keys  (only if num_new_events)
create or replace transient table shop."customers__auto_cdc_line_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with touched as (
    select "ID", min(__auto_cdc_sequence) as __auto_cdc_first
    from shop."customers__auto_cdc_events_c0ffee000002" group by "ID"
),
reached as (
    select past."ID", past.__auto_cdc_sequence, past.__auto_cdc_old_end, past.__auto_cdc_locator
    from shop."customers__auto_cdc_stored_c0ffee000002" as past
    join touched on touched."ID" = past."ID"
    where past.__auto_cdc_old_end is null or past.__auto_cdc_old_end > touched.__auto_cdc_first
),
affected as (
    select
        tgt."ID",
        tgt."NAME",
        tgt."NOTE",
        tgt."OPERATION",
        reached.__auto_cdc_sequence,
        reached.__auto_cdc_old_end,
        reached.__auto_cdc_locator
    from shop.customers as tgt
    join reached on reached.__auto_cdc_locator = coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar), '-')
),
inside as (
    select
        cmp."ID",
        cmp.__auto_cdc_sequence,
        cmp.__auto_cdc_run_start,
        cmp."NOTE",
        coalesce(cast(length(cast(cmp."ID" as varchar)) as varchar) || ':' || cast(cmp."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, cmp.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, cmp.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, cmp.__auto_cdc_run_start) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, cmp.__auto_cdc_run_start) as varchar), '-') || coalesce(cast(length(cast(cmp.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(cmp.__auto_cdc_kind as varchar), '-') as __auto_cdc_hidden
    from shop.customers__auto_cdc as cmp
    join affected on affected."ID" = cmp."ID" and affected.__auto_cdc_sequence = cmp.__auto_cdc_run_start
        and (affected.__auto_cdc_old_end is null or cmp.__auto_cdc_sequence < affected.__auto_cdc_old_end)
    where cmp.__auto_cdc_kind = 'upsert'
),
latest as (
    select "ID", __auto_cdc_run_start, max(__auto_cdc_sequence) as __auto_cdc_latest
    from inside group by "ID", __auto_cdc_run_start
)
select
    evt."ID" as "ID",
    evt."NAME" as "NAME",
    evt."NOTE" as "NOTE",
    evt."OPERATION" as "OPERATION",
    evt.__auto_cdc_sequence as __auto_cdc_sequence,
    evt.__auto_cdc_kind as __auto_cdc_kind,
    cast(null as varchar) as __auto_cdc_locator,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_old_end,
    cast(null as varchar) as __auto_cdc_hidden,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as varchar) as __auto_cdc_shows
from shop."customers__auto_cdc_events_c0ffee000002" as evt
union all
select
    tgt."ID" as "ID",
    tgt."NAME" as "NAME",
    case when first.__auto_cdc_hidden is null then tgt."NOTE" else first."NOTE" end as "NOTE",
    tgt."OPERATION" as "OPERATION",
    tgt.__auto_cdc_sequence as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind,
    tgt.__auto_cdc_locator as __auto_cdc_locator,
    tgt.__auto_cdc_old_end as __auto_cdc_old_end,
    first.__auto_cdc_hidden as __auto_cdc_hidden,
    first.__auto_cdc_run_start as __auto_cdc_run_start,
    case when latest.__auto_cdc_latest is null or latest.__auto_cdc_latest = tgt.__auto_cdc_sequence then tgt.__auto_cdc_locator end as __auto_cdc_shows
from affected as tgt
left join inside as first on first."ID" = tgt."ID" and first.__auto_cdc_sequence = tgt.__auto_cdc_sequence
left join latest on latest."ID" = tgt."ID" and latest.__auto_cdc_run_start = tgt.__auto_cdc_sequence
union all
select
    tgt."ID" as "ID",
    tgt."NAME" as "NAME",
    case when cmp.__auto_cdc_sequence = latest.__auto_cdc_latest then tgt."NOTE" else cmp."NOTE" end as "NOTE",
    tgt."OPERATION" as "OPERATION",
    cmp.__auto_cdc_sequence as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind,
    cast(null as varchar) as __auto_cdc_locator,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_old_end,
    cmp.__auto_cdc_hidden as __auto_cdc_hidden,
    cmp.__auto_cdc_run_start as __auto_cdc_run_start,
    case when cmp.__auto_cdc_sequence = latest.__auto_cdc_latest then tgt.__auto_cdc_locator end as __auto_cdc_shows
from inside as cmp
join affected as tgt on tgt."ID" = cmp."ID" and tgt.__auto_cdc_sequence = cmp.__auto_cdc_run_start
join latest on latest."ID" = cmp."ID" and latest.__auto_cdc_run_start = cmp.__auto_cdc_run_start
where cmp.__auto_cdc_sequence > cmp.__auto_cdc_run_start
union all
select
    __auto_cdc_around."ID" as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    __auto_cdc_around.__auto_cdc_old_end as __auto_cdc_sequence,
    'delete' as __auto_cdc_kind,
    cast(null as varchar) as __auto_cdc_locator,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_old_end,
    cast(null as varchar) as __auto_cdc_hidden,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as varchar) as __auto_cdc_shows
from affected as __auto_cdc_around
where __auto_cdc_around.__auto_cdc_old_end is not null and not exists (
    select 1 from reached as next where next."ID" = __auto_cdc_around."ID" and next.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_old_end
)
union all
select
    __auto_cdc_around."ID" as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    __auto_cdc_around.__auto_cdc_sequence as __auto_cdc_sequence,
    'delete' as __auto_cdc_kind,
    cast(null as varchar) as __auto_cdc_locator,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_old_end,
    coalesce(cast(length(cast(__auto_cdc_around."ID" as varchar)) as varchar) || ':' || cast(__auto_cdc_around."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, __auto_cdc_around.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, __auto_cdc_around.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, __auto_cdc_around.__auto_cdc_run_start) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, __auto_cdc_around.__auto_cdc_run_start) as varchar), '-') || coalesce(cast(length(cast(__auto_cdc_around.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(__auto_cdc_around.__auto_cdc_kind as varchar), '-') as __auto_cdc_hidden,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as varchar) as __auto_cdc_shows
from shop.customers__auto_cdc as __auto_cdc_around
join touched on touched."ID" = __auto_cdc_around."ID" and __auto_cdc_around.__auto_cdc_sequence > touched.__auto_cdc_first
where __auto_cdc_around.__auto_cdc_kind = 'delete' and not exists (
    select 1 from reached where reached."ID" = __auto_cdc_around."ID" and reached.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_sequence
)
) as src;

-- cut the touched timelines into runs  (only if num_new_events)
create or replace transient table shop."customers__auto_cdc_timeline_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with ordered as (
    select * from (
        select
            evt.__auto_cdc_row as __auto_cdc_event,
            evt."ID",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        evt.__auto_cdc_locator,
        evt.__auto_cdc_old_end,
        evt.__auto_cdc_hidden,
        evt.__auto_cdc_run_start,
        evt.__auto_cdc_shows,
            lag(evt.__auto_cdc_kind) over (partition by evt."ID" order by evt.__auto_cdc_sequence, case when evt.__auto_cdc_hidden is null then 1 else 0 end) as __auto_cdc_previous,
            lag(evt.__auto_cdc_row) over (partition by evt."ID" order by evt.__auto_cdc_sequence, case when evt.__auto_cdc_hidden is null then 1 else 0 end) as __auto_cdc_previous_event,
            lag(evt.__auto_cdc_sequence) over (partition by evt."ID" order by evt.__auto_cdc_sequence, case when evt.__auto_cdc_hidden is null then 1 else 0 end) as __auto_cdc_previous_sequence
        from shop."customers__auto_cdc_line_c0ffee000002" as evt
    ) as neighbours
    where __auto_cdc_previous_sequence is null or __auto_cdc_previous_sequence <> __auto_cdc_sequence
),
differing as (
    select pair.__auto_cdc_event
    from (
        select __auto_cdc_event, __auto_cdc_previous_event from ordered
        where __auto_cdc_kind = 'upsert' and __auto_cdc_previous = 'upsert'
    ) as pair
    join (select __auto_cdc_row as __auto_cdc_event, "NAME", "OPERATION" from shop."customers__auto_cdc_line_c0ffee000002") as this on this.__auto_cdc_event = pair.__auto_cdc_event
    left join (select __auto_cdc_row as __auto_cdc_event, "NAME", "OPERATION" from shop."customers__auto_cdc_line_c0ffee000002") as that on that.__auto_cdc_event = pair.__auto_cdc_previous_event
    where this."NAME" is distinct from that."NAME" or this."OPERATION" is distinct from that."OPERATION"
),
marked as (
    select
        evt.__auto_cdc_event,
        evt."ID",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        evt.__auto_cdc_locator,
        evt.__auto_cdc_old_end,
        evt.__auto_cdc_hidden,
        evt.__auto_cdc_run_start,
        evt.__auto_cdc_shows,
        evt.__auto_cdc_kind = 'upsert' and (__auto_cdc_previous is null or __auto_cdc_previous = 'delete' or differing.__auto_cdc_event is not null) as __auto_cdc_opens,
        evt.__auto_cdc_kind = 'delete' and coalesce(__auto_cdc_previous = 'upsert', false) as __auto_cdc_closes
    from ordered as evt
    left join differing on differing.__auto_cdc_event = evt.__auto_cdc_event
),
bounded as (
    select
        marked.*,
        lead(__auto_cdc_sequence) over (partition by "ID" order by __auto_cdc_sequence) as __auto_cdc_next,
        __auto_cdc_kind = 'upsert' and coalesce(
            lead(__auto_cdc_opens or __auto_cdc_kind = 'delete') over (partition by "ID" order by __auto_cdc_sequence), true
        ) as __auto_cdc_last,
        max(case when __auto_cdc_opens then __auto_cdc_sequence end) over (partition by "ID" order by __auto_cdc_sequence rows between unbounded preceding and current row) as __auto_cdc_started
    from marked
)
select
    evt.__auto_cdc_event,
    evt."ID",
    evt.__auto_cdc_sequence,
    evt.__auto_cdc_kind,
    evt.__auto_cdc_last,
    case when evt.__auto_cdc_kind = 'upsert' then evt.__auto_cdc_started end as __auto_cdc_run_start,
    case when evt.__auto_cdc_last then evt.__auto_cdc_next end as __auto_cdc_run_end,
    ((evt.__auto_cdc_kind = 'delete' and not evt.__auto_cdc_closes) or (evt.__auto_cdc_kind = 'upsert' and not evt.__auto_cdc_opens) or (evt.__auto_cdc_opens and not evt.__auto_cdc_last)) as __auto_cdc_hides,
    evt.__auto_cdc_locator,
    evt.__auto_cdc_old_end,
    evt.__auto_cdc_hidden,
    evt.__auto_cdc_run_start as __auto_cdc_was_in,
    past.__auto_cdc_locator as __auto_cdc_replaces,
    coalesce(past.__auto_cdc_locator is not null and (evt.__auto_cdc_shows = past.__auto_cdc_locator or (not (this."NOTE" is distinct from shown."NOTE"))), false) as __auto_cdc_same,
    evt.__auto_cdc_next is distinct from past.__auto_cdc_old_end as __auto_cdc_moved
from bounded as evt
left join bounded as past on past."ID" = evt."ID"
    and past.__auto_cdc_sequence = case when evt.__auto_cdc_last then evt.__auto_cdc_started end and past.__auto_cdc_locator is not null
left join (select __auto_cdc_row as __auto_cdc_event, "NOTE" from shop."customers__auto_cdc_line_c0ffee000002") as this
    on this.__auto_cdc_event = case when past.__auto_cdc_locator is not null then evt.__auto_cdc_event end
left join (select __auto_cdc_shows, "NOTE" from shop."customers__auto_cdc_line_c0ffee000002" where __auto_cdc_shows is not null) as shown
    on shown.__auto_cdc_shows = past.__auto_cdc_locator
) as src;

-- measure what changes  (only if num_new_events)
with stored as (
    select 'ID=' || coalesce(cast(evt."ID" as varchar), 'null') || ' from ' || coalesce(cast(evt.__auto_cdc_sequence as varchar), 'null') as example,
        evt.__auto_cdc_sequence as start_at, evt.__auto_cdc_old_end as end_at,
        lead(evt.__auto_cdc_sequence) over (partition by evt."ID" order by evt.__auto_cdc_sequence) as next_start_at
    from shop."customers__auto_cdc_line_c0ffee000002" as evt where evt.__auto_cdc_locator is not null
),
crossed as (
    select example from stored
    where start_at is null or end_at <= start_at or next_start_at < end_at
        or (end_at is null and next_start_at is not null)
),
orphaned as (
    select coalesce(cast(length(cast(__auto_cdc_around."ID" as varchar)) as varchar) || ':' || cast(__auto_cdc_around."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, __auto_cdc_around.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, __auto_cdc_around.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, __auto_cdc_around.__auto_cdc_run_start) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, __auto_cdc_around.__auto_cdc_run_start) as varchar), '-') || coalesce(cast(length(cast(__auto_cdc_around.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(__auto_cdc_around.__auto_cdc_kind as varchar), '-') as locator
    from shop.customers__auto_cdc as __auto_cdc_around
    join (select distinct "ID" from shop."customers__auto_cdc_events_c0ffee000002") as evt on evt."ID" = __auto_cdc_around."ID"
    where __auto_cdc_around.__auto_cdc_kind = 'upsert'
    and not exists (select 1 from shop."customers__auto_cdc_stored_c0ffee000002" as tgt where tgt."ID" = __auto_cdc_around."ID" and tgt.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_run_start and (tgt.__auto_cdc_old_end is null or __auto_cdc_around.__auto_cdc_sequence < tgt.__auto_cdc_old_end))
)
select
    case when false then count(case when __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved then 1 end) else 0 end as num_versions_ended_and_few,
    case when false then 0 else count(case when __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved then 1 end) end as num_versions_ended_and_many,
    case when count(case when __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved then 1 end) > 0 and false then 0 else 1 end * count(case when __auto_cdc_last and not __auto_cdc_same then 1 end) as num_versions_written,
    case when count(case when __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved then 1 end) > 0 and false then 0 else 1 end * (count(case when __auto_cdc_locator is not null then 1 end) - count(case when __auto_cdc_same then 1 end)) as num_versions_removed,
    count(case when __auto_cdc_hidden is not null and not (__auto_cdc_hides and __auto_cdc_hidden is not null and (__auto_cdc_kind = 'delete' or __auto_cdc_was_in = __auto_cdc_run_start)) then 1 end) + (select count(*) from orphaned) as num_hidden_forgotten,
    count(case when __auto_cdc_hides and not (__auto_cdc_hidden is not null and (__auto_cdc_kind = 'delete' or __auto_cdc_was_in = __auto_cdc_run_start)) then 1 end) as num_hidden_remembered,
    count(case when __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved then 1 end) + count(case when __auto_cdc_last and not __auto_cdc_same then 1 end) as num_upserted_rows,
    count(case when __auto_cdc_locator is not null then 1 end) - count(case when __auto_cdc_same then 1 end) - count(case when __auto_cdc_last and not __auto_cdc_same and __auto_cdc_replaces is not null then 1 end) as num_deleted_rows,
    (select count(*) from crossed) as crossed_versions,
    (select min(example) from crossed) as crossed_versions_example
from shop."customers__auto_cdc_timeline_c0ffee000002";

-- write down what becomes of shop.customers  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_plain_ends or num_plain_rows or num_plain_rewrites or num_snapshot_versions)
create or replace transient table shop."customers__auto_cdc_target_changes_c0ffee000002" as
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    cast(null as TIMESTAMP_NTZ(9)) as "__START_AT",
    cast(null as TIMESTAMP_NTZ(9)) as "__END_AT",
    cast(null as varchar) as __auto_cdc_locator,
    cast('' as varchar) as __auto_cdc_action,
    0 as __auto_cdc_step
from (select 1 as one) as nothing
where false
union all
-- only if num_versions_ended_and_many or num_versions_removed or num_versions_written
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    cast(null as TIMESTAMP_NTZ(9)) as "__START_AT",
    cast(value_0 as TIMESTAMP_NTZ(9)) as "__END_AT",
    place as __auto_cdc_locator,
    cast('ended' as varchar) as __auto_cdc_action,
    0 as __auto_cdc_step
from (
with ended (place, value_0) as (
select __auto_cdc_replaces as locator, __auto_cdc_run_end as value
from shop."customers__auto_cdc_timeline_c0ffee000002"
where __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved
)
select * from ended
) as ended
union all
-- only if num_versions_ended_and_many or num_versions_removed or num_versions_written
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    cast(null as TIMESTAMP_NTZ(9)) as "__START_AT",
    cast(null as TIMESTAMP_NTZ(9)) as "__END_AT",
    place as __auto_cdc_locator,
    cast('gone' as varchar) as __auto_cdc_action,
    1 as __auto_cdc_step
from (
with gone (place) as (
with kept as (
    select __auto_cdc_replaces as locator from shop."customers__auto_cdc_timeline_c0ffee000002" where __auto_cdc_same
)
select __auto_cdc_around.__auto_cdc_locator from shop."customers__auto_cdc_timeline_c0ffee000002" as __auto_cdc_around
where __auto_cdc_around.__auto_cdc_locator is not null and not exists (select 1 from kept where kept.locator = __auto_cdc_around.__auto_cdc_locator)
)
select * from gone
) as gone where place is not null
union all
-- only if num_versions_ended_and_many or num_versions_removed or num_versions_written
select
    cast(row_born."ID" as NUMBER(38,0)) as "ID",
    cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
    cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
    cast(row_born."OPERATION" as VARCHAR(16777216)) as "OPERATION",
    cast(row_born."__START_AT" as TIMESTAMP_NTZ(9)) as "__START_AT",
    cast(row_born."__END_AT" as TIMESTAMP_NTZ(9)) as "__END_AT",
    coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born."__START_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, row_born."__START_AT") as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born."__END_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, row_born."__END_AT") as varchar), '-') as __auto_cdc_locator,
    cast('born' as varchar) as __auto_cdc_action,
    2 as __auto_cdc_step
from (
select
    born."ID",
    born."NAME",
    born."NOTE",
    born."OPERATION",
    born."__START_AT",
    born."__END_AT"
from (
with born ("ID", "NAME", "NOTE", "OPERATION", "__START_AT", "__END_AT") as (
with written as (
    select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
    from shop."customers__auto_cdc_timeline_c0ffee000002"
    where __auto_cdc_last and not __auto_cdc_same
)
select evt."ID", evt."NAME", evt."NOTE", evt."OPERATION", run.__auto_cdc_run_start as "__START_AT", run.__auto_cdc_run_end as "__END_AT"
from shop."customers__auto_cdc_line_c0ffee000002" as evt
join written as run on run.__auto_cdc_event = evt.__auto_cdc_row
)
select * from born
) as born
) as row_born
union all
-- only if num_plain_ends
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    cast(null as TIMESTAMP_NTZ(9)) as "__START_AT",
    cast(value_0 as TIMESTAMP_NTZ(9)) as "__END_AT",
    place as __auto_cdc_locator,
    cast('ended' as varchar) as __auto_cdc_action,
    3 as __auto_cdc_step
from (
with ended (place, value_0) as (
select evt.__auto_cdc_locator as locator, evt.__auto_cdc_sequence as value
from (
    select
        stg."ID" as "ID",
        stg."NAME" as "NAME",
        stg."NOTE" as "NOTE",
        stg."OPERATION" as "OPERATION",
        (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null) as __auto_cdc_sequence,
        case when stg.__auto_cdc_is_read then 'upsert' else 'delete' end as __auto_cdc_kind,
        stg.__auto_cdc_locator,
        stg.__auto_cdc_continues
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg
    where (stg.__auto_cdc_is_new and not stg.__auto_cdc_same) or not stg.__auto_cdc_is_read
) as evt
where evt.__auto_cdc_locator is not null and not evt.__auto_cdc_continues
)
select * from ended
) as ended
union all
-- only if num_plain_rows
select
    cast(row_born."ID" as NUMBER(38,0)) as "ID",
    cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
    cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
    cast(row_born."OPERATION" as VARCHAR(16777216)) as "OPERATION",
    cast(row_born."__START_AT" as TIMESTAMP_NTZ(9)) as "__START_AT",
    cast(row_born."__END_AT" as TIMESTAMP_NTZ(9)) as "__END_AT",
    coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born."__START_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, row_born."__START_AT") as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born."__END_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, row_born."__END_AT") as varchar), '-') as __auto_cdc_locator,
    cast('born' as varchar) as __auto_cdc_action,
    4 as __auto_cdc_step
from (
select
    born."ID",
    born."NAME",
    born."NOTE",
    born."OPERATION",
    born."__START_AT",
    born."__END_AT"
from (
with born ("ID", "NAME", "NOTE", "OPERATION", "__START_AT", "__END_AT") as (
select evt."ID", evt."NAME", evt."NOTE", evt."OPERATION", case when evt.__auto_cdc_continues then before."__START_AT" else evt.__auto_cdc_sequence end as "__START_AT", cast(null as TIMESTAMP_NTZ(9)) as "__END_AT"
from (
    select
        stg."ID" as "ID",
        stg."NAME" as "NAME",
        stg."NOTE" as "NOTE",
        stg."OPERATION" as "OPERATION",
        (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null) as __auto_cdc_sequence,
        case when stg.__auto_cdc_is_read then 'upsert' else 'delete' end as __auto_cdc_kind,
        stg.__auto_cdc_locator,
        stg.__auto_cdc_continues
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg
    where (stg.__auto_cdc_is_new and not stg.__auto_cdc_same) or not stg.__auto_cdc_is_read
) as evt
left join shop.customers as before on coalesce(cast(length(cast(before."ID" as varchar)) as varchar) || ':' || cast(before."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, before."__START_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, before."__START_AT") as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, before."__END_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, before."__END_AT") as varchar), '-') = case when evt.__auto_cdc_continues then evt.__auto_cdc_locator end
where evt.__auto_cdc_kind = 'upsert'
)
select * from born
) as born
) as row_born
union all
-- only if num_plain_rewrites
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    cast(null as TIMESTAMP_NTZ(9)) as "__START_AT",
    cast(null as TIMESTAMP_NTZ(9)) as "__END_AT",
    place as __auto_cdc_locator,
    cast('gone' as varchar) as __auto_cdc_action,
    5 as __auto_cdc_step
from (
with gone (place) as (
select evt.__auto_cdc_locator
from (
    select
        stg."ID" as "ID",
        stg."NAME" as "NAME",
        stg."NOTE" as "NOTE",
        stg."OPERATION" as "OPERATION",
        (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null) as __auto_cdc_sequence,
        case when stg.__auto_cdc_is_read then 'upsert' else 'delete' end as __auto_cdc_kind,
        stg.__auto_cdc_locator,
        stg.__auto_cdc_continues
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg
    where (stg.__auto_cdc_is_new and not stg.__auto_cdc_same) or not stg.__auto_cdc_is_read
) as evt
where evt.__auto_cdc_continues
)
select * from gone
) as gone where place is not null;

-- write down what becomes of shop.customers__auto_cdc  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_plain_ends or num_plain_rows or num_plain_rewrites or num_snapshot_versions)
create or replace transient table shop."customers__auto_cdc_companion_changes_c0ffee000002" as
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    cast(null as varchar) as __auto_cdc_kind,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as VARCHAR(16777216)) as "NOTE",
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
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as varchar) as __auto_cdc_control,
    place as __auto_cdc_locator,
    cast('ended' as varchar) as __auto_cdc_action,
    0 as __auto_cdc_step
from (
with ended (place, value_0) as (
select coalesce(cast(length(cast(cmp."ID" as varchar)) as varchar) || ':' || cast(cmp."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, cmp.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, cmp.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, cmp.__auto_cdc_run_start) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, cmp.__auto_cdc_run_start) as varchar), '-') || coalesce(cast(length(cast(cmp.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(cmp.__auto_cdc_kind as varchar), '-') as locator, (select max(__auto_cdc_sequence) from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null) as value
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
    cast(row_born.__auto_cdc_run_start as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
    cast(row_born.__auto_cdc_control as varchar) as __auto_cdc_control,
    coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, row_born.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born.__auto_cdc_run_start) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, row_born.__auto_cdc_run_start) as varchar), '-') || coalesce(cast(length(cast(row_born.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(row_born.__auto_cdc_kind as varchar), '-') as __auto_cdc_locator,
    cast('born' as varchar) as __auto_cdc_action,
    1 as __auto_cdc_step
from (
select
    cast(null as NUMBER(38,0)) as "ID",
    born.__auto_cdc_sequence,
    cast(null as varchar) as __auto_cdc_kind,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as varchar) as __auto_cdc_control
from (
with born (__auto_cdc_sequence) as (
select __auto_cdc_sequence from shop."customers__auto_cdc_versions_c0ffee000002" where __auto_cdc_place is not null
)
select * from born
) as born
) as row_born;

-- write down what is left to do  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_plain_ends or num_plain_rows or num_plain_rewrites or num_snapshot_versions)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n    cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n    cast(null as VARCHAR(16777216)) as \\"OPERATION\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as \\"__START_AT\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as \\"__END_AT\\",\\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\nwhere __auto_cdc_action in (''gone'', ''born'')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\", \\"__START_AT\\", \\"__END_AT\\", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\\nfrom shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\nwhere __auto_cdc_action = ''born''\\nunion all\\nselect \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\", \\"__START_AT\\", \\"__END_AT\\", __auto_cdc_locator, __auto_cdc_action\\nfrom shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\nwhere __auto_cdc_action = ''ended''\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.\\"__START_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, tgt.\\"__START_AT\\") as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.\\"__END_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, tgt.\\"__END_AT\\") as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\\nwhen matched and src.__auto_cdc_action = ''ended'' then update set \\"__END_AT\\" = src.\\"__END_AT\\"\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\", \\"__START_AT\\", \\"__END_AT\\") values (src.\\"ID\\", src.\\"NAME\\", src.\\"NOTE\\", src.\\"OPERATION\\", src.\\"__START_AT\\", src.\\"__END_AT\\")"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n    cast(null as varchar) as __auto_cdc_kind,\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,\\n    cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n    cast(null as varchar) as __auto_cdc_control,\\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"\\nwhere __auto_cdc_action in (''gone'', ''born'')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, \\"NOTE\\", __auto_cdc_control, cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\\nfrom shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"\\nwhere __auto_cdc_action = ''born''\\nunion all\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, \\"NOTE\\", __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action\\nfrom shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"\\nwhere __auto_cdc_action = ''ended''\\nunion all\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, \\"NOTE\\", __auto_cdc_control, coalesce(cast(length(cast(own.\\"ID\\" as varchar)) as varchar) || '':'' || cast(own.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, own.__auto_cdc_sequence) as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, own.__auto_cdc_sequence) as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, own.__auto_cdc_run_start) as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, own.__auto_cdc_run_start) as varchar), ''-'') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(own.__auto_cdc_kind as varchar), ''-''), ''done'' as __auto_cdc_action\\nfrom (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n    ''journal'' as __auto_cdc_kind,\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,\\n    cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n    ''c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stage_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_versions_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_moving_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_events_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stored_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_line_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_timeline_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_target_changes_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_companion_changes_c0ffee000002\\\\\\\\\\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}'' as __auto_cdc_control\\n) as own\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.__auto_cdc_sequence) as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, tgt.__auto_cdc_sequence) as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.__auto_cdc_run_start) as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, tgt.__auto_cdc_run_start) as varchar), ''-'') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(tgt.__auto_cdc_kind as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\\nwhen matched and src.__auto_cdc_action = ''ended'' then update set __auto_cdc_sequence = src.__auto_cdc_sequence\\nwhen matched and src.__auto_cdc_action = ''done'' and tgt.__auto_cdc_kind = ''journal'' and substr(tgt.__auto_cdc_control, 1, 13) = ''c0ffee000002 '' then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, \\"NOTE\\", __auto_cdc_control) values (src.\\"ID\\", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_run_start, src.\\"NOTE\\", src.__auto_cdc_control)"]], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_versions_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_moving_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_stored_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_line_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_timeline_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_plain_ends or num_plain_rows or num_plain_rewrites or num_snapshot_versions)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_plain_ends or num_plain_rows or num_plain_rewrites or num_snapshot_versions)
merge into shop.customers as tgt using (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    cast(null as TIMESTAMP_NTZ(9)) as "__START_AT",
    cast(null as TIMESTAMP_NTZ(9)) as "__END_AT",
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from shop."customers__auto_cdc_target_changes_c0ffee000002"
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select "ID", "NAME", "NOTE", "OPERATION", "__START_AT", "__END_AT", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action
from shop."customers__auto_cdc_target_changes_c0ffee000002"
where __auto_cdc_action = 'born'
union all
select "ID", "NAME", "NOTE", "OPERATION", "__START_AT", "__END_AT", __auto_cdc_locator, __auto_cdc_action
from shop."customers__auto_cdc_target_changes_c0ffee000002"
where __auto_cdc_action = 'ended'
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'ended' then update set "__END_AT" = src."__END_AT"
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", "NAME", "NOTE", "OPERATION", "__START_AT", "__END_AT") values (src."ID", src."NAME", src."NOTE", src."OPERATION", src."__START_AT", src."__END_AT");

-- change shop.customers__auto_cdc  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_plain_ends or num_plain_rows or num_plain_rewrites or num_snapshot_versions)
merge into shop.customers__auto_cdc as tgt using (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    cast(null as varchar) as __auto_cdc_kind,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as varchar) as __auto_cdc_control,
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from shop."customers__auto_cdc_companion_changes_c0ffee000002"
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, "NOTE", __auto_cdc_control, cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action
from shop."customers__auto_cdc_companion_changes_c0ffee000002"
where __auto_cdc_action = 'born'
union all
select "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, "NOTE", __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action
from shop."customers__auto_cdc_companion_changes_c0ffee000002"
where __auto_cdc_action = 'ended'
union all
select "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, "NOTE", __auto_cdc_control, coalesce(cast(length(cast(own."ID" as varchar)) as varchar) || ':' || cast(own."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, own.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, own.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, own.__auto_cdc_run_start) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, own.__auto_cdc_run_start) as varchar), '-') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(own.__auto_cdc_kind as varchar), '-'), 'done' as __auto_cdc_action
from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as VARCHAR(16777216)) as "NOTE",
    'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_versions_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_moving_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_stored_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_line_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_timeline_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}' as __auto_cdc_control
) as own
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.__auto_cdc_run_start) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt.__auto_cdc_run_start) as varchar), '-') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(tgt.__auto_cdc_kind as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'ended' then update set __auto_cdc_sequence = src.__auto_cdc_sequence
when matched and src.__auto_cdc_action = 'done' and tgt.__auto_cdc_kind = 'journal' and substr(tgt.__auto_cdc_control, 1, 13) = 'c0ffee000002 ' then update set __auto_cdc_control = src.__auto_cdc_control
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, "NOTE", __auto_cdc_control) values (src."ID", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_run_start, src."NOTE", src.__auto_cdc_control);

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_versions_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_moving_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_events_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_stored_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_line_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_timeline_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_target_changes_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_companion_changes_c0ffee000002";

-- cross it off  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_plain_ends or num_plain_rows or num_plain_rewrites or num_snapshot_versions)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';
