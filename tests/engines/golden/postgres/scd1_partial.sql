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

-- bring the events of a key together
create temporary table pg_temp."customers__auto_cdc_sums" on commit drop as
with sent as (
    select
        evt."id",
        case when evt.__auto_cdc_kind = 'upsert' then evt."name" end as "name",
        case when evt.__auto_cdc_kind = 'upsert' then evt."note" end as "note",
        evt."changed_at",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind
    from pg_temp."customers__auto_cdc_stage" as evt
)
select
    evt."id",
    max(case when evt.__auto_cdc_kind = 'upsert' then evt.__auto_cdc_sequence end) as __auto_cdc_greatest,
    max(case when evt.__auto_cdc_kind = 'delete' then evt.__auto_cdc_sequence end) as __auto_cdc_deleted,
    (array_agg(evt."name" order by evt.__auto_cdc_sequence desc) filter (where evt."name" is not null))[1] as "name",
    max(case when evt."name" is not null then evt.__auto_cdc_sequence end) as __auto_cdc_fresh_1,
    (array_agg(evt."note" order by evt.__auto_cdc_sequence desc) filter (where evt."note" is not null))[1] as "note",
    max(case when evt."note" is not null then evt.__auto_cdc_sequence end) as __auto_cdc_fresh_2,
    (array_agg(evt."changed_at" order by evt.__auto_cdc_sequence desc) filter (where evt.__auto_cdc_kind = 'upsert' and true))[1] as "changed_at"
from sent as evt
group by evt."id";
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_sums";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- merge the events of a key with what it has
create temporary table pg_temp."customers__auto_cdc_winners" on commit drop as
with bounded as (
    select evt.*, evt.__auto_cdc_greatest as __auto_cdc_last, evt.__auto_cdc_deleted as __auto_cdc_next
    from pg_temp."customers__auto_cdc_sums" as evt
),
judged as (
    select
        evt.*,
        case when (evt.__auto_cdc_next is null or evt.__auto_cdc_last > evt.__auto_cdc_next) then evt.__auto_cdc_last end as __auto_cdc_shows,
        evt.__auto_cdc_fresh_1 is not null and (evt.__auto_cdc_next is null or evt.__auto_cdc_fresh_1 > evt.__auto_cdc_next) as __auto_cdc_opens_1,
        evt.__auto_cdc_fresh_2 is not null and (evt.__auto_cdc_next is null or evt.__auto_cdc_fresh_2 > evt.__auto_cdc_next) as __auto_cdc_opens_2,
        evt.__auto_cdc_greatest is not null and (evt.__auto_cdc_next is null or evt.__auto_cdc_greatest > evt.__auto_cdc_next) as __auto_cdc_opens_3
    from bounded as evt
)
select
    evt."id",
    coalesce(evt.__auto_cdc_shows, evt.__auto_cdc_next) as __auto_cdc_sequence,
    case when evt.__auto_cdc_shows is null then 'delete' else 'upsert' end as __auto_cdc_kind,
    case when evt.__auto_cdc_shows is not null then evt.__auto_cdc_next end as __auto_cdc_floor,
    case when evt.__auto_cdc_opens_1 then evt."name" end as "name",
    case when evt.__auto_cdc_opens_1 then evt.__auto_cdc_fresh_1 end as __auto_cdc_fresh_1,
    case when evt.__auto_cdc_opens_1 then evt.__auto_cdc_fresh_1 end as "__auto_cdc_author_name",
    case when evt.__auto_cdc_opens_2 then evt."note" end as "note",
    case when evt.__auto_cdc_opens_2 then evt.__auto_cdc_fresh_2 end as __auto_cdc_fresh_2,
    case when evt.__auto_cdc_opens_2 then evt.__auto_cdc_fresh_2 end as "__auto_cdc_author_note",
    case when evt.__auto_cdc_opens_3 then evt."changed_at" end as "changed_at",
    case when evt.__auto_cdc_opens_3 then evt.__auto_cdc_greatest end as __auto_cdc_fresh_3,
    evt.__auto_cdc_shows is not null and ((evt.__auto_cdc_greatest is not null)) as __auto_cdc_writes
