-- auto_cdc: model customers: build the target

-- stage the model's rows
create or replace transient table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select
    src."ID" as "ID",
    src."NAME" as "NAME",
    src."NOTE" as "NOTE",
    src."CHANGED_AT" as "CHANGED_AT",
    src."CHANGED_AT" as __auto_cdc_sequence,
    case when (
    operation = 'T'
) then 'truncate' when (
    operation = 'D'
) then 'delete' else 'upsert' end as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src
) as src;

-- keep the events that are new
create or replace transient table shop."customers__auto_cdc_events_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with truncation as (
    select max(__auto_cdc_sequence) as sequence from (
    select __auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_kind = 'truncate'
    ) as truncates
)
select
    stg."ID",
    stg."NAME",
    stg."NOTE",
    stg."CHANGED_AT",
    stg.__auto_cdc_sequence,
    stg.__auto_cdc_kind
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
cross join truncation
where true and (stg.__auto_cdc_sequence is null or (stg.__auto_cdc_kind <> 'truncate' and (truncation.sequence is null or stg.__auto_cdc_sequence >= truncation.sequence or stg."ID" is null)))
) as src;

-- choose each key's greatest event
create or replace transient table shop."customers__auto_cdc_winners_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with ranked as (
    select evt.__auto_cdc_row as __auto_cdc_event, evt."ID", evt.__auto_cdc_sequence, evt.__auto_cdc_kind,
        row_number() over (partition by evt."ID" order by evt.__auto_cdc_sequence desc) as __auto_cdc_place
    from shop."customers__auto_cdc_events_c0ffee000002" as evt where true
)
select __auto_cdc_event, "ID", __auto_cdc_sequence, __auto_cdc_kind from ranked where __auto_cdc_place = 1
) as src;

-- check the events
with counted as (
    select
        count(*) as num_read_rows,
        0 as num_late_rows,
        count(case when stg.__auto_cdc_kind = 'truncate' then 1 end) as num_new_truncates
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg
),
found as (
    select
        count(*) as num_new_events,
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'ID=' || coalesce(cast(evt."ID" as varchar), 'null') end) as null_sequence_example,
        count(case when evt."ID" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."ID" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
    from shop."customers__auto_cdc_events_c0ffee000002" as evt
),
repeated as (
    select "ID", __auto_cdc_sequence from shop."customers__auto_cdc_events_c0ffee000002" as evt where __auto_cdc_kind <> 'truncate' group by "ID", __auto_cdc_sequence having count(*) > 1
),
variants as (
    select
        evt."ID",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt."NAME" end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt."NOTE" end as __auto_cdc_written_1,
        case when evt.__auto_cdc_kind = 'upsert' then evt."CHANGED_AT" end as __auto_cdc_written_2,
        count(*) as __auto_cdc_copies
    from shop."customers__auto_cdc_events_c0ffee000002" as evt
    join repeated on evt."ID" = repeated."ID" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5, 6
),
places as (
    select var."ID", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, max(case when won.__auto_cdc_sequence is null then 0 else 1 end) = 1 as __auto_cdc_decides
    from variants as var left join shop."customers__auto_cdc_winners_c0ffee000002" as won on won."ID" = var."ID" and won.__auto_cdc_sequence = var.__auto_cdc_sequence
    group by var."ID", var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'ID=' || coalesce(cast(places."ID" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) end) as num_tied_rows_example
    from places
)
select *
from counted
cross join found
cross join ties;

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
    "CHANGED_AT" TIMESTAMP_NTZ(9)
) cluster by (id);

