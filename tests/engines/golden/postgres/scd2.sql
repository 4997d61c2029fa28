-- auto_cdc: model customers: build the target

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
select
    src."id" as "id",
    src."name" as "name",
    src."note" as "note",
    src."changed_at" as __auto_cdc_sequence,
    case when (
    operation = 'D'
) then 'delete' else 'upsert' end as __auto_cdc_kind
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
        count(*) as __auto_cdc_copies
    from pg_temp."customers__auto_cdc_stage" as evt
    join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5
),
places as (
    select var."id", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, true as __auto_cdc_decides
    from variants as var group by var."id", var.__auto_cdc_sequence
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

-- cut the touched timelines into runs
create temporary table pg_temp."customers__auto_cdc_timeline" on commit drop as
with repeated as (
    select "id", __auto_cdc_sequence from pg_temp."customers__auto_cdc_stage" as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence having count(*) > 1
),
copies as (
    select locator from (
        select evt.ctid as locator,
            row_number() over (partition by evt."id", evt.__auto_cdc_sequence order by evt.__auto_cdc_kind, evt."id" desc nulls last, evt."name" collate "C" desc nulls last, evt."note" collate "C" desc nulls last) as place
        from pg_temp."customers__auto_cdc_stage" as evt
        join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    ) as ranked where place > 1
),
ordered as (
    select * from (
        select
            evt.ctid as __auto_cdc_event,
            evt."id",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
            lag(evt.__auto_cdc_kind) over (partition by evt."id" order by evt.__auto_cdc_sequence) as __auto_cdc_previous,
            lag(evt.ctid) over (partition by evt."id" order by evt.__auto_cdc_sequence) as __auto_cdc_previous_event,
            lag(evt.__auto_cdc_sequence) over (partition by evt."id" order by evt.__auto_cdc_sequence) as __auto_cdc_previous_sequence
        from pg_temp."customers__auto_cdc_stage" as evt
    where evt.ctid not in (select locator from copies)
    ) as neighbours
    where __auto_cdc_previous_sequence is null or __auto_cdc_previous_sequence <> __auto_cdc_sequence
),
differing as (
    select pair.__auto_cdc_event
    from (
        select __auto_cdc_event, __auto_cdc_previous_event from ordered
        where __auto_cdc_kind = 'upsert' and __auto_cdc_previous = 'upsert'
    ) as pair
    join (select ctid as __auto_cdc_event, "name" from pg_temp."customers__auto_cdc_stage") as this on this.__auto_cdc_event = pair.__auto_cdc_event
    left join (select ctid as __auto_cdc_event, "name" from pg_temp."customers__auto_cdc_stage") as that on that.__auto_cdc_event = pair.__auto_cdc_previous_event
    where this."name" collate "C" is distinct from that."name" collate "C"
),
marked as (
    select
        evt.__auto_cdc_event,
        evt."id",
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
        lead(__auto_cdc_sequence) over (partition by "id" order by __auto_cdc_sequence) as __auto_cdc_next,
        __auto_cdc_kind = 'upsert' and coalesce(
            lead(__auto_cdc_opens or __auto_cdc_kind = 'delete') over (partition by "id" order by __auto_cdc_sequence), true
        ) as __auto_cdc_last,
        max(case when __auto_cdc_opens then __auto_cdc_sequence end) over (partition by "id" order by __auto_cdc_sequence rows between unbounded preceding and current row) as __auto_cdc_started
    from marked
)
select
    evt.__auto_cdc_event,
    evt."id",
    evt.__auto_cdc_sequence,
    evt.__auto_cdc_kind,
    evt.__auto_cdc_last,
    case when evt.__auto_cdc_kind = 'upsert' then evt.__auto_cdc_started end as __auto_cdc_run_start,
    case when evt.__auto_cdc_last then evt.__auto_cdc_next end as __auto_cdc_run_end,
    ((evt.__auto_cdc_kind = 'delete' and not evt.__auto_cdc_closes) or (evt.__auto_cdc_kind = 'upsert' and not evt.__auto_cdc_opens) or (evt.__auto_cdc_opens and not evt.__auto_cdc_last)) as __auto_cdc_hides,
    false as __auto_cdc_same
from bounded as evt;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_timeline";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- create the companion
create table shop.customers__auto_cdc with (fillfactor = 90) as
with rows as (
    select
        cast(null as integer) as "id",
        cast(null as timestamp without time zone) as __auto_cdc_sequence,
        'control' as __auto_cdc_kind,
        cast(null as timestamp without time zone) as __auto_cdc_run_start,
        cast(null as text) as "note",
        '{"change_data_feed": false, "engine": "PostgreSQL", "format": 1, "key_types": ["integer"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "2", "sequence_type": "timestamp without time zone", "system_type": "", "track_history": ["except", "note"], "truncates": false}' as __auto_cdc_control
    union all
    select more.*, null as __auto_cdc_control from (
    with missing as (
        select __auto_cdc_event, "id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start
        from pg_temp."customers__auto_cdc_timeline"
        where __auto_cdc_hides
    )
    select missing."id", missing.__auto_cdc_sequence, missing.__auto_cdc_kind, missing.__auto_cdc_run_start, case when evt.__auto_cdc_kind = 'upsert' then evt."note" end as "note"
    from pg_temp."customers__auto_cdc_stage" as evt
    join missing on missing.__auto_cdc_event = evt.ctid
    ) as more
)
select
    cast("id" as integer) as "id",
    cast(__auto_cdc_sequence as timestamp without time zone) as __auto_cdc_sequence,
    cast(__auto_cdc_kind as varchar) as __auto_cdc_kind,
    cast(__auto_cdc_run_start as timestamp without time zone) as __auto_cdc_run_start,
    cast("note" as text) as "note",
    cast(__auto_cdc_control as varchar) as __auto_cdc_control
from rows;

-- make the companion quick to read
create index on shop.customers__auto_cdc ("id");
create index on shop.customers__auto_cdc (__auto_cdc_kind) where __auto_cdc_kind not in ('upsert', 'delete');
analyze shop.customers__auto_cdc;

-- create the target
create table shop.customers with (fillfactor = 90) as
with written as (
    select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
    from pg_temp."customers__auto_cdc_timeline"
    where __auto_cdc_last and not __auto_cdc_same
),
versions as (
    select evt."id", evt."name", evt."note", run.__auto_cdc_run_start as "__start_at", run.__auto_cdc_run_end as "__end_at"
    from pg_temp."customers__auto_cdc_stage" as evt
    join written as run on run.__auto_cdc_event = evt.ctid
)
select
    cast("id" as integer) as "id",
    cast("name" as text) as "name",
    cast("note" as text) as "note",
    cast("__start_at" as timestamp without time zone) as "__start_at",
    cast("__end_at" as timestamp without time zone) as "__end_at"
from versions;

-- auto_cdc: model customers: apply the new events

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
select
    src."id" as "id",
    src."name" as "name",
    src."note" as "note",
    src."changed_at" as __auto_cdc_sequence,
    case when (
    operation = 'D'
) then 'delete' else 'upsert' end as __auto_cdc_kind
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

-- find the versions of the keys
create temporary table pg_temp."customers__auto_cdc_stored" on commit drop as
select tgt."id",
    tgt."__start_at" as __auto_cdc_sequence, tgt."__end_at" as __auto_cdc_old_end, tgt.ctid as __auto_cdc_locator
from shop.customers as tgt
join (select distinct "id" from pg_temp."customers__auto_cdc_stage" order by "id") as stg on stg."id" = tgt."id";
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_stored";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- keep the events that are new
create temporary table pg_temp."customers__auto_cdc_events" on commit drop as
with hidden as (
    select cmp."id", cmp.__auto_cdc_sequence from shop.customers__auto_cdc as cmp where cmp.__auto_cdc_kind = 'delete'
    union all
    select cmp."id", cmp.__auto_cdc_sequence from shop.customers__auto_cdc as cmp
    join pg_temp."customers__auto_cdc_stored" as tgt on tgt."id" = cmp."id" and tgt.__auto_cdc_sequence = cmp.__auto_cdc_run_start and (tgt.__auto_cdc_old_end is null or cmp.__auto_cdc_sequence < tgt.__auto_cdc_old_end)
    where cmp.__auto_cdc_kind = 'upsert'
)
select
    __auto_cdc_around."id",
    __auto_cdc_around."name",
    __auto_cdc_around."note",
    __auto_cdc_around.__auto_cdc_sequence,
    __auto_cdc_around.__auto_cdc_kind
from pg_temp."customers__auto_cdc_stage" as __auto_cdc_around
where not exists (select 1 from pg_temp."customers__auto_cdc_stored" as known where known."id" = __auto_cdc_around."id" and known.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_sequence)
and not exists (select 1 from pg_temp."customers__auto_cdc_stored" as known where known."id" = __auto_cdc_around."id" and known.__auto_cdc_old_end = __auto_cdc_around.__auto_cdc_sequence)
and not exists (select 1 from hidden as known where known."id" = __auto_cdc_around."id" and known.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_sequence);
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    execute 'analyze pg_temp."customers__auto_cdc_events" (' || (
        select string_agg(quote_ident(attname), ', ') from pg_attribute
        where attrelid = 'pg_temp."customers__auto_cdc_events"'::regclass and attnum > 0
            and (attname = any (array['id']) or starts_with(attname, '__auto_cdc_'))
    ) || ')';
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- check the events
with counted as (
    select
        count(*) as num_read_rows
    from pg_temp."customers__auto_cdc_stage" as stg
),
found as (
    select
        count(*) as num_new_events,
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar), 'null') end) as null_sequence_example,
        count(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
    from pg_temp."customers__auto_cdc_events" as evt
),
repeated as (
    select "id", __auto_cdc_sequence from pg_temp."customers__auto_cdc_events" as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence having count(*) > 1
),
variants as (
    select
        evt."id",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt."name" collate "C" end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt."note" collate "C" end as __auto_cdc_written_1,
        count(*) as __auto_cdc_copies
    from pg_temp."customers__auto_cdc_events" as evt
    join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5
),
places as (
    select var."id", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, true as __auto_cdc_decides
    from variants as var group by var."id", var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places."id" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) end) as num_tied_rows_example
    from places
),
late as (
    select (
    select count(*) from pg_temp."customers__auto_cdc_events" as evt
    join (
        select "id", max(__auto_cdc_sequence) as __auto_cdc_latest from (
            select "id", coalesce(__auto_cdc_old_end, __auto_cdc_sequence) as __auto_cdc_sequence from pg_temp."customers__auto_cdc_stored"
            union all
            select cmp."id", cmp.__auto_cdc_sequence
            from shop.customers__auto_cdc as cmp
            join (select distinct "id" from pg_temp."customers__auto_cdc_events") as evt on evt."id" = cmp."id"
        ) as known group by "id"
    ) as head on head."id" = evt."id" and evt.__auto_cdc_sequence < head.__auto_cdc_latest) as num_late_rows
)
select *
from counted
cross join found
cross join ties
cross join late;

