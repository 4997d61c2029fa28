-- auto_cdc: model customers: build the target

-- stage the model's rows
create or replace transient table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select
    src."ID" as "ID",
    src."NAME" as "NAME",
    src."NOTE" as "NOTE",
    src."CHANGED_AT" as __auto_cdc_sequence,
    case when (
    operation = 'D'
) then 'delete' else 'upsert' end as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src
) as src;

-- check the events
with counted as (
    select
        count(*) as num_read_rows,
        0 as num_late_rows
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg
),
found as (
    select
        count(*) as num_new_events,
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'ID=' || coalesce(cast(evt."ID" as varchar), 'null') end) as null_sequence_example,
        count(case when evt."ID" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."ID" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
),
repeated as (
    select "ID", __auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002" as evt where __auto_cdc_kind <> 'truncate' group by "ID", __auto_cdc_sequence having count(*) > 1
),
variants as (
    select
        evt."ID",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt."NAME" end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt."NOTE" end as __auto_cdc_written_1,
        count(*) as __auto_cdc_copies
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    join repeated on evt."ID" = repeated."ID" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5
),
places as (
    select var."ID", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, true as __auto_cdc_decides
    from variants as var group by var."ID", var.__auto_cdc_sequence
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

-- cut the touched timelines into runs
create or replace transient table shop."customers__auto_cdc_timeline_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with repeated as (
    select "ID", __auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002" as evt where __auto_cdc_kind <> 'truncate' group by "ID", __auto_cdc_sequence having count(*) > 1
),
copies as (
    select locator from (
        select evt.__auto_cdc_row as locator,
            row_number() over (partition by evt."ID", evt.__auto_cdc_sequence order by evt.__auto_cdc_kind, evt."ID" desc nulls last, evt."NAME" desc nulls last, evt."NOTE" desc nulls last) as place
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        join repeated on evt."ID" = repeated."ID" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    ) as ranked where place > 1
),
ordered as (
    select * from (
        select
            evt.__auto_cdc_row as __auto_cdc_event,
            evt."ID",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
            lag(evt.__auto_cdc_kind) over (partition by evt."ID" order by evt.__auto_cdc_sequence) as __auto_cdc_previous,
            lag(evt.__auto_cdc_row) over (partition by evt."ID" order by evt.__auto_cdc_sequence) as __auto_cdc_previous_event,
            lag(evt.__auto_cdc_sequence) over (partition by evt."ID" order by evt.__auto_cdc_sequence) as __auto_cdc_previous_sequence
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where evt.__auto_cdc_row not in (select locator from copies)
    ) as neighbours
    where __auto_cdc_previous_sequence is null or __auto_cdc_previous_sequence <> __auto_cdc_sequence
),
differing as (
    select pair.__auto_cdc_event
    from (
        select __auto_cdc_event, __auto_cdc_previous_event from ordered
        where __auto_cdc_kind = 'upsert' and __auto_cdc_previous = 'upsert'
    ) as pair
    join (select __auto_cdc_row as __auto_cdc_event, "NAME" from shop."customers__auto_cdc_stage_c0ffee000002") as this on this.__auto_cdc_event = pair.__auto_cdc_event
    left join (select __auto_cdc_row as __auto_cdc_event, "NAME" from shop."customers__auto_cdc_stage_c0ffee000002") as that on that.__auto_cdc_event = pair.__auto_cdc_previous_event
    where this."NAME" is distinct from that."NAME"
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
    "__START_AT" TIMESTAMP_NTZ(9),
    "__END_AT" TIMESTAMP_NTZ(9)
) cluster by (id);

