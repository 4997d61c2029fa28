-- auto_cdc: model customers: build the target

-- read the model's rows, and check what is expected of them
drop table if exists shop."customers__auto_cdc_checked_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_checked_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
with evaluated as (
    select
        src."id",
        src."name",
        src."note",
        src."operation",
        src."changed_at",
        src."changed_at" as __auto_cdc_sequence,
        case when (
        operation = 'D'
    ) then 'delete' else 'upsert' end as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
),
judged as (
    select
        src.*,
        case when src.__auto_cdc_kind = 'upsert' then coalesce((
        name is not null
    ), false) end as __auto_cdc_passes_0,
        case when src.__auto_cdc_kind = 'upsert' then coalesce((
        changed_at >= '2020-01-01'
    ), false) end as __auto_cdc_passes_1
    from evaluated as src
)
select src.*, (not coalesce(src.__auto_cdc_passes_1, true)) as __auto_cdc_dropped
from judged as src
) as src;

-- count what is as expected
select
    count(case when chk.__auto_cdc_passes_0 then 1 end) as expectation_0_passed,
    count(case when not chk.__auto_cdc_passes_0 then 1 end) as expectation_0_failed,
    count(case when chk.__auto_cdc_passes_1 then 1 end) as expectation_1_passed,
    count(case when not chk.__auto_cdc_passes_1 then 1 end) as expectation_1_failed,
    count(case when chk.__auto_cdc_dropped then 1 end) as num_dropped_rows,
    count(case when chk.__auto_cdc_dropped then 1 end) as num_read_rows
from shop."customers__auto_cdc_checked_c0ffee000002" as chk;

-- stage the model's rows
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
with evaluated as (
    select
        src."id" as "id",
        src."name" as "name",
        src."note" as "note",
        src."changed_at" as "changed_at",
        src.__auto_cdc_sequence as __auto_cdc_sequence,
        src.__auto_cdc_kind as __auto_cdc_kind
    from shop."customers__auto_cdc_checked_c0ffee000002" as src
    where not src.__auto_cdc_dropped
)
select src.*, lag(src.__auto_cdc_sequence) over (partition by src."id" order by src.__auto_cdc_sequence desc) is null as __auto_cdc_is_greatest, coalesce(lag(src.__auto_cdc_sequence) over (partition by src."id" order by src.__auto_cdc_sequence desc) = src.__auto_cdc_sequence, false) as __auto_cdc_is_repeated
from evaluated as src
) as src;

-- check the events
select
    count(*) as num_read_rows,
    0 as num_late_rows,
    count(case when true then 1 end) as num_new_events,
    count(case when true and evt.__auto_cdc_is_repeated then 1 end) as num_repeated_rows,
    case when count(case when true and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when true and evt.__auto_cdc_sequence is null then 1 end) else 0 end as null_sequence,
    min(case when true and evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar(65535)), 'null') end) as null_sequence_example,
    case when count(case when true and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when true and evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) else 0 end as null_key_0,
    min(case when true and evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar(65535)) end) as null_key_0_example
from shop."customers__auto_cdc_stage_c0ffee000002" as evt;

-- look at events of one key and sequence  (only if num_repeated_rows)
with found as (
    select
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar(65535)), 'null') end) as null_sequence_example,
        count(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar(65535)) end) as null_key_0_example
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
),
repeated as (
    select "id", __auto_cdc_sequence from shop."customers__auto_cdc_stage_c0ffee000002" as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence having count(*) > 1
),
variants as (
    select
        evt."id",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt."name" end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt."note" end as __auto_cdc_written_1,
        case when evt.__auto_cdc_kind = 'upsert' then evt."changed_at" end as __auto_cdc_written_2,
        count(*) as __auto_cdc_copies
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5, 6
),
places as (
    select var."id", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, max(case when won.__auto_cdc_sequence is null then 0 else 1 end) = 1 as __auto_cdc_decides
    from variants as var left join (
        select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where true and evt.__auto_cdc_is_greatest
    ) as won on won."id" = var."id" and won.__auto_cdc_sequence = var.__auto_cdc_sequence
    group by var."id", var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places."id" as varchar(65535)), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar(65535)) end) as num_tied_rows_example
    from places
)
select *
from found
cross join ties;