-- line up the events of the touched keys  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_line" on commit drop as
with touched as (
    select "id", min(__auto_cdc_sequence) as __auto_cdc_first
    from pg_temp."customers__auto_cdc_events" group by "id"
),
reached as (
    select past."id", past.__auto_cdc_sequence, past.__auto_cdc_old_end, past.__auto_cdc_locator
    from pg_temp."customers__auto_cdc_stored" as past
    join touched on touched."id" = past."id"
    where past.__auto_cdc_old_end is null or past.__auto_cdc_old_end > touched.__auto_cdc_first
),
affected as (
    select
        tgt."id",
        tgt."name",
        tgt."note",
        reached.__auto_cdc_sequence,
        reached.__auto_cdc_old_end,
        reached.__auto_cdc_locator
    from shop.customers as tgt
    join reached on reached.__auto_cdc_locator = tgt.ctid
),
inside as (
    select
        cmp."id",
        cmp.__auto_cdc_sequence,
        cmp.__auto_cdc_run_start,
        cmp."note",
        cmp.ctid as __auto_cdc_hidden
    from shop.customers__auto_cdc as cmp
    join affected on affected."id" = cmp."id" and affected.__auto_cdc_sequence = cmp.__auto_cdc_run_start
        and (affected.__auto_cdc_old_end is null or cmp.__auto_cdc_sequence < affected.__auto_cdc_old_end)
    where cmp.__auto_cdc_kind = 'upsert'
),
latest as (
    select "id", __auto_cdc_run_start, max(__auto_cdc_sequence) as __auto_cdc_latest
    from inside group by "id", __auto_cdc_run_start
)
select
    evt."id" as "id",
    evt."name" as "name",
    evt."note" as "note",
    evt.__auto_cdc_sequence as __auto_cdc_sequence,
    evt.__auto_cdc_kind as __auto_cdc_kind,
    cast(null as tid) as __auto_cdc_locator,
    cast(null as timestamp without time zone) as __auto_cdc_old_end,
    cast(null as tid) as __auto_cdc_hidden,
    cast(null as timestamp without time zone) as __auto_cdc_run_start,
    cast(null as tid) as __auto_cdc_shows