-- create the target
insert into shop.customers ("ID", "NAME", "NOTE", "CHANGED_AT")
with upserts as (
    select __auto_cdc_event from shop."customers__auto_cdc_winners_c0ffee000002" where __auto_cdc_kind = 'upsert'
)
select evt."ID", evt."NAME", evt."NOTE", evt."CHANGED_AT"
from shop."customers__auto_cdc_events_c0ffee000002" as evt
join upserts on upserts.__auto_cdc_event = evt.__auto_cdc_row;

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told."ID", told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Snowflake", "format": 1, "key_types": ["NUMBER(38,0)"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "1", "sequence_type": "TIMESTAMP_NTZ(9)", "system_type": "", "track_history": ["all"], "truncates": true}' as __auto_cdc_control
union all
select more.*, null as __auto_cdc_control from (
select "ID", __auto_cdc_sequence, __auto_cdc_kind from shop."customers__auto_cdc_winners_c0ffee000002" as won
) as more
union all
select more.*, null as __auto_cdc_control from (
with truncation as (
    select max(__auto_cdc_sequence) as sequence from (
    select __auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_kind = 'truncate'
    ) as truncates
)
select cast(null as NUMBER(38,0)) as "ID", sequence as __auto_cdc_sequence, 'truncate' as __auto_cdc_kind from truncation where sequence is not null
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
drop table if exists shop."customers__auto_cdc_events_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_winners_c0ffee000002";

-- auto_cdc: model customers: apply the new events

-- stage the model's rows
create or replace transient table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with evaluated as (
    select
        src."ID" as "ID",
        src."NAME" as "NAME",
        src."NOTE" as "NOTE",
        src."CHANGED_AT" as "CHANGED_AT",
        src."CHANGED_AT" as __auto_cdc_sequence,
        case when (
        operation = 'T'
    ) then 'truncate' when (
        operation = 'D'
    ) then 'delete' else 'upsert' end as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
),
told as (
    select src.*, (cmp.__auto_cdc_sequence is null or src.__auto_cdc_sequence is null or src.__auto_cdc_sequence > cmp.__auto_cdc_sequence) as __auto_cdc_is_new, coalesce(src.__auto_cdc_sequence < coalesce(cmp.__auto_cdc_sequence, dump.__auto_cdc_latest), false) as __auto_cdc_is_late, case when cmp.__auto_cdc_kind is not null then coalesce(cast(length(cast(cmp."ID" as varchar)) as varchar) || ':' || cast(cmp."ID" as varchar), '-') || coalesce(cast(length(cast(cmp.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(cmp.__auto_cdc_kind as varchar), '-') end as __auto_cdc_hidden
    from evaluated as src
    left join shop.customers__auto_cdc as cmp on src."ID" = cmp."ID"
    cross join (select max(__auto_cdc_sequence) as __auto_cdc_latest from shop.customers__auto_cdc where __auto_cdc_kind = 'snapshot') as dump
)
select
    __auto_cdc_is_new,
    __auto_cdc_is_late,
    __auto_cdc_sequence,
    __auto_cdc_kind,
    case when __auto_cdc_is_new then __auto_cdc_hidden end as __auto_cdc_hidden,
    "ID",
    case when __auto_cdc_is_new then "NAME" end as "NAME",
    case when __auto_cdc_is_new then "NOTE" end as "NOTE",
    case when __auto_cdc_is_new then "CHANGED_AT" end as "CHANGED_AT"
from told
) as src;

-- keep the events that are new
create or replace transient table shop."customers__auto_cdc_events_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with truncation as (
    select max(__auto_cdc_sequence) as sequence from (
    select __auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_kind = 'truncate'
    union all
    select __auto_cdc_sequence from shop.customers__auto_cdc where __auto_cdc_kind = 'truncate'
    ) as truncates
)
select
    stg."ID",
    stg."NAME",
    stg."NOTE",
    stg."CHANGED_AT",
    stg.__auto_cdc_sequence,
    stg.__auto_cdc_kind,
    stg.__auto_cdc_hidden
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
cross join truncation
where stg.__auto_cdc_is_new and (stg.__auto_cdc_sequence is null or (stg.__auto_cdc_kind <> 'truncate' and (truncation.sequence is null or stg.__auto_cdc_sequence >= truncation.sequence or stg."ID" is null)))
) as src;

-- choose each key's greatest event
create or replace transient table shop."customers__auto_cdc_winners_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with ranked as (
    select evt.__auto_cdc_row as __auto_cdc_event, evt."ID", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden,
        row_number() over (partition by evt."ID" order by evt.__auto_cdc_sequence desc) as __auto_cdc_place
    from shop."customers__auto_cdc_events_c0ffee000002" as evt where true
)
select __auto_cdc_event, "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_hidden from ranked where __auto_cdc_place = 1
) as src;