-- create the quarantine
drop table if exists shop.customers__auto_cdc_quarantine
-- auto_cdc: next statement
create table shop.customers__auto_cdc_quarantine (
    "id" integer,
    "name" character varying(200),
    "note" character varying(200),
    "operation" character varying(200),
    "changed_at" timestamp without time zone,
    "_failed_expectations" varchar(65535),
    "_run_id" varchar(65535),
    "_quarantined_at" timestamp
);

-- keep the rows that were dropped  (only if num_dropped_rows)
insert into shop.customers__auto_cdc_quarantine ("id", "name", "note", "operation", "changed_at", "_failed_expectations", "_run_id", "_quarantined_at")
with dropped_rows as (
    select
        chk."id" as "id",
        chk."name" as "name",
        chk."note" as "note",
        chk."operation" as "operation",
        chk."changed_at" as "changed_at",
        substr(case when not chk.__auto_cdc_passes_0 then ', named' else '' end || case when not chk.__auto_cdc_passes_1 then ', recent' else '' end, 3) as _failed_expectations
    from shop."customers__auto_cdc_checked_c0ffee000002" as chk
    where chk.__auto_cdc_dropped
),
placed as (
    select src.*, row_number() over (partition by src."id", src."name", src."note", src."operation", src."changed_at" order by src._failed_expectations) as __auto_cdc_place
    from dropped_rows as src
)
select
    "id",
    "name",
    "note",
    "operation",
    "changed_at",
    _failed_expectations as _failed_expectations,
    cast('' as varchar(65535)) as _run_id,
    timezone('UTC', cast(getdate() as timestamp with time zone)) as _quarantined_at
from placed
where __auto_cdc_place = 1;

-- create the companion
create table shop.customers__auto_cdc (
    "id" integer,
    __auto_cdc_sequence timestamp without time zone,
    __auto_cdc_kind varchar(65535),
    __auto_cdc_control varchar(65535)
) compound sortkey ("id");