from pg_temp."customers__auto_cdc_events" as evt
union all
select
    tgt."id" as "id",
    tgt."name" as "name",
    case when first.__auto_cdc_hidden is null then tgt."note" else first."note" end as "note",
    tgt.__auto_cdc_sequence as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind,
    tgt.__auto_cdc_locator as __auto_cdc_locator,
    tgt.__auto_cdc_old_end as __auto_cdc_old_end,
    first.__auto_cdc_hidden as __auto_cdc_hidden,
    first.__auto_cdc_run_start as __auto_cdc_run_start,
    case when latest.__auto_cdc_latest is null or latest.__auto_cdc_latest = tgt.__auto_cdc_sequence then tgt.__auto_cdc_locator end as __auto_cdc_shows
from affected as tgt
left join inside as first on first."id" = tgt."id" and first.__auto_cdc_sequence = tgt.__auto_cdc_sequence
left join latest on latest."id" = tgt."id" and latest.__auto_cdc_run_start = tgt.__auto_cdc_sequence
union all
select
    tgt."id" as "id",
    tgt."name" as "name",
    case when cmp.__auto_cdc_sequence = latest.__auto_cdc_latest then tgt."note" else cmp."note" end as "note",
    cmp.__auto_cdc_sequence as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind,
    cast(null as tid) as __auto_cdc_locator,
    cast(null as timestamp without time zone) as __auto_cdc_old_end,
    cmp.__auto_cdc_hidden as __auto_cdc_hidden,
    cmp.__auto_cdc_run_start as __auto_cdc_run_start,
    case when cmp.__auto_cdc_sequence = latest.__auto_cdc_latest then tgt.__auto_cdc_locator end as __auto_cdc_shows