-- check the events
with counted as (
    select
        count(*) as num_read_rows,
        count(case when __auto_cdc_is_late and __auto_cdc_kind <> 'truncate' then 1 end) as num_late_rows,
        count(case when stg.__auto_cdc_kind = 'truncate' and (known.latest is null or stg.__auto_cdc_sequence > known.latest) then 1 end) as num_new_truncates
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg
    cross join (select max(__auto_cdc_sequence) as latest from shop.customers__auto_cdc where __auto_cdc_kind = 'truncate') as known
),
found as (
    select
        count(*) as num_new_events,
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'ID=' || coalesce(cast(evt."ID" as varchar), 'null') end) as null_sequence_example,
        count(case when evt."ID" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."ID" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
    from shop."customers__auto_cdc_events_c0ffee000002" as evt
),
repeated as (
    select "ID", __auto_cdc_sequence from shop."customers__auto_cdc_events_c0ffee000002" as evt where __auto_cdc_kind <> 'truncate' group by "ID", __auto_cdc_sequence having count(*) > 1
),
variants as (
    select
        evt."ID",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt."NAME" end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt."NOTE" end as __auto_cdc_written_1,
        case when evt.__auto_cdc_kind = 'upsert' then evt."CHANGED_AT" end as __auto_cdc_written_2,
        count(*) as __auto_cdc_copies
    from shop."customers__auto_cdc_events_c0ffee000002" as evt
    join repeated on evt."ID" = repeated."ID" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5, 6
),
places as (
    select var."ID", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, max(case when won.__auto_cdc_sequence is null then 0 else 1 end) = 1 as __auto_cdc_decides
    from variants as var left join shop."customers__auto_cdc_winners_c0ffee000002" as won on won."ID" = var."ID" and won.__auto_cdc_sequence = var.__auto_cdc_sequence
    group by var."ID", var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'ID=' || coalesce(cast(places."ID" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) end) as num_tied_rows_example
    from places
),
further as (
    select count(case when __auto_cdc_kind = 'delete' then 1 end) as num_deleted_rows
    from (
        select coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') as __auto_cdc_locator, won.__auto_cdc_kind
        from shop.customers as tgt
        join shop."customers__auto_cdc_winners_c0ffee000002" as won on won."ID" = tgt."ID"
    ) as gone
)
select *
from counted
cross join found
cross join ties
cross join further;

-- write down what becomes of shop.customers  (only if num_new_truncates or num_new_events)
create or replace transient table shop."customers__auto_cdc_target_changes_c0ffee000002" as
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
    cast(null as varchar) as __auto_cdc_locator,
    cast('' as varchar) as __auto_cdc_action,
    0 as __auto_cdc_step
from (select 1 as one) as nothing
where false
union all
-- only if num_new_truncates
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
    place as __auto_cdc_locator,
    cast('gone' as varchar) as __auto_cdc_action,
    0 as __auto_cdc_step
from (
with gone (place) as (
with truncation as (
    select max(__auto_cdc_sequence) as sequence from (
    select __auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_kind = 'truncate'
    union all
    select __auto_cdc_sequence from shop.customers__auto_cdc where __auto_cdc_kind = 'truncate'
    ) as truncates
)
select coalesce(cast(length(cast(__auto_cdc_around."ID" as varchar)) as varchar) || ':' || cast(__auto_cdc_around."ID" as varchar), '-')
from shop.customers as __auto_cdc_around
where not exists (
    select 1 from shop.customers__auto_cdc as cmp cross join truncation
    where cmp."ID" = __auto_cdc_around."ID" and cmp.__auto_cdc_sequence >= truncation.sequence
        and cmp.__auto_cdc_kind = 'upsert'
)
and not exists (
    select 1 from (select "ID" from shop."customers__auto_cdc_winners_c0ffee000002") as won
    where won."ID" = __auto_cdc_around."ID"
)
)
select * from gone
) as gone where place is not null
union all
-- only if num_new_events
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
    place as __auto_cdc_locator,
    cast('gone' as varchar) as __auto_cdc_action,
    1 as __auto_cdc_step