-- create the companion
insert into shop.customers__auto_cdc ("id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select whose."id", whose.__auto_cdc_sequence, whose.__auto_cdc_kind, whose.__auto_cdc_control from (
select
    cast(null as integer) as "id",
    cast(null as timestamp without time zone) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as whose
where not exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal');

-- create the target
drop table if exists shop.customers
-- auto_cdc: next statement
create table shop.customers (
    "id" integer,
    "name" character varying(200),
    "note" character varying(200),
    "changed_at" timestamp without time zone
) compound sortkey (id);

-- create the target
insert into shop.customers ("id", "name", "note", "changed_at")
select evt."id", evt."name", evt."note", evt."changed_at"
from shop."customers__auto_cdc_stage_c0ffee000002" as evt
where true and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete';

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
insert into shop.customers__auto_cdc ("id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select told."id", told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as integer) as "id",
    cast(null as timestamp without time zone) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Redshift", "format": 1, "key_types": ["integer"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "1", "sequence_type": "timestamp without time zone", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
union all
select more.*, null as __auto_cdc_control from (
select "id", __auto_cdc_sequence, __auto_cdc_kind from (
    select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where true and evt.__auto_cdc_is_greatest
) as won
) as more
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn;

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- let old tombstones go
delete from shop.customers__auto_cdc where __auto_cdc_kind = 'delete' and __auto_cdc_sequence < (
select greatest.sequence - interval '172800 seconds' as bound from (
select max(__auto_cdc_sequence) as sequence from (
select __auto_cdc_sequence from shop.customers__auto_cdc
) as sequences
) as greatest
);

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_checked_c0ffee000002";

-- auto_cdc: model customers: apply the new events

-- read the model's rows, and check what is expected of them
drop table if exists shop."customers__auto_cdc_checked_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_checked_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
with evaluated as (
    select
        src."id",
        src."name",
        src."note",
        src."operation",
        src."changed_at",
        src."changed_at" as __auto_cdc_sequence,
        case when (
        operation = 'D'
    ) then 'delete' else 'upsert' end as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
),
judged as (
    select
        src.*,
        case when src.__auto_cdc_kind = 'upsert' then coalesce((
        name is not null
    ), false) end as __auto_cdc_passes_0,
        case when src.__auto_cdc_kind = 'upsert' then coalesce((
        changed_at >= '2020-01-01'
    ), false) end as __auto_cdc_passes_1
    from evaluated as src
)
select src.*, (not coalesce(src.__auto_cdc_passes_1, true)) as __auto_cdc_dropped
from judged as src
) as src;

-- count what is as expected
select
    count(case when chk.__auto_cdc_passes_0 then 1 end) as expectation_0_passed,
    count(case when not chk.__auto_cdc_passes_0 then 1 end) as expectation_0_failed,
    count(case when chk.__auto_cdc_passes_1 then 1 end) as expectation_1_passed,
    count(case when not chk.__auto_cdc_passes_1 then 1 end) as expectation_1_failed,
    count(case when chk.__auto_cdc_dropped then 1 end) as num_dropped_rows,
    count(case when chk.__auto_cdc_dropped then 1 end) as num_read_rows
from shop."customers__auto_cdc_checked_c0ffee000002" as chk;

-- stage the model's rows
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
with evaluated as (
    select
        src."id" as "id",
        src."name" as "name",
        src."note" as "note",
        src."changed_at" as "changed_at",
        src.__auto_cdc_sequence as __auto_cdc_sequence,
        src.__auto_cdc_kind as __auto_cdc_kind
    from shop."customers__auto_cdc_checked_c0ffee000002" as src
    where not src.__auto_cdc_dropped
),
told as (
    select src.*, (cmp.__auto_cdc_sequence is null or src.__auto_cdc_sequence is null or src.__auto_cdc_sequence > cmp.__auto_cdc_sequence) as __auto_cdc_is_new, coalesce(src.__auto_cdc_sequence < cmp.__auto_cdc_sequence, false) as __auto_cdc_is_late, case when cmp.__auto_cdc_kind is not null then coalesce(cast(length(cast(cmp."id" as varchar(65535))) as varchar(65535)) || ':' || cast(cmp."id" as varchar(65535)), '-') || coalesce(cast(length(cast(cmp.__auto_cdc_kind as varchar(65535))) as varchar(65535)) || ':' || cast(cmp.__auto_cdc_kind as varchar(65535)), '-') end as __auto_cdc_hidden, coalesce(cmp.__auto_cdc_kind = 'upsert', false) as __auto_cdc_shows, lag(src.__auto_cdc_sequence) over (partition by src."id" order by src.__auto_cdc_sequence desc) is null as __auto_cdc_is_greatest, coalesce(lag(src.__auto_cdc_sequence) over (partition by src."id" order by src.__auto_cdc_sequence desc) = src.__auto_cdc_sequence, false) as __auto_cdc_is_repeated
    from evaluated as src
    left join shop.customers__auto_cdc as cmp on src."id" = cmp."id"
)
select
    __auto_cdc_is_new,
    __auto_cdc_is_late,
    __auto_cdc_is_greatest,
    __auto_cdc_is_repeated,
    __auto_cdc_sequence,
    __auto_cdc_kind,
    case when __auto_cdc_is_new then __auto_cdc_hidden end as __auto_cdc_hidden,
    case when __auto_cdc_is_new then __auto_cdc_shows end as __auto_cdc_shows,
    "id",
    case when __auto_cdc_is_new then "name" end as "name",
    case when __auto_cdc_is_new then "note" end as "note",
    case when __auto_cdc_is_new then "changed_at" end as "changed_at"
from told
) as src;