-- create the target
insert into shop.customers ("ID", "NAME", "NOTE", "__START_AT", "__END_AT")
with written as (
    select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
    from shop."customers__auto_cdc_timeline_c0ffee000002"
    where __auto_cdc_last and not __auto_cdc_same
)
select evt."ID", evt."NAME", evt."NOTE", run.__auto_cdc_run_start as "__START_AT", run.__auto_cdc_run_end as "__END_AT"
from shop."customers__auto_cdc_stage_c0ffee000002" as evt
join written as run on run.__auto_cdc_event = evt.__auto_cdc_row;

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
    '{"change_data_feed": false, "engine": "Snowflake", "format": 1, "key_types": ["NUMBER(38,0)"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "2", "sequence_type": "TIMESTAMP_NTZ(9)", "system_type": "", "track_history": ["except", "note"], "truncates": false}' as __auto_cdc_control
union all
select more.*, null as __auto_cdc_control from (
with missing as (
    select __auto_cdc_event, "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start
    from shop."customers__auto_cdc_timeline_c0ffee000002"
    where __auto_cdc_hides
)
select missing."ID", missing.__auto_cdc_sequence, missing.__auto_cdc_kind, missing.__auto_cdc_run_start, case when evt.__auto_cdc_kind = 'upsert' then evt."NOTE" end as "NOTE"
from shop."customers__auto_cdc_stage_c0ffee000002" as evt
join missing on missing.__auto_cdc_event = evt.__auto_cdc_row
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
drop table if exists shop."customers__auto_cdc_timeline_c0ffee000002";

-- auto_cdc: model customers: apply the new events

-- stage the model's rows
create or replace transient table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select
    src."ID" as "ID",
    src."NAME" as "NAME",
    src."NOTE" as "NOTE",
    src."CHANGED_AT" as __auto_cdc_sequence,
    case when (
    operation = 'D'
) then 'delete' else 'upsert' end as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src
) as src;

-- find the versions of the keys
create or replace transient table shop."customers__auto_cdc_stored_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select tgt."ID",
    tgt."__START_AT" as __auto_cdc_sequence, tgt."__END_AT" as __auto_cdc_old_end, coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar), '-') as __auto_cdc_locator
from shop.customers as tgt
join (select distinct "ID" from shop."customers__auto_cdc_stage_c0ffee000002") as stg on stg."ID" = tgt."ID"
) as src;

-- keep the events that are new
create or replace transient table shop."customers__auto_cdc_events_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with hidden as (
    select cmp."ID", cmp.__auto_cdc_sequence from shop.customers__auto_cdc as cmp where cmp.__auto_cdc_kind = 'delete'
    union all
    select cmp."ID", cmp.__auto_cdc_sequence from shop.customers__auto_cdc as cmp
    join shop."customers__auto_cdc_stored_c0ffee000002" as tgt on tgt."ID" = cmp."ID" and tgt.__auto_cdc_sequence = cmp.__auto_cdc_run_start and (tgt.__auto_cdc_old_end is null or cmp.__auto_cdc_sequence < tgt.__auto_cdc_old_end)
    where cmp.__auto_cdc_kind = 'upsert'
)
select
    __auto_cdc_around."ID",
    __auto_cdc_around."NAME",
    __auto_cdc_around."NOTE",
    __auto_cdc_around.__auto_cdc_sequence,
    __auto_cdc_around.__auto_cdc_kind
from shop."customers__auto_cdc_stage_c0ffee000002" as __auto_cdc_around
where not exists (select 1 from shop."customers__auto_cdc_stored_c0ffee000002" as known where known."ID" = __auto_cdc_around."ID" and known.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_sequence)
and not exists (select 1 from shop."customers__auto_cdc_stored_c0ffee000002" as known where known."ID" = __auto_cdc_around."ID" and known.__auto_cdc_old_end = __auto_cdc_around.__auto_cdc_sequence)
and not exists (select 1 from hidden as known where known."ID" = __auto_cdc_around."ID" and known.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_sequence)
) as src;

