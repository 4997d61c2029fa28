-- auto_cdc: model customers: build the target

-- read the model's rows, and check what is expected of them
create temporary table pg_temp."customers__auto_cdc_checked" on commit drop as
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
from judged as src;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_checked";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- count what is as expected
select
    count(case when chk.__auto_cdc_passes_0 then 1 end) as expectation_0_passed,
    count(case when not chk.__auto_cdc_passes_0 then 1 end) as expectation_0_failed,
    count(case when chk.__auto_cdc_passes_1 then 1 end) as expectation_1_passed,
    count(case when not chk.__auto_cdc_passes_1 then 1 end) as expectation_1_failed,
    count(case when chk.__auto_cdc_dropped then 1 end) as num_dropped_rows,
    count(case when chk.__auto_cdc_dropped then 1 end) as num_read_rows
from pg_temp."customers__auto_cdc_checked" as chk;

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
select
    src."id" as "id",
    src."name" as "name",
    src."note" as "note",
    src."changed_at" as "changed_at",
    src.__auto_cdc_sequence as __auto_cdc_sequence,
    src.__auto_cdc_kind as __auto_cdc_kind
from pg_temp."customers__auto_cdc_checked" as src
where not src.__auto_cdc_dropped;

-- choose each key's greatest event
create temporary table pg_temp."customers__auto_cdc_winners" on commit drop as
select distinct on (evt."id")
    evt.ctid as __auto_cdc_event, evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind
from pg_temp."customers__auto_cdc_stage" as evt where true
order by evt."id", evt.__auto_cdc_sequence desc;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_winners";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- check the events
with counted as (
    select
        count(*) as num_read_rows,
        0 as num_late_rows
    from pg_temp."customers__auto_cdc_stage" as stg
),
found as (
    select
        count(*) as num_new_events,
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar), 'null') end) as null_sequence_example,
        count(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
    from pg_temp."customers__auto_cdc_stage" as evt
),
repeated as (
    select "id", __auto_cdc_sequence from pg_temp."customers__auto_cdc_stage" as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence having count(*) > 1
),
variants as (
    select
        evt."id",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt."name" collate "C" end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt."note" collate "C" end as __auto_cdc_written_1,
        case when evt.__auto_cdc_kind = 'upsert' then evt."changed_at" end as __auto_cdc_written_2,
        count(*) as __auto_cdc_copies
    from pg_temp."customers__auto_cdc_stage" as evt
    join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5, 6
),
places as (
    select var."id", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, max(case when won.__auto_cdc_sequence is null then 0 else 1 end) = 1 as __auto_cdc_decides
    from variants as var left join pg_temp."customers__auto_cdc_winners" as won on won."id" = var."id" and won.__auto_cdc_sequence = var.__auto_cdc_sequence
    group by var."id", var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places."id" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) end) as num_tied_rows_example
    from places
)
select *
from counted
cross join found
cross join ties;