-- check the events
select
    count(*) as num_read_rows,
    count(case when evt.__auto_cdc_is_late then 1 end) as num_late_rows,
    count(case when evt.__auto_cdc_is_new then 1 end) as num_new_events,
    count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_repeated then 1 end) as num_repeated_rows,
    count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind = 'upsert' then 1 end) as num_upserted_rows,
    count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and (evt.__auto_cdc_kind = 'delete' or evt.__auto_cdc_shows) then 1 end) as num_known_keys,
    count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind = 'upsert' and not evt.__auto_cdc_shows then 1 end) as num_added_keys,
    case when count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_sequence is null then 1 end) else 0 end as null_sequence,
    min(case when evt.__auto_cdc_is_new and evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar(65535)), 'null') end) as null_sequence_example,
    case when count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when evt.__auto_cdc_is_new and evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) else 0 end as null_key_0,
    min(case when evt.__auto_cdc_is_new and evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar(65535)) end) as null_key_0_example
from shop."customers__auto_cdc_stage_c0ffee000002" as evt;

-- look at events of one key and sequence  (only if num_repeated_rows)
with found as (
    select
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar(65535)), 'null') end) as null_sequence_example,
        count(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar(65535)) end) as null_key_0_example
    from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as evt
),
repeated as (
    select "id", __auto_cdc_sequence from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence having count(*) > 1
),
variants as (
    select
        evt."id",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt."name" end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt."note" end as __auto_cdc_written_1,
        case when evt.__auto_cdc_kind = 'upsert' then evt."changed_at" end as __auto_cdc_written_2,
        count(*) as __auto_cdc_copies
    from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as evt
    join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5, 6
),
places as (
    select var."id", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, max(case when won.__auto_cdc_sequence is null then 0 else 1 end) = 1 as __auto_cdc_decides
    from variants as var left join (
        select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won on won."id" = var."id" and won.__auto_cdc_sequence = var.__auto_cdc_sequence
    group by var."id", var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places."id" as varchar(65535)), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar(65535)) end) as num_tied_rows_example
    from places
)
select *
from found
cross join ties;