-- check the events
with counted as (
    select
        count(*) as num_read_rows
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
        count(*) as __auto_cdc_copies
    from shop."customers__auto_cdc_events_c0ffee000002" as evt
    join repeated on evt."ID" = repeated."ID" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5
),
places as (
    select var."ID", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, true as __auto_cdc_decides
    from variants as var group by var."ID", var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'ID=' || coalesce(cast(places."ID" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) end) as num_tied_rows_example
    from places
),
late as (
    select (
    select count(*) from shop."customers__auto_cdc_events_c0ffee000002" as evt
    join (
        select "ID", max(__auto_cdc_sequence) as __auto_cdc_latest from (
            select "ID", coalesce(__auto_cdc_old_end, __auto_cdc_sequence) as __auto_cdc_sequence from shop."customers__auto_cdc_stored_c0ffee000002"
            union all
            select cmp."ID", cmp.__auto_cdc_sequence
            from shop.customers__auto_cdc as cmp
            join (select distinct "ID" from shop."customers__auto_cdc_events_c0ffee000002") as evt on evt."ID" = cmp."ID"
        ) as known group by "ID"
    ) as head on head."ID" = evt."ID" and evt.__auto_cdc_sequence < head.__auto_cdc_latest) as num_late_rows
)
select *
from counted
cross join found
cross join ties
cross join late;

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
with repeated as (
    select "ID", __auto_cdc_sequence from shop."customers__auto_cdc_events_c0ffee000002" as evt where __auto_cdc_kind <> 'truncate' group by "ID", __auto_cdc_sequence having count(*) > 1
),
copies as (
    select locator from (
        select evt.__auto_cdc_row as locator,
            row_number() over (partition by evt."ID", evt.__auto_cdc_sequence order by evt.__auto_cdc_kind, evt."ID" desc nulls last, evt."NAME" desc nulls last, evt."NOTE" desc nulls last) as place
        from shop."customers__auto_cdc_line_c0ffee000002" as evt
        join repeated on evt."ID" = repeated."ID" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    ) as ranked where place > 1
),
ordered as (
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
    where evt.__auto_cdc_row not in (select locator from copies)
    ) as neighbours
    where __auto_cdc_previous_sequence is null or __auto_cdc_previous_sequence <> __auto_cdc_sequence
),
differing as (
    select pair.__auto_cdc_event
    from (
        select __auto_cdc_event, __auto_cdc_previous_event from ordered
        where __auto_cdc_kind = 'upsert' and __auto_cdc_previous = 'upsert'
    ) as pair
    join (select __auto_cdc_row as __auto_cdc_event, "NAME" from shop."customers__auto_cdc_line_c0ffee000002") as this on this.__auto_cdc_event = pair.__auto_cdc_event
    left join (select __auto_cdc_row as __auto_cdc_event, "NAME" from shop."customers__auto_cdc_line_c0ffee000002") as that on that.__auto_cdc_event = pair.__auto_cdc_previous_event
    where this."NAME" is distinct from that."NAME"
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

-- write down what becomes of shop.customers__auto_cdc  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_hidden_forgotten or num_hidden_remembered)
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
-- only if num_hidden_forgotten
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    cast(null as varchar) as __auto_cdc_kind,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as varchar) as __auto_cdc_control,
    place as __auto_cdc_locator,
    cast('gone' as varchar) as __auto_cdc_action,
    0 as __auto_cdc_step