from judged as evt;
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
disputed as (
    select distinct var."id", var.__auto_cdc_sequence
    from variants as var
    join variants as other on other."id" = var."id" and other.__auto_cdc_sequence = var.__auto_cdc_sequence
    join pg_temp."customers__auto_cdc_winners" as won on won."id" = var."id"
    where (var.__auto_cdc_kind <> other.__auto_cdc_kind and case when won.__auto_cdc_kind = 'delete' then won.__auto_cdc_sequence else won.__auto_cdc_floor end = var.__auto_cdc_sequence) or (var.__auto_cdc_written_0 <> other.__auto_cdc_written_0 and won.__auto_cdc_fresh_1 = var.__auto_cdc_sequence) or (var.__auto_cdc_written_1 <> other.__auto_cdc_written_1 and won.__auto_cdc_fresh_2 = var.__auto_cdc_sequence) or (var.__auto_cdc_kind = 'upsert' and other.__auto_cdc_kind = 'upsert' and var.__auto_cdc_written_2 is distinct from other.__auto_cdc_written_2 and won.__auto_cdc_fresh_3 = var.__auto_cdc_sequence)
),
places as (
    select var."id", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, count(disputed.__auto_cdc_sequence) > 0 as __auto_cdc_decides
    from variants as var left join disputed on disputed."id" = var."id" and disputed.__auto_cdc_sequence = var.__auto_cdc_sequence
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
        cast(null as timestamp without time zone) as __auto_cdc_floor,
        cast(null as timestamp without time zone) as "__auto_cdc_author_name",
        cast(null as timestamp without time zone) as "__auto_cdc_author_note",
        '{"change_data_feed": false, "engine": "PostgreSQL", "format": 1, "key_types": ["integer"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "1", "sequence_type": "timestamp without time zone", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
    union all
    select more.*, null as __auto_cdc_control from (
    select "id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, "__auto_cdc_author_name", "__auto_cdc_author_note" from pg_temp."customers__auto_cdc_winners"
    ) as more
)
select
    cast("id" as integer) as "id",
    cast(__auto_cdc_sequence as timestamp without time zone) as __auto_cdc_sequence,
    cast(__auto_cdc_kind as varchar) as __auto_cdc_kind,
    cast(__auto_cdc_floor as timestamp without time zone) as __auto_cdc_floor,
    cast("__auto_cdc_author_name" as timestamp without time zone) as "__auto_cdc_author_name",
    cast("__auto_cdc_author_note" as timestamp without time zone) as "__auto_cdc_author_note",
    cast(__auto_cdc_control as varchar) as __auto_cdc_control
from rows;

-- make the companion quick to read
create index on shop.customers__auto_cdc ("id");
create index on shop.customers__auto_cdc (__auto_cdc_kind) where __auto_cdc_kind not in ('upsert', 'delete');
analyze shop.customers__auto_cdc;

-- create the target
create table shop.customers as
with rows as (
    select won."id", won."name", won."note", won."changed_at"
    from pg_temp."customers__auto_cdc_winners" as won
    where won.__auto_cdc_writes
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
        operation = 'D'
    ) then 'delete' else 'upsert' end as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
),
told as (
    select src.*, (cmp.__auto_cdc_sequence is null or src.__auto_cdc_sequence is null or src.__auto_cdc_sequence > cmp.__auto_cdc_sequence or (cmp.__auto_cdc_kind = 'upsert' and (cmp.__auto_cdc_floor is null or src.__auto_cdc_sequence > cmp.__auto_cdc_floor) and case when src.__auto_cdc_kind = 'upsert' then (src."name" is not null and (cmp."__auto_cdc_author_name" is null or src.__auto_cdc_sequence > cmp."__auto_cdc_author_name")) or (src."note" is not null and (cmp."__auto_cdc_author_note" is null or src.__auto_cdc_sequence > cmp."__auto_cdc_author_note")) else src.__auto_cdc_sequence < cmp.__auto_cdc_sequence and (cmp."__auto_cdc_author_name" is null or src.__auto_cdc_sequence <> cmp."__auto_cdc_author_name") and (cmp."__auto_cdc_author_note" is null or src.__auto_cdc_sequence <> cmp."__auto_cdc_author_note") end)) as __auto_cdc_is_new, coalesce(src.__auto_cdc_sequence < cmp.__auto_cdc_sequence, false) as __auto_cdc_is_late, cmp.ctid as __auto_cdc_hidden, case when cmp.__auto_cdc_kind = 'upsert' then cmp.__auto_cdc_sequence end as __auto_cdc_latest, case when cmp.__auto_cdc_kind = 'upsert' then cmp.__auto_cdc_floor else cmp.__auto_cdc_sequence end as __auto_cdc_floor, cmp."__auto_cdc_author_name" as "__auto_cdc_author_name", cmp."__auto_cdc_author_note" as "__auto_cdc_author_note"
    from evaluated as src
    left join shop.customers__auto_cdc as cmp on src."id" = cmp."id"
)
select
    __auto_cdc_is_new,
    __auto_cdc_is_late,
    __auto_cdc_sequence,
    __auto_cdc_kind,
    case when __auto_cdc_is_new then __auto_cdc_hidden end as __auto_cdc_hidden,
    case when __auto_cdc_is_new then __auto_cdc_latest end as __auto_cdc_latest,
    case when __auto_cdc_is_new then __auto_cdc_floor end as __auto_cdc_floor,
    case when __auto_cdc_is_new then "__auto_cdc_author_name" end as "__auto_cdc_author_name",
    case when __auto_cdc_is_new then "__auto_cdc_author_note" end as "__auto_cdc_author_note",
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

