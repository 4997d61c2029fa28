-- auto_cdc: model customers: build the target

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
select
    src."id" as "id",
    src."name" as "name",
    src."note" as "note",
    src."changed_at" as "changed_at",
    src."changed_at" as __auto_cdc_sequence,
    case when (
    operation = 'T'
) then 'truncate' when (
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

-- keep the events that are new
create temporary table pg_temp."customers__auto_cdc_events" on commit drop as
with truncation as (
    select max(__auto_cdc_sequence) as sequence from (
    select __auto_cdc_sequence from pg_temp."customers__auto_cdc_stage" where __auto_cdc_kind = 'truncate'
    ) as truncates
)
select
    stg."id",
    stg."name",
    stg."note",
    stg."changed_at",
    stg.__auto_cdc_sequence,
    stg.__auto_cdc_kind
from pg_temp."customers__auto_cdc_stage" as stg
cross join truncation
where true and (stg.__auto_cdc_sequence is null or (stg.__auto_cdc_kind <> 'truncate' and (truncation.sequence is null or stg.__auto_cdc_sequence >= truncation.sequence or stg."id" is null)));
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

-- choose each key's greatest event
create temporary table pg_temp."customers__auto_cdc_winners" on commit drop as
select distinct on (evt."id")
    evt.ctid as __auto_cdc_event, evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind
from pg_temp."customers__auto_cdc_events" as evt where true
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
        0 as num_late_rows,
        count(case when stg.__auto_cdc_kind = 'truncate' then 1 end) as num_new_truncates
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
        case when evt.__auto_cdc_kind = 'upsert' then evt."changed_at" end as __auto_cdc_written_2,
        count(*) as __auto_cdc_copies
    from pg_temp."customers__auto_cdc_events" as evt
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
        '{"change_data_feed": false, "engine": "PostgreSQL", "format": 1, "key_types": ["integer"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "1", "sequence_type": "timestamp without time zone", "system_type": "", "track_history": ["all"], "truncates": true}' as __auto_cdc_control
    union all
    select more.*, null as __auto_cdc_control from (
    select "id", __auto_cdc_sequence, __auto_cdc_kind from pg_temp."customers__auto_cdc_winners" as won
    ) as more
    union all
    select more.*, null as __auto_cdc_control from (
    with truncation as (
        select max(__auto_cdc_sequence) as sequence from (
        select __auto_cdc_sequence from pg_temp."customers__auto_cdc_stage" where __auto_cdc_kind = 'truncate'
        ) as truncates
    )
    select cast(null as integer) as "id", sequence as __auto_cdc_sequence, 'truncate' as __auto_cdc_kind from truncation where sequence is not null
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
    from pg_temp."customers__auto_cdc_events" as evt
    join upserts on upserts.__auto_cdc_event = evt.ctid
)
select
    cast("id" as integer) as "id",
    cast("name" as text) as "name",
    cast("note" as text) as "note",
    cast("changed_at" as timestamp without time zone) as "changed_at"
from rows;

-- auto_cdc: model customers: apply the new events

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
with evaluated as (
    select
        src."id" as "id",
        src."name" as "name",
        src."note" as "note",
        src."changed_at" as "changed_at",
        src."changed_at" as __auto_cdc_sequence,
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
    select src.*, (cmp.__auto_cdc_sequence is null or src.__auto_cdc_sequence is null or src.__auto_cdc_sequence > cmp.__auto_cdc_sequence) as __auto_cdc_is_new, coalesce(src.__auto_cdc_sequence < coalesce(cmp.__auto_cdc_sequence, dump.__auto_cdc_latest), false) as __auto_cdc_is_late, cmp.ctid as __auto_cdc_hidden
    from evaluated as src
    left join shop.customers__auto_cdc as cmp on src."id" = cmp."id"
    cross join (select max(__auto_cdc_sequence) as __auto_cdc_latest from shop.customers__auto_cdc where __auto_cdc_kind = 'snapshot') as dump
)
select
    __auto_cdc_is_new,
    __auto_cdc_is_late,
    __auto_cdc_sequence,
    __auto_cdc_kind,
    case when __auto_cdc_is_new then __auto_cdc_hidden end as __auto_cdc_hidden,
    "id",
    case when __auto_cdc_is_new then "name" end as "name",
    case when __auto_cdc_is_new then "note" end as "note",
    case when __auto_cdc_is_new then "changed_at" end as "changed_at"
from told;
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

-- keep the events that are new
create temporary table pg_temp."customers__auto_cdc_events" on commit drop as
with truncation as (
    select max(__auto_cdc_sequence) as sequence from (
    select __auto_cdc_sequence from pg_temp."customers__auto_cdc_stage" where __auto_cdc_kind = 'truncate'
    union all
    select __auto_cdc_sequence from shop.customers__auto_cdc where __auto_cdc_kind = 'truncate'
    ) as truncates
)
select
    stg."id",
    stg."name",
    stg."note",
    stg."changed_at",
    stg.__auto_cdc_sequence,
    stg.__auto_cdc_kind,
    stg.__auto_cdc_hidden
from pg_temp."customers__auto_cdc_stage" as stg
cross join truncation
where stg.__auto_cdc_is_new and (stg.__auto_cdc_sequence is null or (stg.__auto_cdc_kind <> 'truncate' and (truncation.sequence is null or stg.__auto_cdc_sequence >= truncation.sequence or stg."id" is null)));
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

-- choose each key's greatest event
create temporary table pg_temp."customers__auto_cdc_winners" on commit drop as
select distinct on (evt."id")
    evt.ctid as __auto_cdc_event, evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
from pg_temp."customers__auto_cdc_events" as evt where true
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
        count(case when __auto_cdc_is_late and __auto_cdc_kind <> 'truncate' then 1 end) as num_late_rows,
        count(case when stg.__auto_cdc_kind = 'truncate' and (known.latest is null or stg.__auto_cdc_sequence > known.latest) then 1 end) as num_new_truncates
    from pg_temp."customers__auto_cdc_stage" as stg
    cross join (select max(__auto_cdc_sequence) as latest from shop.customers__auto_cdc where __auto_cdc_kind = 'truncate') as known
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
        case when evt.__auto_cdc_kind = 'upsert' then evt."changed_at" end as __auto_cdc_written_2,
        count(*) as __auto_cdc_copies
    from pg_temp."customers__auto_cdc_events" as evt
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

-- remove the truncated rows  (only if num_new_truncates)
delete from shop.customers where ctid = any (array(
    with truncation as (
        select max(__auto_cdc_sequence) as sequence from (
        select __auto_cdc_sequence from pg_temp."customers__auto_cdc_stage" where __auto_cdc_kind = 'truncate'
        union all
        select __auto_cdc_sequence from shop.customers__auto_cdc where __auto_cdc_kind = 'truncate'
        ) as truncates
    )
    select __auto_cdc_around.ctid
    from shop.customers as __auto_cdc_around
    where not exists (
        select 1 from shop.customers__auto_cdc as cmp cross join truncation
        where cmp."id" = __auto_cdc_around."id" and cmp.__auto_cdc_sequence >= truncation.sequence
            and cmp.__auto_cdc_kind = 'upsert'
    )
    and not exists (
        select 1 from (select "id" from pg_temp."customers__auto_cdc_winners") as won
        where won."id" = __auto_cdc_around."id"
    )
));

-- forget what was truncated  (only if num_new_truncates)
delete from shop.customers__auto_cdc where ctid = any (array(
    with truncation as (
        select max(__auto_cdc_sequence) as sequence from (
        select __auto_cdc_sequence from pg_temp."customers__auto_cdc_stage" where __auto_cdc_kind = 'truncate'
        union all
        select __auto_cdc_sequence from shop.customers__auto_cdc where __auto_cdc_kind = 'truncate'
        ) as truncates
    )
    select cmp.ctid from shop.customers__auto_cdc as cmp cross join truncation
    where cmp.__auto_cdc_kind = 'truncate' or (cmp.__auto_cdc_kind in ('upsert', 'delete') and cmp.__auto_cdc_sequence < truncation.sequence)
));

-- remember the truncate  (only if num_new_truncates)
insert into shop.customers__auto_cdc ("id", __auto_cdc_sequence, __auto_cdc_kind)
with truncation as (
    select max(__auto_cdc_sequence) as sequence from (
    select __auto_cdc_sequence from pg_temp."customers__auto_cdc_stage" where __auto_cdc_kind = 'truncate'
    union all
    select __auto_cdc_sequence from shop.customers__auto_cdc where __auto_cdc_kind = 'truncate'
    ) as truncates
)
select cast(null as integer) as "id", sequence as __auto_cdc_sequence, 'truncate' as __auto_cdc_kind from truncation where sequence is not null;

-- delete the rows of the touched keys  (only if num_new_events)
with gone as (
    delete from shop.customers as tgt using pg_temp."customers__auto_cdc_winners" as won where won."id" = tgt."id"
    returning won.__auto_cdc_kind
)
select count(case when __auto_cdc_kind = 'delete' then 1 end) as num_deleted_rows
from gone;

-- insert the rows  (only if num_new_events)
insert into shop.customers ("id", "name", "note", "changed_at")
with upserts as (
    select __auto_cdc_event from pg_temp."customers__auto_cdc_winners" where __auto_cdc_kind = 'upsert'
)
select evt."id", evt."name", evt."note", evt."changed_at"
from pg_temp."customers__auto_cdc_events" as evt
join upserts on upserts.__auto_cdc_event = evt.ctid;

-- forget the keys' old sequences  (only if num_new_events)
delete from shop.customers__auto_cdc where ctid = any (array(
    select __auto_cdc_hidden from pg_temp."customers__auto_cdc_winners" as won where __auto_cdc_hidden is not null
));

-- remember the keys' sequences  (only if num_new_events)
insert into shop.customers__auto_cdc ("id", __auto_cdc_sequence, __auto_cdc_kind)
select "id", __auto_cdc_sequence, __auto_cdc_kind from pg_temp."customers__auto_cdc_winners" as won;