from inside as cmp
join affected as tgt on tgt."id" = cmp."id" and tgt.__auto_cdc_sequence = cmp.__auto_cdc_run_start
join latest on latest."id" = cmp."id" and latest.__auto_cdc_run_start = cmp.__auto_cdc_run_start
where cmp.__auto_cdc_sequence > cmp.__auto_cdc_run_start
union all
select
    __auto_cdc_around."id" as "id",
    cast(null as text) as "name",
    cast(null as text) as "note",
    __auto_cdc_around.__auto_cdc_old_end as __auto_cdc_sequence,
    'delete' as __auto_cdc_kind,
    cast(null as tid) as __auto_cdc_locator,
    cast(null as timestamp without time zone) as __auto_cdc_old_end,
    cast(null as tid) as __auto_cdc_hidden,
    cast(null as timestamp without time zone) as __auto_cdc_run_start,
    cast(null as tid) as __auto_cdc_shows
from affected as __auto_cdc_around
where __auto_cdc_around.__auto_cdc_old_end is not null and not exists (
    select 1 from reached as next where next."id" = __auto_cdc_around."id" and next.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_old_end
)
union all
select
    __auto_cdc_around."id" as "id",
    cast(null as text) as "name",
    cast(null as text) as "note",
    __auto_cdc_around.__auto_cdc_sequence as __auto_cdc_sequence,
    'delete' as __auto_cdc_kind,
    cast(null as tid) as __auto_cdc_locator,
    cast(null as timestamp without time zone) as __auto_cdc_old_end,
    __auto_cdc_around.ctid as __auto_cdc_hidden,
    cast(null as timestamp without time zone) as __auto_cdc_run_start,
    cast(null as tid) as __auto_cdc_shows