-- bring the events of a key together
create temporary table pg_temp."customers__auto_cdc_sums" on commit drop as
with sent as (
    select
        evt."id",
        case when evt.__auto_cdc_kind = 'upsert' then evt."name" end as "name",
        case when evt.__auto_cdc_kind = 'upsert' then evt."note" end as "note",
        evt."changed_at",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        evt.__auto_cdc_hidden,
        evt.__auto_cdc_latest,
        evt.__auto_cdc_floor,
        evt."__auto_cdc_author_name",
        evt."__auto_cdc_author_note"
    from (select * from pg_temp."customers__auto_cdc_stage" where __auto_cdc_is_new) as evt
)
select
    evt."id",
    max(evt.__auto_cdc_hidden) as __auto_cdc_hidden,
    max(evt.__auto_cdc_latest) as __auto_cdc_latest,
    max(evt.__auto_cdc_floor) as __auto_cdc_floor,
    max(evt."__auto_cdc_author_name") as "__auto_cdc_author_name",
    max(evt."__auto_cdc_author_note") as "__auto_cdc_author_note",
    max(case when evt.__auto_cdc_kind = 'upsert' then evt.__auto_cdc_sequence end) as __auto_cdc_greatest,
    max(case when evt.__auto_cdc_kind = 'delete' then evt.__auto_cdc_sequence end) as __auto_cdc_deleted,
    (array_agg(evt."name" order by evt.__auto_cdc_sequence desc) filter (where evt."name" is not null))[1] as "name",
    max(case when evt."name" is not null then evt.__auto_cdc_sequence end) as __auto_cdc_fresh_1,
    (array_agg(evt."note" order by evt.__auto_cdc_sequence desc) filter (where evt."note" is not null))[1] as "note",
    max(case when evt."note" is not null then evt.__auto_cdc_sequence end) as __auto_cdc_fresh_2,
    (array_agg(evt."changed_at" order by evt.__auto_cdc_sequence desc) filter (where evt.__auto_cdc_kind = 'upsert' and true))[1] as "changed_at"