from (
with gone (place) as (
select coalesce(cast(length(cast(won."ID" as varchar)) as varchar) || ':' || cast(won."ID" as varchar), '-') from shop."customers__auto_cdc_winners_c0ffee000002" as won
)
select * from gone
) as gone where place is not null
union all
-- only if num_new_events
select
    cast(row_born."ID" as NUMBER(38,0)) as "ID",
    cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
    cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
    cast(row_born."CHANGED_AT" as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
    coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') as __auto_cdc_locator,
    cast('born' as varchar) as __auto_cdc_action,
    2 as __auto_cdc_step
from (
select
    born."ID",
    born."NAME",
    born."NOTE",
    born."CHANGED_AT"
from (
with born ("ID", "NAME", "NOTE", "CHANGED_AT") as (
with upserts as (
    select __auto_cdc_event from shop."customers__auto_cdc_winners_c0ffee000002" where __auto_cdc_kind = 'upsert'
)
select evt."ID", evt."NAME", evt."NOTE", evt."CHANGED_AT"
from shop."customers__auto_cdc_events_c0ffee000002" as evt
join upserts on upserts.__auto_cdc_event = evt.__auto_cdc_row
)
select * from born
) as born
) as row_born;

-- count what is written  (only if num_new_truncates or num_new_events)
select
    count(case when __auto_cdc_step = 0 and __auto_cdc_action = 'gone' then 1 end) as num_deleted_rows,
    count(case when __auto_cdc_step = 2 and __auto_cdc_action = 'born' then 1 end) as num_upserted_rows
from shop."customers__auto_cdc_target_changes_c0ffee000002";

-- write down what becomes of shop.customers__auto_cdc  (only if num_new_truncates or num_new_events)
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
-- only if num_new_truncates
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    cast(null as varchar) as __auto_cdc_kind,
    cast(null as varchar) as __auto_cdc_control,
    place as __auto_cdc_locator,
    cast('gone' as varchar) as __auto_cdc_action,
    0 as __auto_cdc_step
from (
with gone (place) as (
with truncation as (
    select max(__auto_cdc_sequence) as sequence from (
    select __auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_kind = 'truncate'
    union all
    select __auto_cdc_sequence from shop.customers__auto_cdc where __auto_cdc_kind = 'truncate'
    ) as truncates
)
select coalesce(cast(length(cast(cmp."ID" as varchar)) as varchar) || ':' || cast(cmp."ID" as varchar), '-') || coalesce(cast(length(cast(cmp.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(cmp.__auto_cdc_kind as varchar), '-') from shop.customers__auto_cdc as cmp cross join truncation
where cmp.__auto_cdc_kind = 'truncate' or (cmp.__auto_cdc_kind in ('upsert', 'delete') and cmp.__auto_cdc_sequence < truncation.sequence)
)
select * from gone
) as gone where place is not null
union all
-- only if num_new_truncates
select
    cast(row_born."ID" as NUMBER(38,0)) as "ID",
    cast(row_born.__auto_cdc_sequence as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    cast(row_born.__auto_cdc_kind as varchar) as __auto_cdc_kind,
    cast(row_born.__auto_cdc_control as varchar) as __auto_cdc_control,
    coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') || coalesce(cast(length(cast(row_born.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(row_born.__auto_cdc_kind as varchar), '-') as __auto_cdc_locator,
    cast('born' as varchar) as __auto_cdc_action,
    1 as __auto_cdc_step
from (
select
    born."ID",
    born.__auto_cdc_sequence,
    born.__auto_cdc_kind,
    cast(null as varchar) as __auto_cdc_control
from (
with born ("ID", __auto_cdc_sequence, __auto_cdc_kind) as (
with truncation as (
    select max(__auto_cdc_sequence) as sequence from (
    select __auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_kind = 'truncate'
    union all
    select __auto_cdc_sequence from shop.customers__auto_cdc where __auto_cdc_kind = 'truncate'
    ) as truncates
)
select cast(null as NUMBER(38,0)) as "ID", sequence as __auto_cdc_sequence, 'truncate' as __auto_cdc_kind from truncation where sequence is not null
)
select * from born
) as born
) as row_born
union all
-- only if num_new_events
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    cast(null as varchar) as __auto_cdc_kind,
    cast(null as varchar) as __auto_cdc_control,
    place as __auto_cdc_locator,
    cast('gone' as varchar) as __auto_cdc_action,
    2 as __auto_cdc_step
from (
with gone (place) as (
select __auto_cdc_hidden from shop."customers__auto_cdc_winners_c0ffee000002" as won where __auto_cdc_hidden is not null
)
select * from gone
) as gone where place is not null
union all
-- only if num_new_events
select
    cast(row_born."ID" as NUMBER(38,0)) as "ID",
    cast(row_born.__auto_cdc_sequence as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    cast(row_born.__auto_cdc_kind as varchar) as __auto_cdc_kind,
    cast(row_born.__auto_cdc_control as varchar) as __auto_cdc_control,
    coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') || coalesce(cast(length(cast(row_born.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(row_born.__auto_cdc_kind as varchar), '-') as __auto_cdc_locator,
    cast('born' as varchar) as __auto_cdc_action,
    3 as __auto_cdc_step
from (
select
    born."ID",
    born.__auto_cdc_sequence,
    born.__auto_cdc_kind,
    cast(null as varchar) as __auto_cdc_control
from (
with born ("ID", __auto_cdc_sequence, __auto_cdc_kind) as (
select "ID", __auto_cdc_sequence, __auto_cdc_kind from shop."customers__auto_cdc_winners_c0ffee000002" as won
)
select * from born
) as born
) as row_born;

-- write down what is left to do  (only if num_new_truncates or num_new_events)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n    cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\nwhere __auto_cdc_action in (''gone'', ''born'')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"CHANGED_AT\\", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\\nfrom shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\nwhere __auto_cdc_action = ''born''\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"CHANGED_AT\\") values (src.\\"ID\\", src.\\"NAME\\", src.\\"NOTE\\", src.\\"CHANGED_AT\\")"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n    cast(null as varchar) as __auto_cdc_kind,\\n    cast(null as varchar) as __auto_cdc_control,\\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"\\nwhere __auto_cdc_action in (''gone'', ''born'')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\\nfrom shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"\\nwhere __auto_cdc_action = ''born''\\nunion all\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, coalesce(cast(length(cast(own.\\"ID\\" as varchar)) as varchar) || '':'' || cast(own.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(own.__auto_cdc_kind as varchar), ''-''), ''done'' as __auto_cdc_action\\nfrom (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n    ''journal'' as __auto_cdc_kind,\\n    ''c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stage_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_events_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_winners_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_target_changes_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_companion_changes_c0ffee000002\\\\\\\\\\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}'' as __auto_cdc_control\\n) as own\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(tgt.__auto_cdc_kind as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\\nwhen matched and src.__auto_cdc_action = ''done'' and tgt.__auto_cdc_kind = ''journal'' and substr(tgt.__auto_cdc_control, 1, 13) = ''c0ffee000002 '' then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.\\"ID\\", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control)"]], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_winners_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_new_truncates or num_new_events)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_new_truncates or num_new_events)
merge into shop.customers as tgt using (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from shop."customers__auto_cdc_target_changes_c0ffee000002"
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select "ID", "NAME", "NOTE", "CHANGED_AT", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action
from shop."customers__auto_cdc_target_changes_c0ffee000002"
where __auto_cdc_action = 'born'
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", "NAME", "NOTE", "CHANGED_AT") values (src."ID", src."NAME", src."NOTE", src."CHANGED_AT");

-- change shop.customers__auto_cdc  (only if num_new_truncates or num_new_events)
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
select "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, coalesce(cast(length(cast(own."ID" as varchar)) as varchar) || ':' || cast(own."ID" as varchar), '-') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(own.__auto_cdc_kind as varchar), '-'), 'done' as __auto_cdc_action
from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_winners_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}' as __auto_cdc_control
) as own
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(tgt.__auto_cdc_kind as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'done' and tgt.__auto_cdc_kind = 'journal' and substr(tgt.__auto_cdc_control, 1, 13) = 'c0ffee000002 ' then update set __auto_cdc_control = src.__auto_cdc_control
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src."ID", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control);

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_events_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_winners_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_target_changes_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_companion_changes_c0ffee000002";

-- cross it off  (only if num_new_truncates or num_new_events)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';