from shop.customers__auto_cdc as __auto_cdc_around
join touched on touched."id" = __auto_cdc_around."id" and __auto_cdc_around.__auto_cdc_sequence > touched.__auto_cdc_first
where __auto_cdc_around.__auto_cdc_kind = 'delete' and not exists (
    select 1 from reached where reached."id" = __auto_cdc_around."id" and reached.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_sequence
);
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    execute 'analyze pg_temp."customers__auto_cdc_line" (' || (
        select string_agg(quote_ident(attname), ', ') from pg_attribute
        where attrelid = 'pg_temp."customers__auto_cdc_line"'::regclass and attnum > 0
            and (attname = any (array['id']) or starts_with(attname, '__auto_cdc_'))
    ) || ')';
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- cut the touched timelines into runs  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_timeline" on commit drop as
with repeated as (
    select "id", __auto_cdc_sequence from pg_temp."customers__auto_cdc_events" as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence having count(*) > 1
),
copies as (
    select locator from (
        select evt.ctid as locator,
            row_number() over (partition by evt."id", evt.__auto_cdc_sequence order by evt.__auto_cdc_kind, evt."id" desc nulls last, evt."name" collate "C" desc nulls last, evt."note" collate "C" desc nulls last) as place
        from pg_temp."customers__auto_cdc_line" as evt
        join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    ) as ranked where place > 1
),
ordered as (
    select * from (
        select
            evt.ctid as __auto_cdc_event,
            evt."id",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        evt.__auto_cdc_locator,
        evt.__auto_cdc_old_end,
        evt.__auto_cdc_hidden,
        evt.__auto_cdc_run_start,
        evt.__auto_cdc_shows,
            lag(evt.__auto_cdc_kind) over (partition by evt."id" order by evt.__auto_cdc_sequence, case when evt.__auto_cdc_hidden is null then 1 else 0 end) as __auto_cdc_previous,
            lag(evt.ctid) over (partition by evt."id" order by evt.__auto_cdc_sequence, case when evt.__auto_cdc_hidden is null then 1 else 0 end) as __auto_cdc_previous_event,
            lag(evt.__auto_cdc_sequence) over (partition by evt."id" order by evt.__auto_cdc_sequence, case when evt.__auto_cdc_hidden is null then 1 else 0 end) as __auto_cdc_previous_sequence
        from pg_temp."customers__auto_cdc_line" as evt
    where evt.ctid not in (select locator from copies)
    ) as neighbours
    where __auto_cdc_previous_sequence is null or __auto_cdc_previous_sequence <> __auto_cdc_sequence
),
differing as (
    select pair.__auto_cdc_event
    from (
        select __auto_cdc_event, __auto_cdc_previous_event from ordered
        where __auto_cdc_kind = 'upsert' and __auto_cdc_previous = 'upsert'
    ) as pair
    join (select ctid as __auto_cdc_event, "name" from pg_temp."customers__auto_cdc_line") as this on this.__auto_cdc_event = pair.__auto_cdc_event
    left join (select ctid as __auto_cdc_event, "name" from pg_temp."customers__auto_cdc_line") as that on that.__auto_cdc_event = pair.__auto_cdc_previous_event
    where this."name" collate "C" is distinct from that."name" collate "C"
),
marked as (
    select
        evt.__auto_cdc_event,
        evt."id",
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
        lead(__auto_cdc_sequence) over (partition by "id" order by __auto_cdc_sequence) as __auto_cdc_next,
        __auto_cdc_kind = 'upsert' and coalesce(
            lead(__auto_cdc_opens or __auto_cdc_kind = 'delete') over (partition by "id" order by __auto_cdc_sequence), true
        ) as __auto_cdc_last,
        max(case when __auto_cdc_opens then __auto_cdc_sequence end) over (partition by "id" order by __auto_cdc_sequence rows between unbounded preceding and current row) as __auto_cdc_started
    from marked
)
select
    evt.__auto_cdc_event,
    evt."id",
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
    coalesce(past.__auto_cdc_locator is not null and (evt.__auto_cdc_shows = past.__auto_cdc_locator or (not (this."note" collate "C" is distinct from shown."note" collate "C"))), false) as __auto_cdc_same,
    evt.__auto_cdc_next is distinct from past.__auto_cdc_old_end as __auto_cdc_moved