-- count the rows of the touched keys  (only if num_new_events)
with there as (
    select won."id", won.__auto_cdc_kind, won.__auto_cdc_shows, count(*) as __auto_cdc_copies
    from shop.customers as tgt
    join (
        select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden, evt.__auto_cdc_shows
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won on won."id" = tgt."id"
    group by won."id", won.__auto_cdc_kind, won.__auto_cdc_shows
),
counted as (
    select
        coalesce(sum(case when __auto_cdc_kind = 'delete' then __auto_cdc_copies end), 0) as num_deleted_rows,
        count(case when __auto_cdc_copies > 1 then 1 end) as num_doubled,
        count(case when __auto_cdc_shows and __auto_cdc_kind = 'upsert' then 1 end) as num_found
    from there
),
expected as (
    select count(*) as num_expected
    from (
        select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden, evt.__auto_cdc_shows
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where __auto_cdc_shows and __auto_cdc_kind = 'upsert'
)
select num_deleted_rows, num_doubled + num_expected - num_found as num_odd_keys
from counted
cross join expected;

-- create the quarantine
drop table if exists shop.customers__auto_cdc_quarantine
-- auto_cdc: next statement
create table shop.customers__auto_cdc_quarantine (
    "id" integer,
    "name" character varying(200),
    "note" character varying(200),
    "operation" character varying(200),
    "changed_at" timestamp without time zone,
    "_failed_expectations" varchar(65535),
    "_run_id" varchar(65535),
    "_quarantined_at" timestamp
);

-- keep the rows that were dropped  (only if num_dropped_rows)
insert into shop.customers__auto_cdc_quarantine ("id", "name", "note", "operation", "changed_at", "_failed_expectations", "_run_id", "_quarantined_at")
with dropped_rows as (
    select
        chk."id" as "id",
        chk."name" as "name",
        chk."note" as "note",
        chk."operation" as "operation",
        chk."changed_at" as "changed_at",
        substr(case when not chk.__auto_cdc_passes_0 then ', named' else '' end || case when not chk.__auto_cdc_passes_1 then ', recent' else '' end, 3) as _failed_expectations
    from shop."customers__auto_cdc_checked_c0ffee000002" as chk
    where chk.__auto_cdc_dropped
),
placed as (
    select src.*, row_number() over (partition by src."id", src."name", src."note", src."operation", src."changed_at" order by src._failed_expectations) as __auto_cdc_place
    from dropped_rows as src
)
select
    "id",
    "name",
    "note",
    "operation",
    "changed_at",
    _failed_expectations as _failed_expectations,
    cast('' as varchar(65535)) as _run_id,
    timezone('UTC', cast(getdate() as timestamp with time zone)) as _quarantined_at
from placed
where __auto_cdc_place = 1;

-- write down what becomes of shop.customers  (only if num_new_events)
drop table if exists shop."customers__auto_cdc_target_changes_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_target_changes_c0ffee000002" as
select
    cast(null as integer) as "id",
    cast(null as character varying(200)) as "name",
    cast(null as character varying(200)) as "note",
    cast(null as timestamp without time zone) as "changed_at",
    cast(null as varchar(65535)) as __auto_cdc_locator,
    cast('' as varchar(65535)) as __auto_cdc_action,
    0 as __auto_cdc_step
from (select 1 as one) as nothing
where false
union all
-- only if num_known_keys
select
    cast(null as integer) as "id",
    cast(null as character varying(200)) as "name",
    cast(null as character varying(200)) as "note",
    cast(null as timestamp without time zone) as "changed_at",
    place as __auto_cdc_locator,
    cast('gone' as varchar(65535)) as __auto_cdc_action,
    0 as __auto_cdc_step
from (
select coalesce(cast(length(cast(won."id" as varchar(65535))) as varchar(65535)) || ':' || cast(won."id" as varchar(65535)), '-') from (
    select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
) as won where won.__auto_cdc_kind = 'delete'
) as gone(place) where place is not null
union all
-- only if num_known_keys
select
    cast(row_born."id" as integer) as "id",
    cast(row_born."name" as character varying(200)) as "name",
    cast(row_born."note" as character varying(200)) as "note",
    cast(row_born."changed_at" as timestamp without time zone) as "changed_at",
    coalesce(cast(length(cast(row_born."id" as varchar(65535))) as varchar(65535)) || ':' || cast(row_born."id" as varchar(65535)), '-') as __auto_cdc_locator,
    cast('born' as varchar(65535)) as __auto_cdc_action,
    1 as __auto_cdc_step
from (
select
    born."id",
    born."name",
    born."note",
    born."changed_at"
from (
select evt."id", evt."name", evt."note", evt."changed_at"
from shop."customers__auto_cdc_stage_c0ffee000002" as evt
where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and evt.__auto_cdc_shows
) as born("id", "name", "note", "changed_at")
) as row_born
union all
-- only if num_added_keys
select
    cast(row_born."id" as integer) as "id",
    cast(row_born."name" as character varying(200)) as "name",
    cast(row_born."note" as character varying(200)) as "note",
    cast(row_born."changed_at" as timestamp without time zone) as "changed_at",
    coalesce(cast(length(cast(row_born."id" as varchar(65535))) as varchar(65535)) || ':' || cast(row_born."id" as varchar(65535)), '-') as __auto_cdc_locator,
    cast('born' as varchar(65535)) as __auto_cdc_action,
    2 as __auto_cdc_step
from (
select
    born."id",
    born."name",
    born."note",
    born."changed_at"
from (
select evt."id", evt."name", evt."note", evt."changed_at"
from shop."customers__auto_cdc_stage_c0ffee000002" as evt
where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and not evt.__auto_cdc_shows
) as born("id", "name", "note", "changed_at")
) as row_born;

-- write down what becomes of shop.customers__auto_cdc  (only if num_new_events)
drop table if exists shop."customers__auto_cdc_companion_changes_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_companion_changes_c0ffee000002" as
select
    cast(null as integer) as "id",
    cast(null as timestamp without time zone) as __auto_cdc_sequence,
    cast(null as varchar(65535)) as __auto_cdc_kind,
    cast(null as varchar(65535)) as __auto_cdc_control,
    cast(null as varchar(65535)) as __auto_cdc_locator,
    cast('' as varchar(65535)) as __auto_cdc_action,
    0 as __auto_cdc_step
from (select 1 as one) as nothing
where false
union all
-- only if num_new_events
select
    cast(null as integer) as "id",
    cast(value_0 as timestamp without time zone) as __auto_cdc_sequence,
    cast(value_1 as varchar(65535)) as __auto_cdc_kind,
    cast(null as varchar(65535)) as __auto_cdc_control,
    place as __auto_cdc_locator,
    cast('ended' as varchar(65535)) as __auto_cdc_action,
    0 as __auto_cdc_step
from (
select __auto_cdc_hidden as locator, __auto_cdc_sequence, __auto_cdc_kind from (
    select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
) as won where __auto_cdc_hidden is not null
) as ended(place, value_0, value_1)
union all
-- only if num_new_events
select
    cast(row_born."id" as integer) as "id",
    cast(row_born.__auto_cdc_sequence as timestamp without time zone) as __auto_cdc_sequence,
    cast(row_born.__auto_cdc_kind as varchar(65535)) as __auto_cdc_kind,
    cast(row_born.__auto_cdc_control as varchar(65535)) as __auto_cdc_control,
    coalesce(cast(length(cast(row_born."id" as varchar(65535))) as varchar(65535)) || ':' || cast(row_born."id" as varchar(65535)), '-') || coalesce(cast(length(cast(row_born.__auto_cdc_kind as varchar(65535))) as varchar(65535)) || ':' || cast(row_born.__auto_cdc_kind as varchar(65535)), '-') as __auto_cdc_locator,
    cast('born' as varchar(65535)) as __auto_cdc_action,
    1 as __auto_cdc_step
from (
select
    born."id",
    born.__auto_cdc_sequence,
    born.__auto_cdc_kind,
    cast(null as varchar(65535)) as __auto_cdc_control
from (
select "id", __auto_cdc_sequence, __auto_cdc_kind from (
    select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
) as won where __auto_cdc_hidden is null
) as born("id", __auto_cdc_sequence, __auto_cdc_kind)
) as row_born;

-- write down what is left to do  (only if num_new_events)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "delete from shop.customers where coalesce(cast(length(cast(customers.\\"id\\" as varchar(65535))) as varchar(65535)) || '':'' || cast(customers.\\"id\\" as varchar(65535)), ''-'') in (\\nselect __auto_cdc_locator from shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\" where __auto_cdc_action in (''gone'', ''born'')\\n)"], ["change shop.customers", "insert into shop.customers (\\"id\\", \\"name\\", \\"note\\", \\"changed_at\\")\\nselect \\"id\\", \\"name\\", \\"note\\", \\"changed_at\\" from shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\" where __auto_cdc_action = ''born''"], ["change shop.customers__auto_cdc", "delete from shop.customers__auto_cdc where coalesce(cast(length(cast(customers__auto_cdc.\\"id\\" as varchar(65535))) as varchar(65535)) || '':'' || cast(customers__auto_cdc.\\"id\\" as varchar(65535)), ''-'') || coalesce(cast(length(cast(customers__auto_cdc.__auto_cdc_kind as varchar(65535))) as varchar(65535)) || '':'' || cast(customers__auto_cdc.__auto_cdc_kind as varchar(65535)), ''-'') in (\\nselect __auto_cdc_locator from shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\" where __auto_cdc_action in (''gone'', ''born'')\\n)"], ["change shop.customers__auto_cdc", "update shop.customers__auto_cdc set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_kind = src.__auto_cdc_kind\\nfrom shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\" as src\\nwhere coalesce(cast(length(cast(customers__auto_cdc.\\"id\\" as varchar(65535))) as varchar(65535)) || '':'' || cast(customers__auto_cdc.\\"id\\" as varchar(65535)), ''-'') || coalesce(cast(length(cast(customers__auto_cdc.__auto_cdc_kind as varchar(65535))) as varchar(65535)) || '':'' || cast(customers__auto_cdc.__auto_cdc_kind as varchar(65535)), ''-'') = src.__auto_cdc_locator and src.__auto_cdc_action = ''ended''"], ["change shop.customers__auto_cdc", "insert into shop.customers__auto_cdc (\\"id\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)\\nselect \\"id\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control from shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\" where __auto_cdc_action = ''born''"], ["note that all is written", "update shop.customers__auto_cdc set __auto_cdc_control = ''c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stage_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_checked_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_target_changes_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_companion_changes_c0ffee000002\\\\\\\\\\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}''\\nwhere __auto_cdc_kind = ''journal'' and substr(__auto_cdc_control, 1, 13) = ''c0ffee000002 ''"]], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_checked_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_new_events)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_new_events)
delete from shop.customers where coalesce(cast(length(cast(customers."id" as varchar(65535))) as varchar(65535)) || ':' || cast(customers."id" as varchar(65535)), '-') in (
select __auto_cdc_locator from shop."customers__auto_cdc_target_changes_c0ffee000002" where __auto_cdc_action in ('gone', 'born')
);