from sent as evt
group by evt."id";
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_sums";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- find the rows of the touched keys
create temporary table pg_temp."customers__auto_cdc_gone" on commit drop as
select tgt."id", tgt.ctid as __auto_cdc_locator
from shop.customers as tgt
join pg_temp."customers__auto_cdc_sums" as evt on evt."id" = tgt."id";
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_gone";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- merge the events of a key with what it has
create temporary table pg_temp."customers__auto_cdc_winners" on commit drop as
with bounded as (
    select evt.*, case when evt.__auto_cdc_greatest is null or evt.__auto_cdc_latest > evt.__auto_cdc_greatest then evt.__auto_cdc_latest else evt.__auto_cdc_greatest end as __auto_cdc_last, case when evt.__auto_cdc_deleted is null or evt.__auto_cdc_floor > evt.__auto_cdc_deleted then evt.__auto_cdc_floor else evt.__auto_cdc_deleted end as __auto_cdc_next
    from pg_temp."customers__auto_cdc_sums" as evt
),
judged as (
    select
        evt.*,
        case when (evt.__auto_cdc_next is null or evt.__auto_cdc_last > evt.__auto_cdc_next) then evt.__auto_cdc_last end as __auto_cdc_shows,
        evt.__auto_cdc_fresh_1 is not null and (evt.__auto_cdc_next is null or evt.__auto_cdc_fresh_1 > evt.__auto_cdc_next) and (evt."__auto_cdc_author_name" is null or evt.__auto_cdc_fresh_1 > evt."__auto_cdc_author_name") as __auto_cdc_opens_1,
        case when evt."__auto_cdc_author_name" is null then evt.__auto_cdc_deleted is null and case when evt.__auto_cdc_hidden is null then evt.__auto_cdc_next is null else evt.__auto_cdc_latest is not null end else (evt.__auto_cdc_next is null or evt."__auto_cdc_author_name" > evt.__auto_cdc_next) end as __auto_cdc_started_1,
        evt.__auto_cdc_fresh_2 is not null and (evt.__auto_cdc_next is null or evt.__auto_cdc_fresh_2 > evt.__auto_cdc_next) and (evt."__auto_cdc_author_note" is null or evt.__auto_cdc_fresh_2 > evt."__auto_cdc_author_note") as __auto_cdc_opens_2,
        case when evt."__auto_cdc_author_note" is null then evt.__auto_cdc_deleted is null and case when evt.__auto_cdc_hidden is null then evt.__auto_cdc_next is null else evt.__auto_cdc_latest is not null end else (evt.__auto_cdc_next is null or evt."__auto_cdc_author_note" > evt.__auto_cdc_next) end as __auto_cdc_started_2,
        evt.__auto_cdc_greatest is not null and (evt.__auto_cdc_next is null or evt.__auto_cdc_greatest > evt.__auto_cdc_next) and (evt.__auto_cdc_latest is null or evt.__auto_cdc_greatest > evt.__auto_cdc_latest) as __auto_cdc_opens_3,
        case when evt.__auto_cdc_latest is null then true else (evt.__auto_cdc_next is null or evt.__auto_cdc_latest > evt.__auto_cdc_next) end as __auto_cdc_started_3
    from bounded as evt
),
place as (
    select "id", min(__auto_cdc_locator) as __auto_cdc_locator
    from pg_temp."customers__auto_cdc_gone" group by "id"
),
held as (
    select
        tgt."id",
        tgt."name" as __auto_cdc_was_1,
        tgt."note" as __auto_cdc_was_2,
        tgt."changed_at" as __auto_cdc_was_3
    from shop.customers as tgt
    join (
        select place.__auto_cdc_locator
        from judged as evt
        join place on place."id" = evt."id"
        where evt.__auto_cdc_shows is not null and ((evt.__auto_cdc_started_1 and not evt.__auto_cdc_opens_1) or (evt.__auto_cdc_started_2 and not evt.__auto_cdc_opens_2) or (evt.__auto_cdc_started_3 and not evt.__auto_cdc_opens_3))
    ) as kept on kept.__auto_cdc_locator = tgt.ctid
)
select
    evt."id",
    coalesce(evt.__auto_cdc_shows, evt.__auto_cdc_next) as __auto_cdc_sequence,
    case when evt.__auto_cdc_shows is null then 'delete' else 'upsert' end as __auto_cdc_kind,
    case when evt.__auto_cdc_shows is not null then evt.__auto_cdc_next end as __auto_cdc_floor,
    evt.__auto_cdc_hidden,
    case when evt.__auto_cdc_opens_1 then evt."name" when evt.__auto_cdc_started_1 then held.__auto_cdc_was_1 end as "name",
    case when evt.__auto_cdc_opens_1 then evt.__auto_cdc_fresh_1 end as __auto_cdc_fresh_1,
    case when evt.__auto_cdc_opens_1 then evt.__auto_cdc_fresh_1 when evt.__auto_cdc_started_1 then evt."__auto_cdc_author_name" end as "__auto_cdc_author_name",
    case when evt.__auto_cdc_opens_2 then evt."note" when evt.__auto_cdc_started_2 then held.__auto_cdc_was_2 end as "note",
    case when evt.__auto_cdc_opens_2 then evt.__auto_cdc_fresh_2 end as __auto_cdc_fresh_2,
    case when evt.__auto_cdc_opens_2 then evt.__auto_cdc_fresh_2 when evt.__auto_cdc_started_2 then evt."__auto_cdc_author_note" end as "__auto_cdc_author_note",
    case when evt.__auto_cdc_opens_3 then evt."changed_at" when evt.__auto_cdc_started_3 then held.__auto_cdc_was_3 end as "changed_at",
    case when evt.__auto_cdc_opens_3 then evt.__auto_cdc_greatest end as __auto_cdc_fresh_3,
    evt.__auto_cdc_shows is not null and ((evt.__auto_cdc_greatest is not null and (evt.__auto_cdc_latest is null or evt.__auto_cdc_greatest > evt.__auto_cdc_latest)) or (place.__auto_cdc_locator is not null and (evt.__auto_cdc_opens_1 or (evt."__auto_cdc_author_name" is not null and not evt.__auto_cdc_started_1) or evt.__auto_cdc_opens_2 or (evt."__auto_cdc_author_note" is not null and not evt.__auto_cdc_started_2)))) as __auto_cdc_writes