from bounded as evt
left join bounded as past on past."id" = evt."id"
    and past.__auto_cdc_sequence = case when evt.__auto_cdc_last then evt.__auto_cdc_started end and past.__auto_cdc_locator is not null
left join (select ctid as __auto_cdc_event, "note" from pg_temp."customers__auto_cdc_line") as this
    on this.__auto_cdc_event = case when past.__auto_cdc_locator is not null then evt.__auto_cdc_event end
left join (select __auto_cdc_shows, "note" from pg_temp."customers__auto_cdc_line" where __auto_cdc_shows is not null) as shown
    on shown.__auto_cdc_shows = past.__auto_cdc_locator;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_timeline";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- measure what changes  (only if num_new_events)
with stored as (
    select 'id=' || coalesce(cast(evt."id" as varchar), 'null') || ' from ' || coalesce(cast(evt.__auto_cdc_sequence as varchar), 'null') as example,
        evt.__auto_cdc_sequence as start_at, evt.__auto_cdc_old_end as end_at,
        lead(evt.__auto_cdc_sequence) over (partition by evt."id" order by evt.__auto_cdc_sequence) as next_start_at
    from pg_temp."customers__auto_cdc_line" as evt where evt.__auto_cdc_locator is not null
),
crossed as (
    select example from stored
    where start_at is null or end_at <= start_at or next_start_at < end_at
        or (end_at is null and next_start_at is not null)
),
orphaned as (
    select __auto_cdc_around.ctid as locator
    from shop.customers__auto_cdc as __auto_cdc_around
    join (select distinct "id" from pg_temp."customers__auto_cdc_events") as evt on evt."id" = __auto_cdc_around."id"
    where __auto_cdc_around.__auto_cdc_kind = 'upsert'
    and not exists (select 1 from pg_temp."customers__auto_cdc_stored" as tgt where tgt."id" = __auto_cdc_around."id" and tgt.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_run_start and (tgt.__auto_cdc_old_end is null or __auto_cdc_around.__auto_cdc_sequence < tgt.__auto_cdc_old_end))
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
from pg_temp."customers__auto_cdc_timeline";

-- delete versions, ended ones too  (only if num_versions_ended_and_few)
delete from shop.customers where ctid = any (array(
    with kept as (
        select __auto_cdc_replaces as locator from pg_temp."customers__auto_cdc_timeline" where __auto_cdc_same and not __auto_cdc_moved
    )
    select __auto_cdc_around.__auto_cdc_locator from pg_temp."customers__auto_cdc_timeline" as __auto_cdc_around
    where __auto_cdc_around.__auto_cdc_locator is not null and not exists (select 1 from kept where kept.locator = __auto_cdc_around.__auto_cdc_locator)
));

-- insert versions, ended ones too  (only if num_versions_ended_and_few)
insert into shop.customers ("id", "name", "note", "__start_at", "__end_at")
with written as (
    select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
    from pg_temp."customers__auto_cdc_timeline"
    where __auto_cdc_last and not (__auto_cdc_same and not __auto_cdc_moved)
)
select evt."id", evt."name", evt."note", run.__auto_cdc_run_start as "__start_at", run.__auto_cdc_run_end as "__end_at"
from pg_temp."customers__auto_cdc_line" as evt
join written as run on run.__auto_cdc_event = evt.ctid;

-- end versions in place  (only if num_versions_ended_and_many)
do $__auto_cdc_0$
declare
    __auto_cdc_usual text := current_setting('enable_memoize');
begin
    perform set_config('enable_memoize', 'off', true);
    update shop.customers as tgt set "__end_at" = changed.value
from (
select __auto_cdc_replaces as locator, __auto_cdc_run_end as value
from pg_temp."customers__auto_cdc_timeline"
where __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved
) as changed
where tgt.ctid = changed.locator;
    perform set_config('enable_memoize', __auto_cdc_usual, true);
end
$__auto_cdc_0$;

-- delete versions  (only if num_versions_removed)
delete from shop.customers where ctid = any (array(
    with kept as (
        select __auto_cdc_replaces as locator from pg_temp."customers__auto_cdc_timeline" where __auto_cdc_same
    )
    select __auto_cdc_around.__auto_cdc_locator from pg_temp."customers__auto_cdc_timeline" as __auto_cdc_around
    where __auto_cdc_around.__auto_cdc_locator is not null and not exists (select 1 from kept where kept.locator = __auto_cdc_around.__auto_cdc_locator)
));

-- insert versions  (only if num_versions_written)
insert into shop.customers ("id", "name", "note", "__start_at", "__end_at")
with written as (
    select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
    from pg_temp."customers__auto_cdc_timeline"
    where __auto_cdc_last and not __auto_cdc_same
)
select evt."id", evt."name", evt."note", run.__auto_cdc_run_start as "__start_at", run.__auto_cdc_run_end as "__end_at"
from pg_temp."customers__auto_cdc_line" as evt
join written as run on run.__auto_cdc_event = evt.ctid;

-- forget hidden events  (only if num_hidden_forgotten)
delete from shop.customers__auto_cdc where ctid = any (array(
    with orphaned as (
        select __auto_cdc_around.ctid as locator
        from shop.customers__auto_cdc as __auto_cdc_around
        join (select distinct "id" from pg_temp."customers__auto_cdc_events") as evt on evt."id" = __auto_cdc_around."id"
        where __auto_cdc_around.__auto_cdc_kind = 'upsert'
        and not exists (select 1 from pg_temp."customers__auto_cdc_stored" as tgt where tgt."id" = __auto_cdc_around."id" and tgt.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_run_start and (tgt.__auto_cdc_old_end is null or __auto_cdc_around.__auto_cdc_sequence < tgt.__auto_cdc_old_end))
    )
    select __auto_cdc_hidden as locator from pg_temp."customers__auto_cdc_timeline"
    where __auto_cdc_hidden is not null and not (__auto_cdc_hides and __auto_cdc_hidden is not null and (__auto_cdc_kind = 'delete' or __auto_cdc_was_in = __auto_cdc_run_start))
    union all
    select locator from orphaned
));

-- remember hidden events  (only if num_hidden_remembered)
insert into shop.customers__auto_cdc ("id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, "note")
with missing as (
    select __auto_cdc_event, "id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start
    from pg_temp."customers__auto_cdc_timeline"
    where __auto_cdc_hides and not (__auto_cdc_hidden is not null and (__auto_cdc_kind = 'delete' or __auto_cdc_was_in = __auto_cdc_run_start))
)
select missing."id", missing.__auto_cdc_sequence, missing.__auto_cdc_kind, missing.__auto_cdc_run_start, case when evt.__auto_cdc_kind = 'upsert' then evt."note" end as "note"
from pg_temp."customers__auto_cdc_line" as evt
join missing on missing.__auto_cdc_event = evt.ctid;