-- change shop.customers  (only if num_new_events)
insert into shop.customers ("id", "name", "note", "changed_at")
select "id", "name", "note", "changed_at" from shop."customers__auto_cdc_target_changes_c0ffee000002" where __auto_cdc_action = 'born';

-- change shop.customers__auto_cdc  (only if num_new_events)
delete from shop.customers__auto_cdc where coalesce(cast(length(cast(customers__auto_cdc."id" as varchar(65535))) as varchar(65535)) || ':' || cast(customers__auto_cdc."id" as varchar(65535)), '-') || coalesce(cast(length(cast(customers__auto_cdc.__auto_cdc_kind as varchar(65535))) as varchar(65535)) || ':' || cast(customers__auto_cdc.__auto_cdc_kind as varchar(65535)), '-') in (
select __auto_cdc_locator from shop."customers__auto_cdc_companion_changes_c0ffee000002" where __auto_cdc_action in ('gone', 'born')
);

-- change shop.customers__auto_cdc  (only if num_new_events)
update shop.customers__auto_cdc set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_kind = src.__auto_cdc_kind
from shop."customers__auto_cdc_companion_changes_c0ffee000002" as src
where coalesce(cast(length(cast(customers__auto_cdc."id" as varchar(65535))) as varchar(65535)) || ':' || cast(customers__auto_cdc."id" as varchar(65535)), '-') || coalesce(cast(length(cast(customers__auto_cdc.__auto_cdc_kind as varchar(65535))) as varchar(65535)) || ':' || cast(customers__auto_cdc.__auto_cdc_kind as varchar(65535)), '-') = src.__auto_cdc_locator and src.__auto_cdc_action = 'ended';

-- change shop.customers__auto_cdc  (only if num_new_events)
insert into shop.customers__auto_cdc ("id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select "id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control from shop."customers__auto_cdc_companion_changes_c0ffee000002" where __auto_cdc_action = 'born';

-- note that all is written  (only if num_new_events)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_checked_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_companion_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_checked_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_target_changes_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_companion_changes_c0ffee000002";

-- cross it off  (only if num_new_events)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- let old tombstones go
delete from shop.customers__auto_cdc where __auto_cdc_kind = 'delete' and __auto_cdc_sequence < (
select greatest.sequence - interval '172800 seconds' as bound from (
select max(__auto_cdc_sequence) as sequence from (
select __auto_cdc_sequence from shop.customers__auto_cdc
) as sequences
) as greatest
);