-- create the companion
create table shop.customers__auto_cdc with (fillfactor = 90) as
with rows as (
    select
        cast(null as integer) as "id",
        cast(null as timestamp without time zone) as __auto_cdc_sequence,
        'control' as __auto_cdc_kind,
        '{"change_data_feed": false, "engine": "PostgreSQL", "format": 1, "key_types": ["integer"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "1", "sequence_type": "timestamp without time zone", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
    union all
    select more.*, null as __auto_cdc_control from (
    select "id", __auto_cdc_sequence, __auto_cdc_kind from pg_temp."customers__auto_cdc_winners" as won
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
create table shop.customers with (fillfactor = 90) as
with upserts as (
    select __auto_cdc_event from pg_temp."customers__auto_cdc_winners" where __auto_cdc_kind = 'upsert'
),
rows as (
    select evt."id", evt."name", evt."note", evt."changed_at"
    from pg_temp."customers__auto_cdc_stage" as evt
    join upserts on upserts.__auto_cdc_event = evt.ctid
)
select
    cast("id" as integer) as "id",
    cast("name" as text) as "name",
    cast("note" as text) as "note",
    cast("changed_at" as timestamp without time zone) as "changed_at"
from rows;

-- create the quarantine
create table shop.customers__auto_cdc_quarantine as
with dropped_rows as (
    select
        chk."id" as "id",
        chk."name" as "name",
        chk."note" as "note",
        chk."operation" as "operation",
        chk."changed_at" as "changed_at",
        substr(case when not chk.__auto_cdc_passes_0 then ', named' else '' end || case when not chk.__auto_cdc_passes_1 then ', recent' else '' end, 3) as _failed_expectations
    from pg_temp."customers__auto_cdc_checked" as chk
    where chk.__auto_cdc_dropped
),
placed as (
    select src.*, row_number() over (partition by src."id", src."name" collate "C", src."note" collate "C", src."operation" collate "C", src."changed_at" order by src._failed_expectations) as __auto_cdc_place
    from dropped_rows as src
)
select
    "id",
    "name",
    "note",
    "operation",
    "changed_at",
    _failed_expectations as _failed_expectations,
    cast('' as varchar) as _run_id,
    (now() at time zone 'UTC') as _quarantined_at
from placed
where __auto_cdc_place = 1;

-- let old tombstones go
delete from shop.customers__auto_cdc where __auto_cdc_kind = 'delete' and __auto_cdc_sequence < (
select greatest.sequence - interval '172800 seconds' as bound from (
select max(__auto_cdc_sequence) as sequence from (
select __auto_cdc_sequence from shop.customers__auto_cdc
) as sequences
) as greatest
);

-- auto_cdc: model customers: apply the new events

-- read the model's rows, and check what is expected of them
create temporary table pg_temp."customers__auto_cdc_checked" on commit drop as
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
from judged as src;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_checked";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- count what is as expected
select
    count(case when chk.__auto_cdc_passes_0 then 1 end) as expectation_0_passed,
    count(case when not chk.__auto_cdc_passes_0 then 1 end) as expectation_0_failed,
    count(case when chk.__auto_cdc_passes_1 then 1 end) as expectation_1_passed,
    count(case when not chk.__auto_cdc_passes_1 then 1 end) as expectation_1_failed,
    count(case when chk.__auto_cdc_dropped then 1 end) as num_dropped_rows,
    count(case when chk.__auto_cdc_dropped then 1 end) as num_read_rows
from pg_temp."customers__auto_cdc_checked" as chk;

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
with evaluated as (
    select
        src."id" as "id",
        src."name" as "name",
        src."note" as "note",
        src."changed_at" as "changed_at",
        src.__auto_cdc_sequence as __auto_cdc_sequence,
        src.__auto_cdc_kind as __auto_cdc_kind
    from pg_temp."customers__auto_cdc_checked" as src
    where not src.__auto_cdc_dropped
),
placed as (
    select src.*, lag(src.__auto_cdc_sequence) over (partition by src."id" order by src.__auto_cdc_sequence desc) is null as __auto_cdc_is_greatest, coalesce(lag(src.__auto_cdc_sequence) over (partition by src."id" order by src.__auto_cdc_sequence desc) = src.__auto_cdc_sequence, false) as __auto_cdc_is_repeated
    from evaluated as src
),
told as (
    select src.*, (cmp.__auto_cdc_sequence is null or src.__auto_cdc_sequence is null or src.__auto_cdc_sequence > cmp.__auto_cdc_sequence) as __auto_cdc_is_new, coalesce(src.__auto_cdc_sequence < cmp.__auto_cdc_sequence, false) as __auto_cdc_is_late, cmp.ctid as __auto_cdc_hidden
    from placed as src
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
    "id",
    case when __auto_cdc_is_new then "name" end as "name",
    case when __auto_cdc_is_new then "note" end as "note",
    case when __auto_cdc_is_new then "changed_at" end as "changed_at"
from told;

-- check the events
select
    count(*) as num_read_rows,
    count(case when evt.__auto_cdc_is_late then 1 end) as num_late_rows,
    count(case when evt.__auto_cdc_is_new then 1 end) as num_new_events,
    count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_repeated then 1 end) as num_repeated_rows,
    count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind = 'upsert' then 1 end) as num_upserted_rows,
    case when count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_sequence is null then 1 end) else 0 end as null_sequence,
    min(case when evt.__auto_cdc_is_new and evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar), 'null') end) as null_sequence_example,
    case when count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when evt.__auto_cdc_is_new and evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) else 0 end as null_key_0,
    min(case when evt.__auto_cdc_is_new and evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
from pg_temp."customers__auto_cdc_stage" as evt;

-- look at events of one key and sequence  (only if num_repeated_rows)
with found as (
    select
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar), 'null') end) as null_sequence_example,
        count(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
    from (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as evt
),
repeated as (
    select "id", __auto_cdc_sequence from (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence having count(*) > 1
),
variants as (
    select
        evt."id",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt."name" collate "C" end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt."note" collate "C" end as __auto_cdc_written_1,
        case when evt.__auto_cdc_kind = 'upsert' then evt."changed_at" end as __auto_cdc_written_2,
        count(*) as __auto_cdc_copies
    from (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as evt
    join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5, 6
),
places as (
    select var."id", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, max(case when won.__auto_cdc_sequence is null then 0 else 1 end) = 1 as __auto_cdc_decides
    from variants as var left join (
        select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from pg_temp."customers__auto_cdc_stage" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won on won."id" = var."id" and won.__auto_cdc_sequence = var.__auto_cdc_sequence
    group by var."id", var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places."id" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) end) as num_tied_rows_example
    from places
)
select *
from found
cross join ties;

-- delete the rows of deleted keys  (only if num_new_events)
with gone as (
    delete from shop.customers as tgt using (
select * from (
    select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
    from pg_temp."customers__auto_cdc_stage" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
) as won where __auto_cdc_kind <> 'upsert'
) as won where won."id" = tgt."id"
    returning won.__auto_cdc_kind
)
select count(case when __auto_cdc_kind = 'delete' then 1 end) as num_deleted_rows
from gone;

-- write the rows  (only if num_new_events)
do $__auto_cdc_0$
declare
    __auto_cdc_written bigint;
begin
    merge into shop.customers as tgt using (
    select evt."id", evt."name", evt."note", evt."changed_at"
    from pg_temp."customers__auto_cdc_stage" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete'
    ) as won on won."id" = tgt."id"
    when matched then update set "id" = won."id", "name" = won."name", "note" = won."note", "changed_at" = won."changed_at"
    when not matched then insert ("id", "name", "note", "changed_at") values (won."id", won."name", won."note", won."changed_at");
    get diagnostics __auto_cdc_written = row_count;
    if __auto_cdc_written > (select count(*) from (
    select evt."id", evt."name", evt."note", evt."changed_at"
    from pg_temp."customers__auto_cdc_stage" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete'
    ) as won) then
        raise cardinality_violation;
    end if;
exception when unique_violation or exclusion_violation or cardinality_violation or feature_not_supported then
    delete from shop.customers as tgt using (
    select evt."id", evt."name", evt."note", evt."changed_at"
    from pg_temp."customers__auto_cdc_stage" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete'
    ) as won where won."id" = tgt."id";
    insert into shop.customers ("id", "name", "note", "changed_at")
    select evt."id", evt."name", evt."note", evt."changed_at"
    from pg_temp."customers__auto_cdc_stage" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete';
end
$__auto_cdc_0$;

-- change the sequences of known keys  (only if num_new_events)
do $__auto_cdc_0$
declare
    __auto_cdc_usual text := current_setting('enable_memoize');
begin
    perform set_config('enable_memoize', 'off', true);
    update shop.customers__auto_cdc as tgt set __auto_cdc_sequence = changed.__auto_cdc_sequence, __auto_cdc_kind = changed.__auto_cdc_kind
from (
select __auto_cdc_hidden as locator, __auto_cdc_sequence, __auto_cdc_kind from (
    select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
    from pg_temp."customers__auto_cdc_stage" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
) as won where __auto_cdc_hidden is not null
) as changed
where tgt.ctid = changed.locator;
    perform set_config('enable_memoize', __auto_cdc_usual, true);
end
$__auto_cdc_0$;

-- remember the sequences of new keys  (only if num_new_events)
insert into shop.customers__auto_cdc ("id", __auto_cdc_sequence, __auto_cdc_kind)
select "id", __auto_cdc_sequence, __auto_cdc_kind from (
    select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
    from pg_temp."customers__auto_cdc_stage" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
) as won where __auto_cdc_hidden is null;

-- create the quarantine
create table shop.customers__auto_cdc_quarantine as
with dropped_rows as (
    select
        chk."id" as "id",
        chk."name" as "name",
        chk."note" as "note",
        chk."operation" as "operation",
        chk."changed_at" as "changed_at",
        substr(case when not chk.__auto_cdc_passes_0 then ', named' else '' end || case when not chk.__auto_cdc_passes_1 then ', recent' else '' end, 3) as _failed_expectations
    from pg_temp."customers__auto_cdc_checked" as chk
    where chk.__auto_cdc_dropped
),
placed as (
    select src.*, row_number() over (partition by src."id", src."name" collate "C", src."note" collate "C", src."operation" collate "C", src."changed_at" order by src._failed_expectations) as __auto_cdc_place
    from dropped_rows as src
)
select
    "id",
    "name",
    "note",
    "operation",
    "changed_at",
    _failed_expectations as _failed_expectations,
    cast('' as varchar) as _run_id,
    (now() at time zone 'UTC') as _quarantined_at
from placed
where __auto_cdc_place = 1;

-- let old tombstones go
delete from shop.customers__auto_cdc where __auto_cdc_kind = 'delete' and __auto_cdc_sequence < (
select greatest.sequence - interval '172800 seconds' as bound from (
select max(__auto_cdc_sequence) as sequence from (
select __auto_cdc_sequence from shop.customers__auto_cdc
) as sequences
) as greatest
);