from judged as evt
left join place on place."id" = evt."id"
left join held on held."id" = evt."id";
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
        count(case when __auto_cdc_is_late and __auto_cdc_kind <> 'truncate' then 1 end) as num_late_rows
    from pg_temp."customers__auto_cdc_stage" as stg
),
found as (
    select
        count(*) as num_new_events,
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
disputed as (
    select distinct var."id", var.__auto_cdc_sequence
    from variants as var
    join variants as other on other."id" = var."id" and other.__auto_cdc_sequence = var.__auto_cdc_sequence
    join pg_temp."customers__auto_cdc_winners" as won on won."id" = var."id"
    where (var.__auto_cdc_kind <> other.__auto_cdc_kind and case when won.__auto_cdc_kind = 'delete' then won.__auto_cdc_sequence else won.__auto_cdc_floor end = var.__auto_cdc_sequence) or (var.__auto_cdc_written_0 <> other.__auto_cdc_written_0 and won.__auto_cdc_fresh_1 = var.__auto_cdc_sequence) or (var.__auto_cdc_written_1 <> other.__auto_cdc_written_1 and won.__auto_cdc_fresh_2 = var.__auto_cdc_sequence) or (var.__auto_cdc_kind = 'upsert' and other.__auto_cdc_kind = 'upsert' and var.__auto_cdc_written_2 is distinct from other.__auto_cdc_written_2 and won.__auto_cdc_fresh_3 = var.__auto_cdc_sequence)
),
places as (
    select var."id", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, count(disputed.__auto_cdc_sequence) > 0 as __auto_cdc_decides
    from variants as var left join disputed on disputed."id" = var."id" and disputed.__auto_cdc_sequence = var.__auto_cdc_sequence
    group by var."id", var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places."id" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) end) as num_tied_rows_example
    from places
),
further as (
    select count(*) as num_deleted_rows
    from pg_temp."customers__auto_cdc_gone" as gone
    join pg_temp."customers__auto_cdc_winners" as won on won."id" = gone."id" and won.__auto_cdc_kind = 'delete'
)
select *
from counted
cross join found
cross join ties
cross join further;

-- delete the rows that change  (only if num_new_events)
delete from shop.customers where ctid = any (array(
    select gone.__auto_cdc_locator
    from pg_temp."customers__auto_cdc_gone" as gone
    join pg_temp."customers__auto_cdc_winners" as won on won."id" = gone."id" and (won.__auto_cdc_writes or won.__auto_cdc_kind = 'delete')
));

-- insert the rows  (only if num_new_events)
insert into shop.customers ("id", "name", "note", "changed_at")
select won."id", won."name", won."note", won."changed_at"
from pg_temp."customers__auto_cdc_winners" as won
where won.__auto_cdc_writes;

-- forget what is known of the keys  (only if num_new_events)
delete from shop.customers__auto_cdc where ctid = any (array(
    select __auto_cdc_hidden from pg_temp."customers__auto_cdc_winners" where __auto_cdc_hidden is not null
));

-- remember the keys  (only if num_new_events)
insert into shop.customers__auto_cdc ("id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, "__auto_cdc_author_name", "__auto_cdc_author_note")
select "id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, "__auto_cdc_author_name", "__auto_cdc_author_note" from pg_temp."customers__auto_cdc_winners";