from (
with gone (place) as (
with orphaned as (
    select coalesce(cast(length(cast(__auto_cdc_around."ID" as varchar)) as varchar) || ':' || cast(__auto_cdc_around."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, __auto_cdc_around.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, __auto_cdc_around.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, __auto_cdc_around.__auto_cdc_run_start) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, __auto_cdc_around.__auto_cdc_run_start) as varchar), '-') || coalesce(cast(length(cast(__auto_cdc_around.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(__auto_cdc_around.__auto_cdc_kind as varchar), '-') as locator
    from shop.customers__auto_cdc as __auto_cdc_around
    join (select distinct "ID" from shop."customers__auto_cdc_events_c0ffee000002") as evt on evt."ID" = __auto_cdc_around."ID"
    where __auto_cdc_around.__auto_cdc_kind = 'upsert'
    and not exists (select 1 from shop."customers__auto_cdc_stored_c0ffee000002" as tgt where tgt."ID" = __auto_cdc_around."ID" and tgt.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_run_start and (tgt.__auto_cdc_old_end is null or __auto_cdc_around.__auto_cdc_sequence < tgt.__auto_cdc_old_end))
)
select __auto_cdc_hidden as locator from shop."customers__auto_cdc_timeline_c0ffee000002"
where __auto_cdc_hidden is not null and not (__auto_cdc_hides and __auto_cdc_hidden is not null and (__auto_cdc_kind = 'delete' or __auto_cdc_was_in = __auto_cdc_run_start))
union all
select locator from orphaned
)
select * from gone
) as gone where place is not null
union all
-- only if num_hidden_remembered
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
    born."ID",
    born.__auto_cdc_sequence,
    born.__auto_cdc_kind,
    born.__auto_cdc_run_start,
    born."NOTE",
    cast(null as varchar) as __auto_cdc_control
from (
with born ("ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, "NOTE") as (
with missing as (
    select __auto_cdc_event, "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start
    from shop."customers__auto_cdc_timeline_c0ffee000002"
    where __auto_cdc_hides and not (__auto_cdc_hidden is not null and (__auto_cdc_kind = 'delete' or __auto_cdc_was_in = __auto_cdc_run_start))
)
select missing."ID", missing.__auto_cdc_sequence, missing.__auto_cdc_kind, missing.__auto_cdc_run_start, case when evt.__auto_cdc_kind = 'upsert' then evt."NOTE" end as "NOTE"
from shop."customers__auto_cdc_line_c0ffee000002" as evt
join missing on missing.__auto_cdc_event = evt.__auto_cdc_row
)
select * from born
) as born
) as row_born;

-- write down what is left to do  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_hidden_forgotten or num_hidden_remembered)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n    cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as \\"__START_AT\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as \\"__END_AT\\",\\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from (\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"__START_AT\\",\\n        cast(value_0 as TIMESTAMP_NTZ(9)) as \\"__END_AT\\",\\n        place as __auto_cdc_locator,\\n        cast(''ended'' as varchar) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    with ended (place, value_0) as (\\n    select __auto_cdc_replaces as locator, __auto_cdc_run_end as value\\n    from shop.\\"customers__auto_cdc_timeline_c0ffee000002\\"\\n    where __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved\\n    )\\n    select * from ended\\n    ) as ended\\n    union all\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"__START_AT\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"__END_AT\\",\\n        place as __auto_cdc_locator,\\n        cast(''gone'' as varchar) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    with gone (place) as (\\n    with kept as (\\n        select __auto_cdc_replaces as locator from shop.\\"customers__auto_cdc_timeline_c0ffee000002\\" where __auto_cdc_same\\n    )\\n    select __auto_cdc_around.__auto_cdc_locator from shop.\\"customers__auto_cdc_timeline_c0ffee000002\\" as __auto_cdc_around\\n    where __auto_cdc_around.__auto_cdc_locator is not null and not exists (select 1 from kept where kept.locator = __auto_cdc_around.__auto_cdc_locator)\\n    )\\n    select * from gone\\n    ) as gone where place is not null\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"__START_AT\\" as TIMESTAMP_NTZ(9)) as \\"__START_AT\\",\\n        cast(row_born.\\"__END_AT\\" as TIMESTAMP_NTZ(9)) as \\"__END_AT\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born.\\"__START_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, row_born.\\"__START_AT\\") as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born.\\"__END_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, row_born.\\"__END_AT\\") as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"__START_AT\\",\\n        born.\\"__END_AT\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"__START_AT\\", \\"__END_AT\\") as (\\n    with written as (\\n        select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end\\n        from shop.\\"customers__auto_cdc_timeline_c0ffee000002\\"\\n        where __auto_cdc_last and not __auto_cdc_same\\n    )\\n    select evt.\\"ID\\", evt.\\"NAME\\", evt.\\"NOTE\\", run.__auto_cdc_run_start as \\"__START_AT\\", run.__auto_cdc_run_end as \\"__END_AT\\"\\n    from shop.\\"customers__auto_cdc_line_c0ffee000002\\" as evt\\n    join written as run on run.__auto_cdc_event = evt.__auto_cdc_row\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action in (''gone'', ''born'')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"__START_AT\\", \\"__END_AT\\", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"__START_AT\\",\\n        cast(value_0 as TIMESTAMP_NTZ(9)) as \\"__END_AT\\",\\n        place as __auto_cdc_locator,\\n        cast(''ended'' as varchar) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    with ended (place, value_0) as (\\n    select __auto_cdc_replaces as locator, __auto_cdc_run_end as value\\n    from shop.\\"customers__auto_cdc_timeline_c0ffee000002\\"\\n    where __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved\\n    )\\n    select * from ended\\n    ) as ended\\n    union all\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"__START_AT\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"__END_AT\\",\\n        place as __auto_cdc_locator,\\n        cast(''gone'' as varchar) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    with gone (place) as (\\n    with kept as (\\n        select __auto_cdc_replaces as locator from shop.\\"customers__auto_cdc_timeline_c0ffee000002\\" where __auto_cdc_same\\n    )\\n    select __auto_cdc_around.__auto_cdc_locator from shop.\\"customers__auto_cdc_timeline_c0ffee000002\\" as __auto_cdc_around\\n    where __auto_cdc_around.__auto_cdc_locator is not null and not exists (select 1 from kept where kept.locator = __auto_cdc_around.__auto_cdc_locator)\\n    )\\n    select * from gone\\n    ) as gone where place is not null\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"__START_AT\\" as TIMESTAMP_NTZ(9)) as \\"__START_AT\\",\\n        cast(row_born.\\"__END_AT\\" as TIMESTAMP_NTZ(9)) as \\"__END_AT\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born.\\"__START_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, row_born.\\"__START_AT\\") as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born.\\"__END_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, row_born.\\"__END_AT\\") as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"__START_AT\\",\\n        born.\\"__END_AT\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"__START_AT\\", \\"__END_AT\\") as (\\n    with written as (\\n        select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end\\n        from shop.\\"customers__auto_cdc_timeline_c0ffee000002\\"\\n        where __auto_cdc_last and not __auto_cdc_same\\n    )\\n    select evt.\\"ID\\", evt.\\"NAME\\", evt.\\"NOTE\\", run.__auto_cdc_run_start as \\"__START_AT\\", run.__auto_cdc_run_end as \\"__END_AT\\"\\n    from shop.\\"customers__auto_cdc_line_c0ffee000002\\" as evt\\n    join written as run on run.__auto_cdc_event = evt.__auto_cdc_row\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = ''born''\\nunion all\\nselect \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"__START_AT\\", \\"__END_AT\\", __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"__START_AT\\",\\n        cast(value_0 as TIMESTAMP_NTZ(9)) as \\"__END_AT\\",\\n        place as __auto_cdc_locator,\\n        cast(''ended'' as varchar) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    with ended (place, value_0) as (\\n    select __auto_cdc_replaces as locator, __auto_cdc_run_end as value\\n    from shop.\\"customers__auto_cdc_timeline_c0ffee000002\\"\\n    where __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved\\n    )\\n    select * from ended\\n    ) as ended\\n    union all\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"__START_AT\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"__END_AT\\",\\n        place as __auto_cdc_locator,\\n        cast(''gone'' as varchar) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    with gone (place) as (\\n    with kept as (\\n        select __auto_cdc_replaces as locator from shop.\\"customers__auto_cdc_timeline_c0ffee000002\\" where __auto_cdc_same\\n    )\\n    select __auto_cdc_around.__auto_cdc_locator from shop.\\"customers__auto_cdc_timeline_c0ffee000002\\" as __auto_cdc_around\\n    where __auto_cdc_around.__auto_cdc_locator is not null and not exists (select 1 from kept where kept.locator = __auto_cdc_around.__auto_cdc_locator)\\n    )\\n    select * from gone\\n    ) as gone where place is not null\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"__START_AT\\" as TIMESTAMP_NTZ(9)) as \\"__START_AT\\",\\n        cast(row_born.\\"__END_AT\\" as TIMESTAMP_NTZ(9)) as \\"__END_AT\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born.\\"__START_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, row_born.\\"__START_AT\\") as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born.\\"__END_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, row_born.\\"__END_AT\\") as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"__START_AT\\",\\n        born.\\"__END_AT\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"__START_AT\\", \\"__END_AT\\") as (\\n    with written as (\\n        select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end\\n        from shop.\\"customers__auto_cdc_timeline_c0ffee000002\\"\\n        where __auto_cdc_last and not __auto_cdc_same\\n    )\\n    select evt.\\"ID\\", evt.\\"NAME\\", evt.\\"NOTE\\", run.__auto_cdc_run_start as \\"__START_AT\\", run.__auto_cdc_run_end as \\"__END_AT\\"\\n    from shop.\\"customers__auto_cdc_line_c0ffee000002\\" as evt\\n    join written as run on run.__auto_cdc_event = evt.__auto_cdc_row\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = ''ended''\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.\\"__START_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, tgt.\\"__START_AT\\") as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.\\"__END_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, tgt.\\"__END_AT\\") as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\\nwhen matched and src.__auto_cdc_action = ''ended'' then update set \\"__END_AT\\" = src.\\"__END_AT\\"\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"__START_AT\\", \\"__END_AT\\") values (src.\\"ID\\", src.\\"NAME\\", src.\\"NOTE\\", src.\\"__START_AT\\", src.\\"__END_AT\\")"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n    cast(null as varchar) as __auto_cdc_kind,\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,\\n    cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n    cast(null as varchar) as __auto_cdc_control,\\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"\\nwhere __auto_cdc_action in (''gone'', ''born'')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, \\"NOTE\\", __auto_cdc_control, cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\\nfrom shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"\\nwhere __auto_cdc_action = ''born''\\nunion all\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, \\"NOTE\\", __auto_cdc_control, coalesce(cast(length(cast(own.\\"ID\\" as varchar)) as varchar) || '':'' || cast(own.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, own.__auto_cdc_sequence) as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, own.__auto_cdc_sequence) as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, own.__auto_cdc_run_start) as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, own.__auto_cdc_run_start) as varchar), ''-'') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(own.__auto_cdc_kind as varchar), ''-''), ''done'' as __auto_cdc_action\\nfrom (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n    ''journal'' as __auto_cdc_kind,\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,\\n    cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n    ''c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stage_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_events_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stored_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_line_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_timeline_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_companion_changes_c0ffee000002\\\\\\\\\\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}'' as __auto_cdc_control\\n) as own\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.__auto_cdc_sequence) as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, tgt.__auto_cdc_sequence) as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.__auto_cdc_run_start) as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, tgt.__auto_cdc_run_start) as varchar), ''-'') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(tgt.__auto_cdc_kind as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\\nwhen matched and src.__auto_cdc_action = ''done'' and tgt.__auto_cdc_kind = ''journal'' and substr(tgt.__auto_cdc_control, 1, 13) = ''c0ffee000002 '' then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, \\"NOTE\\", __auto_cdc_control) values (src.\\"ID\\", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_run_start, src.\\"NOTE\\", src.__auto_cdc_control)"]], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_stored_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_line_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_timeline_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_hidden_forgotten or num_hidden_remembered)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_hidden_forgotten or num_hidden_remembered)
merge into shop.customers as tgt using (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as TIMESTAMP_NTZ(9)) as "__START_AT",
    cast(null as TIMESTAMP_NTZ(9)) as "__END_AT",
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
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
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
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
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
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
        born."__START_AT",
        born."__END_AT"
    from (
    with born ("ID", "NAME", "NOTE", "__START_AT", "__END_AT") as (
    with written as (
        select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
        from shop."customers__auto_cdc_timeline_c0ffee000002"
        where __auto_cdc_last and not __auto_cdc_same
    )
    select evt."ID", evt."NAME", evt."NOTE", run.__auto_cdc_run_start as "__START_AT", run.__auto_cdc_run_end as "__END_AT"
    from shop."customers__auto_cdc_line_c0ffee000002" as evt
    join written as run on run.__auto_cdc_event = evt.__auto_cdc_row
    )
    select * from born
    ) as born
    ) as row_born
) as changes
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select "ID", "NAME", "NOTE", "__START_AT", "__END_AT", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
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
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
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
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
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
        born."__START_AT",
        born."__END_AT"
    from (
    with born ("ID", "NAME", "NOTE", "__START_AT", "__END_AT") as (
    with written as (
        select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
        from shop."customers__auto_cdc_timeline_c0ffee000002"
        where __auto_cdc_last and not __auto_cdc_same
    )
    select evt."ID", evt."NAME", evt."NOTE", run.__auto_cdc_run_start as "__START_AT", run.__auto_cdc_run_end as "__END_AT"
    from shop."customers__auto_cdc_line_c0ffee000002" as evt
    join written as run on run.__auto_cdc_event = evt.__auto_cdc_row
    )
    select * from born
    ) as born
    ) as row_born
) as changes
where __auto_cdc_action = 'born'
union all
select "ID", "NAME", "NOTE", "__START_AT", "__END_AT", __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
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
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
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
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
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
        born."__START_AT",
        born."__END_AT"
    from (
    with born ("ID", "NAME", "NOTE", "__START_AT", "__END_AT") as (
    with written as (
        select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
        from shop."customers__auto_cdc_timeline_c0ffee000002"
        where __auto_cdc_last and not __auto_cdc_same
    )
    select evt."ID", evt."NAME", evt."NOTE", run.__auto_cdc_run_start as "__START_AT", run.__auto_cdc_run_end as "__END_AT"
    from shop."customers__auto_cdc_line_c0ffee000002" as evt
    join written as run on run.__auto_cdc_event = evt.__auto_cdc_row
    )
    select * from born
    ) as born
    ) as row_born
) as changes
where __auto_cdc_action = 'ended'
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__START_AT") as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."__END_AT") as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'ended' then update set "__END_AT" = src."__END_AT"
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", "NAME", "NOTE", "__START_AT", "__END_AT") values (src."ID", src."NAME", src."NOTE", src."__START_AT", src."__END_AT");

-- change shop.customers__auto_cdc  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_hidden_forgotten or num_hidden_remembered)
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
select "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, "NOTE", __auto_cdc_control, coalesce(cast(length(cast(own."ID" as varchar)) as varchar) || ':' || cast(own."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, own.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, own.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, own.__auto_cdc_run_start) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, own.__auto_cdc_run_start) as varchar), '-') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(own.__auto_cdc_kind as varchar), '-'), 'done' as __auto_cdc_action
from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_run_start,
    cast(null as VARCHAR(16777216)) as "NOTE",
    'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_stored_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_line_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_timeline_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}' as __auto_cdc_control
) as own
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.__auto_cdc_sequence) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt.__auto_cdc_sequence) as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.__auto_cdc_run_start) as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt.__auto_cdc_run_start) as varchar), '-') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(tgt.__auto_cdc_kind as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'done' and tgt.__auto_cdc_kind = 'journal' and substr(tgt.__auto_cdc_control, 1, 13) = 'c0ffee000002 ' then update set __auto_cdc_control = src.__auto_cdc_control
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, "NOTE", __auto_cdc_control) values (src."ID", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_run_start, src."NOTE", src.__auto_cdc_control);

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_events_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_stored_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_line_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_timeline_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_companion_changes_c0ffee000002";

-- cross it off  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_hidden_forgotten or num_hidden_remembered)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';
