-- auto_cdc: model customers: build the target

-- stage the model's rows
create or replace table shop.`customers__auto_cdc_stage_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
select
    src.`id` as `id`,
    src.`name` as `name`,
    src.`note` as `note`,
    src.`changed_at` as __auto_cdc_sequence,
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
    from shop.`customers__auto_cdc_stage_c0ffee000002` as stg
),
found as (
    select
        count(*) as num_new_events,
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt.`id` as string), 'null') end) as null_sequence_example,
        count(case when evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as string) end) as null_key_0_example
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
),
repeated as (
    select `id`, __auto_cdc_sequence from shop.`customers__auto_cdc_stage_c0ffee000002` as evt where __auto_cdc_kind <> 'truncate' group by `id`, __auto_cdc_sequence having count(*) > 1
),
variants as (
    select
        evt.`id`,
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`name` end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`note` end as __auto_cdc_written_1,
        count(*) as __auto_cdc_copies
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
    join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5
),
places as (
    select var.`id`, var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, true as __auto_cdc_decides
    from variants as var group by var.`id`, var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places.`id` as string), 'null') || ' at ' || cast(places.__auto_cdc_sequence as string) end) as num_tied_rows_example
    from places
)
select *
from counted
cross join found
cross join ties;

-- cut the touched timelines into runs
create or replace table shop.`customers__auto_cdc_timeline_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with repeated as (
    select `id`, __auto_cdc_sequence from shop.`customers__auto_cdc_stage_c0ffee000002` as evt where __auto_cdc_kind <> 'truncate' group by `id`, __auto_cdc_sequence having count(*) > 1
),
copies as (
    select locator from (
        select evt.__auto_cdc_row as locator,
            row_number() over (partition by evt.`id`, evt.__auto_cdc_sequence order by evt.__auto_cdc_kind, evt.`id` desc nulls last, evt.`name` desc nulls last, evt.`note` desc nulls last) as place
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
        join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    ) as ranked where place > 1
),
ordered as (
    select * from (
        select
            evt.__auto_cdc_row as __auto_cdc_event,
            evt.`id`,
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
            lag(evt.__auto_cdc_kind) over (partition by evt.`id` order by evt.__auto_cdc_sequence) as __auto_cdc_previous,
            lag(evt.__auto_cdc_row) over (partition by evt.`id` order by evt.__auto_cdc_sequence) as __auto_cdc_previous_event,
            lag(evt.__auto_cdc_sequence) over (partition by evt.`id` order by evt.__auto_cdc_sequence) as __auto_cdc_previous_sequence
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
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
    join (select __auto_cdc_row as __auto_cdc_event, `name` from shop.`customers__auto_cdc_stage_c0ffee000002`) as this on this.__auto_cdc_event = pair.__auto_cdc_event
    left join (select __auto_cdc_row as __auto_cdc_event, `name` from shop.`customers__auto_cdc_stage_c0ffee000002`) as that on that.__auto_cdc_event = pair.__auto_cdc_previous_event
    where not (this.`name` <=> that.`name`)
),
marked as (
    select
        evt.__auto_cdc_event,
        evt.`id`,
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
        lead(__auto_cdc_sequence) over (partition by `id` order by __auto_cdc_sequence) as __auto_cdc_next,
        __auto_cdc_kind = 'upsert' and coalesce(
            lead(__auto_cdc_opens or __auto_cdc_kind = 'delete') over (partition by `id` order by __auto_cdc_sequence), true
        ) as __auto_cdc_last,
        max(case when __auto_cdc_opens then __auto_cdc_sequence end) over (partition by `id` order by __auto_cdc_sequence rows between unbounded preceding and current row) as __auto_cdc_started
    from marked
)
select
    evt.__auto_cdc_event,
    evt.`id`,
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
create table shop.customers__auto_cdc using delta cluster by (`id`) as
select
    cast(added.`id` as int) as `id`,
    cast(added.__auto_cdc_sequence as timestamp) as __auto_cdc_sequence,
    cast(added.__auto_cdc_kind as string) as __auto_cdc_kind,
    cast(added.__auto_cdc_run_start as timestamp) as __auto_cdc_run_start,
    cast(added.`note` as string) as `note`,
    cast(added.__auto_cdc_control as string) as __auto_cdc_control
from (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as timestamp) as __auto_cdc_run_start,
    cast(null as string) as `note`,
    'c0ffee000002' as __auto_cdc_control
) as added(`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, `note`, __auto_cdc_control);

-- create the target
create or replace table shop.customers using delta cluster by (id) as
select
    cast(added.`id` as int) as `id`,
    cast(added.`name` as string) as `name`,
    cast(added.`note` as string) as `note`,
    cast(added.`__START_AT` as timestamp) as `__START_AT`,
    cast(added.`__END_AT` as timestamp) as `__END_AT`
from (
with written as (
    select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
    from shop.`customers__auto_cdc_timeline_c0ffee000002`
    where __auto_cdc_last and not __auto_cdc_same
)
select evt.`id`, evt.`name`, evt.`note`, run.__auto_cdc_run_start as `__START_AT`, run.__auto_cdc_run_end as `__END_AT`
from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
join written as run on run.__auto_cdc_event = evt.__auto_cdc_row
) as added(`id`, `name`, `note`, `__START_AT`, `__END_AT`);

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told.`id`, told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_run_start, told.`note`, told.__auto_cdc_control from (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    cast(null as timestamp) as __auto_cdc_run_start,
    cast(null as string) as `note`,
    '{"change_data_feed": false, "engine": "Databricks", "format": 1, "key_types": ["int"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "2", "sequence_type": "timestamp", "system_type": "", "track_history": ["except", "note"], "truncates": false}' as __auto_cdc_control
union all
select more.*, null as __auto_cdc_control from (
with missing as (
    select __auto_cdc_event, `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start
    from shop.`customers__auto_cdc_timeline_c0ffee000002`
    where __auto_cdc_hides
)
select missing.`id`, missing.__auto_cdc_sequence, missing.__auto_cdc_kind, missing.__auto_cdc_run_start, case when evt.__auto_cdc_kind = 'upsert' then evt.`note` end as `note`
from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
join missing on missing.__auto_cdc_event = evt.__auto_cdc_row
) as more
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
union all
select told.`id`, told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_run_start, told.`note`, told.__auto_cdc_control from (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as timestamp) as __auto_cdc_run_start,
    cast(null as string) as `note`,
    'c0ffee000002' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
) as src
on tgt.__auto_cdc_kind = src.__auto_cdc_kind
when matched then update set __auto_cdc_control = src.__auto_cdc_control
when not matched then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, `note`, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_run_start, src.`note`, src.__auto_cdc_control);

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- free the working tables
drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_timeline_c0ffee000002`;

-- auto_cdc: model customers: apply the new events

-- stage the model's rows
create or replace table shop.`customers__auto_cdc_stage_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
select
    src.`id` as `id`,
    src.`name` as `name`,
    src.`note` as `note`,
    src.`changed_at` as __auto_cdc_sequence,
    case when (
    operation = 'D'
) then 'delete' else 'upsert' end as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src
) as src;

-- find the versions of the keys
create or replace table shop.`customers__auto_cdc_stored_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
select tgt.`id`,
    tgt.`__START_AT` as __auto_cdc_sequence, tgt.`__END_AT` as __auto_cdc_old_end, named_struct('at_0', tgt.`id`, 'at_1', tgt.`__START_AT`, 'at_2', tgt.`__END_AT`) as __auto_cdc_locator
from shop.customers as tgt
join (select distinct `id` from shop.`customers__auto_cdc_stage_c0ffee000002`) as stg on stg.`id` = tgt.`id`
) as src;

-- keep the events that are new
create or replace table shop.`customers__auto_cdc_events_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with hidden as (
    select cmp.`id`, cmp.__auto_cdc_sequence from shop.customers__auto_cdc as cmp where cmp.__auto_cdc_kind = 'delete'
    union all
    select cmp.`id`, cmp.__auto_cdc_sequence from shop.customers__auto_cdc as cmp
    join shop.`customers__auto_cdc_stored_c0ffee000002` as tgt on tgt.`id` = cmp.`id` and tgt.__auto_cdc_sequence = cmp.__auto_cdc_run_start and (tgt.__auto_cdc_old_end is null or cmp.__auto_cdc_sequence < tgt.__auto_cdc_old_end)
    where cmp.__auto_cdc_kind = 'upsert'
)
select
    __auto_cdc_around.`id`,
    __auto_cdc_around.`name`,
    __auto_cdc_around.`note`,
    __auto_cdc_around.__auto_cdc_sequence,
    __auto_cdc_around.__auto_cdc_kind
from shop.`customers__auto_cdc_stage_c0ffee000002` as __auto_cdc_around
where not exists (select 1 from shop.`customers__auto_cdc_stored_c0ffee000002` as known where known.`id` = __auto_cdc_around.`id` and known.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_sequence)
and not exists (select 1 from shop.`customers__auto_cdc_stored_c0ffee000002` as known where known.`id` = __auto_cdc_around.`id` and known.__auto_cdc_old_end = __auto_cdc_around.__auto_cdc_sequence)
and not exists (select 1 from hidden as known where known.`id` = __auto_cdc_around.`id` and known.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_sequence)
) as src;

-- check the events
with counted as (
    select
        count(*) as num_read_rows
    from shop.`customers__auto_cdc_stage_c0ffee000002` as stg
),
found as (
    select
        count(*) as num_new_events,
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt.`id` as string), 'null') end) as null_sequence_example,
        count(case when evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as string) end) as null_key_0_example
    from shop.`customers__auto_cdc_events_c0ffee000002` as evt
),
repeated as (
    select `id`, __auto_cdc_sequence from shop.`customers__auto_cdc_events_c0ffee000002` as evt where __auto_cdc_kind <> 'truncate' group by `id`, __auto_cdc_sequence having count(*) > 1
),
variants as (
    select
        evt.`id`,
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`name` end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`note` end as __auto_cdc_written_1,
        count(*) as __auto_cdc_copies
    from shop.`customers__auto_cdc_events_c0ffee000002` as evt
    join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5
),
places as (
    select var.`id`, var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, true as __auto_cdc_decides
    from variants as var group by var.`id`, var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places.`id` as string), 'null') || ' at ' || cast(places.__auto_cdc_sequence as string) end) as num_tied_rows_example
    from places
),
late as (
    select (
    select count(*) from shop.`customers__auto_cdc_events_c0ffee000002` as evt
    join (
        select `id`, max_by(__auto_cdc_sequence, __auto_cdc_sequence) as __auto_cdc_latest from (
            select `id`, coalesce(__auto_cdc_old_end, __auto_cdc_sequence) as __auto_cdc_sequence from shop.`customers__auto_cdc_stored_c0ffee000002`
            union all
            select cmp.`id`, cmp.__auto_cdc_sequence
            from shop.customers__auto_cdc as cmp
            join (select distinct `id` from shop.`customers__auto_cdc_events_c0ffee000002`) as evt on evt.`id` = cmp.`id`
        ) as known group by `id`
    ) as head on head.`id` = evt.`id` and evt.__auto_cdc_sequence < head.__auto_cdc_latest) as num_late_rows
)
select *
from counted
cross join found
cross join ties
cross join late;

-- line up the events of the touched keys  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_line_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with touched as (
    select `id`, min_by(__auto_cdc_sequence, __auto_cdc_sequence) as __auto_cdc_first
    from shop.`customers__auto_cdc_events_c0ffee000002` group by `id`
),
reached as (
    select past.`id`, past.__auto_cdc_sequence, past.__auto_cdc_old_end, past.__auto_cdc_locator
    from shop.`customers__auto_cdc_stored_c0ffee000002` as past
    join touched on touched.`id` = past.`id`
    where past.__auto_cdc_old_end is null or past.__auto_cdc_old_end > touched.__auto_cdc_first
),
affected as (
    select
        tgt.`id`,
        tgt.`name`,
        tgt.`note`,
        reached.__auto_cdc_sequence,
        reached.__auto_cdc_old_end,
        reached.__auto_cdc_locator
    from shop.customers as tgt
    join reached on reached.__auto_cdc_locator = named_struct('at_0', tgt.`id`, 'at_1', tgt.`__START_AT`, 'at_2', tgt.`__END_AT`)
),
inside as (
    select
        cmp.`id`,
        cmp.__auto_cdc_sequence,
        cmp.__auto_cdc_run_start,
        cmp.`note`,
        named_struct('at_0', cmp.`id`, 'at_1', cmp.__auto_cdc_sequence, 'at_2', cmp.__auto_cdc_run_start, 'at_3', cmp.__auto_cdc_kind) as __auto_cdc_hidden
    from shop.customers__auto_cdc as cmp
    join affected on affected.`id` = cmp.`id` and affected.__auto_cdc_sequence = cmp.__auto_cdc_run_start
        and (affected.__auto_cdc_old_end is null or cmp.__auto_cdc_sequence < affected.__auto_cdc_old_end)
    where cmp.__auto_cdc_kind = 'upsert'
),
latest as (
    select `id`, __auto_cdc_run_start, max_by(__auto_cdc_sequence, __auto_cdc_sequence) as __auto_cdc_latest
    from inside group by `id`, __auto_cdc_run_start
)
select
    evt.`id` as `id`,
    evt.`name` as `name`,
    evt.`note` as `note`,
    evt.__auto_cdc_sequence as __auto_cdc_sequence,
    evt.__auto_cdc_kind as __auto_cdc_kind,
    cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp>) as __auto_cdc_locator,
    cast(null as timestamp) as __auto_cdc_old_end,
    cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp, at_3: string>) as __auto_cdc_hidden,
    cast(null as timestamp) as __auto_cdc_run_start,
    cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp>) as __auto_cdc_shows
from shop.`customers__auto_cdc_events_c0ffee000002` as evt
union all
select
    tgt.`id` as `id`,
    tgt.`name` as `name`,
    case when first.__auto_cdc_hidden is null then tgt.`note` else first.`note` end as `note`,
    tgt.__auto_cdc_sequence as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind,
    tgt.__auto_cdc_locator as __auto_cdc_locator,
    tgt.__auto_cdc_old_end as __auto_cdc_old_end,
    first.__auto_cdc_hidden as __auto_cdc_hidden,
    first.__auto_cdc_run_start as __auto_cdc_run_start,
    case when latest.__auto_cdc_latest is null or latest.__auto_cdc_latest = tgt.__auto_cdc_sequence then tgt.__auto_cdc_locator end as __auto_cdc_shows
from affected as tgt
left join inside as first on first.`id` = tgt.`id` and first.__auto_cdc_sequence = tgt.__auto_cdc_sequence
left join latest on latest.`id` = tgt.`id` and latest.__auto_cdc_run_start = tgt.__auto_cdc_sequence
union all
select
    tgt.`id` as `id`,
    tgt.`name` as `name`,
    case when cmp.__auto_cdc_sequence = latest.__auto_cdc_latest then tgt.`note` else cmp.`note` end as `note`,
    cmp.__auto_cdc_sequence as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind,
    cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp>) as __auto_cdc_locator,
    cast(null as timestamp) as __auto_cdc_old_end,
    cmp.__auto_cdc_hidden as __auto_cdc_hidden,
    cmp.__auto_cdc_run_start as __auto_cdc_run_start,
    case when cmp.__auto_cdc_sequence = latest.__auto_cdc_latest then tgt.__auto_cdc_locator end as __auto_cdc_shows
from inside as cmp
join affected as tgt on tgt.`id` = cmp.`id` and tgt.__auto_cdc_sequence = cmp.__auto_cdc_run_start
join latest on latest.`id` = cmp.`id` and latest.__auto_cdc_run_start = cmp.__auto_cdc_run_start
where cmp.__auto_cdc_sequence > cmp.__auto_cdc_run_start
union all
select
    __auto_cdc_around.`id` as `id`,
    cast(null as string) as `name`,
    cast(null as string) as `note`,
    __auto_cdc_around.__auto_cdc_old_end as __auto_cdc_sequence,
    'delete' as __auto_cdc_kind,
    cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp>) as __auto_cdc_locator,
    cast(null as timestamp) as __auto_cdc_old_end,
    cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp, at_3: string>) as __auto_cdc_hidden,
    cast(null as timestamp) as __auto_cdc_run_start,
    cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp>) as __auto_cdc_shows
from affected as __auto_cdc_around
where __auto_cdc_around.__auto_cdc_old_end is not null and not exists (
    select 1 from reached as next where next.`id` = __auto_cdc_around.`id` and next.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_old_end
)
union all
select
    __auto_cdc_around.`id` as `id`,
    cast(null as string) as `name`,
    cast(null as string) as `note`,
    __auto_cdc_around.__auto_cdc_sequence as __auto_cdc_sequence,
    'delete' as __auto_cdc_kind,
    cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp>) as __auto_cdc_locator,
    cast(null as timestamp) as __auto_cdc_old_end,
    named_struct('at_0', __auto_cdc_around.`id`, 'at_1', __auto_cdc_around.__auto_cdc_sequence, 'at_2', __auto_cdc_around.__auto_cdc_run_start, 'at_3', __auto_cdc_around.__auto_cdc_kind) as __auto_cdc_hidden,
    cast(null as timestamp) as __auto_cdc_run_start,
    cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp>) as __auto_cdc_shows
from shop.customers__auto_cdc as __auto_cdc_around
join touched on touched.`id` = __auto_cdc_around.`id` and __auto_cdc_around.__auto_cdc_sequence > touched.__auto_cdc_first
where __auto_cdc_around.__auto_cdc_kind = 'delete' and not exists (
    select 1 from reached where reached.`id` = __auto_cdc_around.`id` and reached.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_sequence
)
) as src;

-- cut the touched timelines into runs  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_timeline_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with repeated as (
    select `id`, __auto_cdc_sequence from shop.`customers__auto_cdc_events_c0ffee000002` as evt where __auto_cdc_kind <> 'truncate' group by `id`, __auto_cdc_sequence having count(*) > 1
),
copies as (
    select locator from (
        select evt.__auto_cdc_row as locator,
            row_number() over (partition by evt.`id`, evt.__auto_cdc_sequence order by evt.__auto_cdc_kind, evt.`id` desc nulls last, evt.`name` desc nulls last, evt.`note` desc nulls last) as place
        from shop.`customers__auto_cdc_line_c0ffee000002` as evt
        join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    ) as ranked where place > 1
),
ordered as (
    select * from (
        select
            evt.__auto_cdc_row as __auto_cdc_event,
            evt.`id`,
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        evt.__auto_cdc_locator,
        evt.__auto_cdc_old_end,
        evt.__auto_cdc_hidden,
        evt.__auto_cdc_run_start,
        evt.__auto_cdc_shows,
            lag(evt.__auto_cdc_kind) over (partition by evt.`id` order by evt.__auto_cdc_sequence, case when evt.__auto_cdc_hidden is null then 1 else 0 end) as __auto_cdc_previous,
            lag(evt.__auto_cdc_row) over (partition by evt.`id` order by evt.__auto_cdc_sequence, case when evt.__auto_cdc_hidden is null then 1 else 0 end) as __auto_cdc_previous_event,
            lag(evt.__auto_cdc_sequence) over (partition by evt.`id` order by evt.__auto_cdc_sequence, case when evt.__auto_cdc_hidden is null then 1 else 0 end) as __auto_cdc_previous_sequence
        from shop.`customers__auto_cdc_line_c0ffee000002` as evt
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
    join (select __auto_cdc_row as __auto_cdc_event, `name` from shop.`customers__auto_cdc_line_c0ffee000002`) as this on this.__auto_cdc_event = pair.__auto_cdc_event
    left join (select __auto_cdc_row as __auto_cdc_event, `name` from shop.`customers__auto_cdc_line_c0ffee000002`) as that on that.__auto_cdc_event = pair.__auto_cdc_previous_event
    where not (this.`name` <=> that.`name`)
),
marked as (
    select
        evt.__auto_cdc_event,
        evt.`id`,
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
        lead(__auto_cdc_sequence) over (partition by `id` order by __auto_cdc_sequence) as __auto_cdc_next,
        __auto_cdc_kind = 'upsert' and coalesce(
            lead(__auto_cdc_opens or __auto_cdc_kind = 'delete') over (partition by `id` order by __auto_cdc_sequence), true
        ) as __auto_cdc_last,
        max(case when __auto_cdc_opens then __auto_cdc_sequence end) over (partition by `id` order by __auto_cdc_sequence rows between unbounded preceding and current row) as __auto_cdc_started
    from marked
)
select
    evt.__auto_cdc_event,
    evt.`id`,
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
    coalesce(past.__auto_cdc_locator is not null and (evt.__auto_cdc_shows = past.__auto_cdc_locator or (not (not (this.`note` <=> shown.`note`)))), false) as __auto_cdc_same,
    not (evt.__auto_cdc_next <=> past.__auto_cdc_old_end) as __auto_cdc_moved
from bounded as evt
left join bounded as past on past.`id` = evt.`id`
    and past.__auto_cdc_sequence = case when evt.__auto_cdc_last then evt.__auto_cdc_started end and past.__auto_cdc_locator is not null
left join (select __auto_cdc_row as __auto_cdc_event, `note` from shop.`customers__auto_cdc_line_c0ffee000002`) as this
    on this.__auto_cdc_event = case when past.__auto_cdc_locator is not null then evt.__auto_cdc_event end
left join (select __auto_cdc_shows, `note` from shop.`customers__auto_cdc_line_c0ffee000002` where __auto_cdc_shows is not null) as shown
    on shown.__auto_cdc_shows = past.__auto_cdc_locator
) as src;

-- measure what changes  (only if num_new_events)
with stored as (
    select 'id=' || coalesce(cast(evt.`id` as string), 'null') || ' from ' || coalesce(cast(evt.__auto_cdc_sequence as string), 'null') as example,
        evt.__auto_cdc_sequence as start_at, evt.__auto_cdc_old_end as end_at,
        lead(evt.__auto_cdc_sequence) over (partition by evt.`id` order by evt.__auto_cdc_sequence) as next_start_at
    from shop.`customers__auto_cdc_line_c0ffee000002` as evt where evt.__auto_cdc_locator is not null
),
crossed as (
    select example from stored
    where start_at is null or end_at <= start_at or next_start_at < end_at
        or (end_at is null and next_start_at is not null)
),
orphaned as (
    select named_struct('at_0', __auto_cdc_around.`id`, 'at_1', __auto_cdc_around.__auto_cdc_sequence, 'at_2', __auto_cdc_around.__auto_cdc_run_start, 'at_3', __auto_cdc_around.__auto_cdc_kind) as locator
    from shop.customers__auto_cdc as __auto_cdc_around
    join (select distinct `id` from shop.`customers__auto_cdc_events_c0ffee000002`) as evt on evt.`id` = __auto_cdc_around.`id`
    where __auto_cdc_around.__auto_cdc_kind = 'upsert'
    and not exists (select 1 from shop.`customers__auto_cdc_stored_c0ffee000002` as tgt where tgt.`id` = __auto_cdc_around.`id` and tgt.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_run_start and (tgt.__auto_cdc_old_end is null or __auto_cdc_around.__auto_cdc_sequence < tgt.__auto_cdc_old_end))
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
from shop.`customers__auto_cdc_timeline_c0ffee000002`;

-- write down what becomes of shop.customers__auto_cdc  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_hidden_forgotten or num_hidden_remembered)
create or replace table shop.`customers__auto_cdc_companion_changes_c0ffee000002` using delta as
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    cast(null as string) as __auto_cdc_kind,
    cast(null as timestamp) as __auto_cdc_run_start,
    cast(null as string) as `note`,
    cast(null as string) as __auto_cdc_control,
    cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp, at_3: string>) as __auto_cdc_locator,
    cast('' as string) as __auto_cdc_action,
    0 as __auto_cdc_step
from (select 1 as one) as nothing
where false
union all
-- only if num_hidden_forgotten
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    cast(null as string) as __auto_cdc_kind,
    cast(null as timestamp) as __auto_cdc_run_start,
    cast(null as string) as `note`,
    cast(null as string) as __auto_cdc_control,
    place as __auto_cdc_locator,
    cast('gone' as string) as __auto_cdc_action,
    0 as __auto_cdc_step
from (
with orphaned as (
    select named_struct('at_0', __auto_cdc_around.`id`, 'at_1', __auto_cdc_around.__auto_cdc_sequence, 'at_2', __auto_cdc_around.__auto_cdc_run_start, 'at_3', __auto_cdc_around.__auto_cdc_kind) as locator
    from shop.customers__auto_cdc as __auto_cdc_around
    join (select distinct `id` from shop.`customers__auto_cdc_events_c0ffee000002`) as evt on evt.`id` = __auto_cdc_around.`id`
    where __auto_cdc_around.__auto_cdc_kind = 'upsert'
    and not exists (select 1 from shop.`customers__auto_cdc_stored_c0ffee000002` as tgt where tgt.`id` = __auto_cdc_around.`id` and tgt.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_run_start and (tgt.__auto_cdc_old_end is null or __auto_cdc_around.__auto_cdc_sequence < tgt.__auto_cdc_old_end))
)
select __auto_cdc_hidden as locator from shop.`customers__auto_cdc_timeline_c0ffee000002`
where __auto_cdc_hidden is not null and not (__auto_cdc_hides and __auto_cdc_hidden is not null and (__auto_cdc_kind = 'delete' or __auto_cdc_was_in = __auto_cdc_run_start))
union all
select locator from orphaned
) as gone(place) where place is not null
union all
-- only if num_hidden_remembered
select
    cast(row_born.`id` as int) as `id`,
    cast(row_born.__auto_cdc_sequence as timestamp) as __auto_cdc_sequence,
    cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,
    cast(row_born.__auto_cdc_run_start as timestamp) as __auto_cdc_run_start,
    cast(row_born.`note` as string) as `note`,
    cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,
    named_struct('at_0', row_born.`id`, 'at_1', row_born.__auto_cdc_sequence, 'at_2', row_born.__auto_cdc_run_start, 'at_3', row_born.__auto_cdc_kind) as __auto_cdc_locator,
    cast('born' as string) as __auto_cdc_action,
    1 as __auto_cdc_step
from (
select
    born.`id`,
    born.__auto_cdc_sequence,
    born.__auto_cdc_kind,
    born.__auto_cdc_run_start,
    born.`note`,
    cast(null as string) as __auto_cdc_control
from (
with missing as (
    select __auto_cdc_event, `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start
    from shop.`customers__auto_cdc_timeline_c0ffee000002`
    where __auto_cdc_hides and not (__auto_cdc_hidden is not null and (__auto_cdc_kind = 'delete' or __auto_cdc_was_in = __auto_cdc_run_start))
)
select missing.`id`, missing.__auto_cdc_sequence, missing.__auto_cdc_kind, missing.__auto_cdc_run_start, case when evt.__auto_cdc_kind = 'upsert' then evt.`note` end as `note`
from shop.`customers__auto_cdc_line_c0ffee000002` as evt
join missing on missing.__auto_cdc_event = evt.__auto_cdc_row
) as born(`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, `note`)
) as row_born;

-- write down what is left to do  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_hidden_forgotten or num_hidden_remembered)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect\\n    cast(null as int) as `id`,\\n    cast(null as string) as `name`,\\n    cast(null as string) as `note`,\\n    cast(null as timestamp) as `__START_AT`,\\n    cast(null as timestamp) as `__END_AT`,\\n    __auto_cdc_locator, \'gone\' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `__START_AT`,\\n        cast(value_0 as timestamp) as `__END_AT`,\\n        place as __auto_cdc_locator,\\n        cast(\'ended\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select __auto_cdc_replaces as locator, __auto_cdc_run_end as value\\n    from shop.`customers__auto_cdc_timeline_c0ffee000002`\\n    where __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved\\n    ) as ended(place, value_0)\\n    union all\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `__START_AT`,\\n        cast(null as timestamp) as `__END_AT`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    with kept as (\\n        select __auto_cdc_replaces as locator from shop.`customers__auto_cdc_timeline_c0ffee000002` where __auto_cdc_same\\n    )\\n    select __auto_cdc_around.__auto_cdc_locator from shop.`customers__auto_cdc_timeline_c0ffee000002` as __auto_cdc_around\\n    where __auto_cdc_around.__auto_cdc_locator is not null and not exists (select 1 from kept where kept.locator = __auto_cdc_around.__auto_cdc_locator)\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`__START_AT` as timestamp) as `__START_AT`,\\n        cast(row_born.`__END_AT` as timestamp) as `__END_AT`,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.`__START_AT`, \'at_2\', row_born.`__END_AT`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`__START_AT`,\\n        born.`__END_AT`\\n    from (\\n    with written as (\\n        select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end\\n        from shop.`customers__auto_cdc_timeline_c0ffee000002`\\n        where __auto_cdc_last and not __auto_cdc_same\\n    )\\n    select evt.`id`, evt.`name`, evt.`note`, run.__auto_cdc_run_start as `__START_AT`, run.__auto_cdc_run_end as `__END_AT`\\n    from shop.`customers__auto_cdc_line_c0ffee000002` as evt\\n    join written as run on run.__auto_cdc_event = evt.__auto_cdc_row\\n    ) as born(`id`, `name`, `note`, `__START_AT`, `__END_AT`)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action in (\'gone\', \'born\')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect `id`, `name`, `note`, `__START_AT`, `__END_AT`, cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp>) as __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `__START_AT`,\\n        cast(value_0 as timestamp) as `__END_AT`,\\n        place as __auto_cdc_locator,\\n        cast(\'ended\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select __auto_cdc_replaces as locator, __auto_cdc_run_end as value\\n    from shop.`customers__auto_cdc_timeline_c0ffee000002`\\n    where __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved\\n    ) as ended(place, value_0)\\n    union all\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `__START_AT`,\\n        cast(null as timestamp) as `__END_AT`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    with kept as (\\n        select __auto_cdc_replaces as locator from shop.`customers__auto_cdc_timeline_c0ffee000002` where __auto_cdc_same\\n    )\\n    select __auto_cdc_around.__auto_cdc_locator from shop.`customers__auto_cdc_timeline_c0ffee000002` as __auto_cdc_around\\n    where __auto_cdc_around.__auto_cdc_locator is not null and not exists (select 1 from kept where kept.locator = __auto_cdc_around.__auto_cdc_locator)\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`__START_AT` as timestamp) as `__START_AT`,\\n        cast(row_born.`__END_AT` as timestamp) as `__END_AT`,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.`__START_AT`, \'at_2\', row_born.`__END_AT`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`__START_AT`,\\n        born.`__END_AT`\\n    from (\\n    with written as (\\n        select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end\\n        from shop.`customers__auto_cdc_timeline_c0ffee000002`\\n        where __auto_cdc_last and not __auto_cdc_same\\n    )\\n    select evt.`id`, evt.`name`, evt.`note`, run.__auto_cdc_run_start as `__START_AT`, run.__auto_cdc_run_end as `__END_AT`\\n    from shop.`customers__auto_cdc_line_c0ffee000002` as evt\\n    join written as run on run.__auto_cdc_event = evt.__auto_cdc_row\\n    ) as born(`id`, `name`, `note`, `__START_AT`, `__END_AT`)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = \'born\'\\nunion all\\nselect `id`, `name`, `note`, `__START_AT`, `__END_AT`, __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `__START_AT`,\\n        cast(value_0 as timestamp) as `__END_AT`,\\n        place as __auto_cdc_locator,\\n        cast(\'ended\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select __auto_cdc_replaces as locator, __auto_cdc_run_end as value\\n    from shop.`customers__auto_cdc_timeline_c0ffee000002`\\n    where __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved\\n    ) as ended(place, value_0)\\n    union all\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `__START_AT`,\\n        cast(null as timestamp) as `__END_AT`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    with kept as (\\n        select __auto_cdc_replaces as locator from shop.`customers__auto_cdc_timeline_c0ffee000002` where __auto_cdc_same\\n    )\\n    select __auto_cdc_around.__auto_cdc_locator from shop.`customers__auto_cdc_timeline_c0ffee000002` as __auto_cdc_around\\n    where __auto_cdc_around.__auto_cdc_locator is not null and not exists (select 1 from kept where kept.locator = __auto_cdc_around.__auto_cdc_locator)\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`__START_AT` as timestamp) as `__START_AT`,\\n        cast(row_born.`__END_AT` as timestamp) as `__END_AT`,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.`__START_AT`, \'at_2\', row_born.`__END_AT`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`__START_AT`,\\n        born.`__END_AT`\\n    from (\\n    with written as (\\n        select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end\\n        from shop.`customers__auto_cdc_timeline_c0ffee000002`\\n        where __auto_cdc_last and not __auto_cdc_same\\n    )\\n    select evt.`id`, evt.`name`, evt.`note`, run.__auto_cdc_run_start as `__START_AT`, run.__auto_cdc_run_end as `__END_AT`\\n    from shop.`customers__auto_cdc_line_c0ffee000002` as evt\\n    join written as run on run.__auto_cdc_event = evt.__auto_cdc_row\\n    ) as born(`id`, `name`, `note`, `__START_AT`, `__END_AT`)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = \'ended\'\\n) as src\\non src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0 and tgt.`__START_AT` <=> src.__auto_cdc_locator.at_1 and tgt.`__END_AT` <=> src.__auto_cdc_locator.at_2\\nwhen matched and src.__auto_cdc_action = \'gone\' then delete\\nwhen matched and src.__auto_cdc_action = \'ended\' then update set `__END_AT` = src.`__END_AT`\\nwhen not matched and src.__auto_cdc_action = \'born\' then insert (`id`, `name`, `note`, `__START_AT`, `__END_AT`) values (src.`id`, src.`name`, src.`note`, src.`__START_AT`, src.`__END_AT`)"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\\nselect\\n    cast(null as int) as `id`,\\n    cast(null as timestamp) as __auto_cdc_sequence,\\n    cast(null as string) as __auto_cdc_kind,\\n    cast(null as timestamp) as __auto_cdc_run_start,\\n    cast(null as string) as `note`,\\n    cast(null as string) as __auto_cdc_control,\\n    __auto_cdc_locator, \'gone\' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from shop.`customers__auto_cdc_companion_changes_c0ffee000002`\\nwhere __auto_cdc_action in (\'gone\', \'born\')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, `note`, __auto_cdc_control, cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp, at_3: string>) as __auto_cdc_locator, __auto_cdc_action\\nfrom shop.`customers__auto_cdc_companion_changes_c0ffee000002`\\nwhere __auto_cdc_action = \'born\'\\nunion all\\nselect `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, `note`, __auto_cdc_control, named_struct(\'at_0\', own.`id`, \'at_1\', own.__auto_cdc_sequence, \'at_2\', own.__auto_cdc_run_start, \'at_3\', own.__auto_cdc_kind), \'done\' as __auto_cdc_action\\nfrom (\\nselect\\n    cast(null as int) as `id`,\\n    cast(null as timestamp) as __auto_cdc_sequence,\\n    \'journal\' as __auto_cdc_kind,\\n    cast(null as timestamp) as __auto_cdc_run_start,\\n    cast(null as string) as `note`,\\n    \'c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_events_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_stored_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_line_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_timeline_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_companion_changes_c0ffee000002`\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}\' as __auto_cdc_control\\n) as own\\n) as src\\non src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0 and tgt.__auto_cdc_sequence <=> src.__auto_cdc_locator.at_1 and tgt.__auto_cdc_run_start <=> src.__auto_cdc_locator.at_2 and tgt.__auto_cdc_kind <=> src.__auto_cdc_locator.at_3\\nwhen matched and src.__auto_cdc_action = \'gone\' then delete\\nwhen matched and src.__auto_cdc_action = \'done\' and tgt.__auto_cdc_kind = \'journal\' and substr(tgt.__auto_cdc_control, 1, 13) = \'c0ffee000002 \' then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched and src.__auto_cdc_action = \'born\' then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, `note`, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_run_start, src.`note`, src.__auto_cdc_control)"]], "frees": "drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_events_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_stored_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_line_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_timeline_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_companion_changes_c0ffee000002`", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_hidden_forgotten or num_hidden_remembered)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_hidden_forgotten or num_hidden_remembered)
merge into shop.customers as tgt using (
select
    cast(null as int) as `id`,
    cast(null as string) as `name`,
    cast(null as string) as `note`,
    cast(null as timestamp) as `__START_AT`,
    cast(null as timestamp) as `__END_AT`,
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `__START_AT`,
        cast(value_0 as timestamp) as `__END_AT`,
        place as __auto_cdc_locator,
        cast('ended' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select __auto_cdc_replaces as locator, __auto_cdc_run_end as value
    from shop.`customers__auto_cdc_timeline_c0ffee000002`
    where __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved
    ) as ended(place, value_0)
    union all
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `__START_AT`,
        cast(null as timestamp) as `__END_AT`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    with kept as (
        select __auto_cdc_replaces as locator from shop.`customers__auto_cdc_timeline_c0ffee000002` where __auto_cdc_same
    )
    select __auto_cdc_around.__auto_cdc_locator from shop.`customers__auto_cdc_timeline_c0ffee000002` as __auto_cdc_around
    where __auto_cdc_around.__auto_cdc_locator is not null and not exists (select 1 from kept where kept.locator = __auto_cdc_around.__auto_cdc_locator)
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`__START_AT` as timestamp) as `__START_AT`,
        cast(row_born.`__END_AT` as timestamp) as `__END_AT`,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.`__START_AT`, 'at_2', row_born.`__END_AT`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`__START_AT`,
        born.`__END_AT`
    from (
    with written as (
        select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
        from shop.`customers__auto_cdc_timeline_c0ffee000002`
        where __auto_cdc_last and not __auto_cdc_same
    )
    select evt.`id`, evt.`name`, evt.`note`, run.__auto_cdc_run_start as `__START_AT`, run.__auto_cdc_run_end as `__END_AT`
    from shop.`customers__auto_cdc_line_c0ffee000002` as evt
    join written as run on run.__auto_cdc_event = evt.__auto_cdc_row
    ) as born(`id`, `name`, `note`, `__START_AT`, `__END_AT`)
    ) as row_born
) as changes
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select `id`, `name`, `note`, `__START_AT`, `__END_AT`, cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp>) as __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `__START_AT`,
        cast(value_0 as timestamp) as `__END_AT`,
        place as __auto_cdc_locator,
        cast('ended' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select __auto_cdc_replaces as locator, __auto_cdc_run_end as value
    from shop.`customers__auto_cdc_timeline_c0ffee000002`
    where __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved
    ) as ended(place, value_0)
    union all
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `__START_AT`,
        cast(null as timestamp) as `__END_AT`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    with kept as (
        select __auto_cdc_replaces as locator from shop.`customers__auto_cdc_timeline_c0ffee000002` where __auto_cdc_same
    )
    select __auto_cdc_around.__auto_cdc_locator from shop.`customers__auto_cdc_timeline_c0ffee000002` as __auto_cdc_around
    where __auto_cdc_around.__auto_cdc_locator is not null and not exists (select 1 from kept where kept.locator = __auto_cdc_around.__auto_cdc_locator)
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`__START_AT` as timestamp) as `__START_AT`,
        cast(row_born.`__END_AT` as timestamp) as `__END_AT`,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.`__START_AT`, 'at_2', row_born.`__END_AT`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`__START_AT`,
        born.`__END_AT`
    from (
    with written as (
        select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
        from shop.`customers__auto_cdc_timeline_c0ffee000002`
        where __auto_cdc_last and not __auto_cdc_same
    )
    select evt.`id`, evt.`name`, evt.`note`, run.__auto_cdc_run_start as `__START_AT`, run.__auto_cdc_run_end as `__END_AT`
    from shop.`customers__auto_cdc_line_c0ffee000002` as evt
    join written as run on run.__auto_cdc_event = evt.__auto_cdc_row
    ) as born(`id`, `name`, `note`, `__START_AT`, `__END_AT`)
    ) as row_born
) as changes
where __auto_cdc_action = 'born'
union all
select `id`, `name`, `note`, `__START_AT`, `__END_AT`, __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `__START_AT`,
        cast(value_0 as timestamp) as `__END_AT`,
        place as __auto_cdc_locator,
        cast('ended' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select __auto_cdc_replaces as locator, __auto_cdc_run_end as value
    from shop.`customers__auto_cdc_timeline_c0ffee000002`
    where __auto_cdc_last and __auto_cdc_same and __auto_cdc_moved
    ) as ended(place, value_0)
    union all
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `__START_AT`,
        cast(null as timestamp) as `__END_AT`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    with kept as (
        select __auto_cdc_replaces as locator from shop.`customers__auto_cdc_timeline_c0ffee000002` where __auto_cdc_same
    )
    select __auto_cdc_around.__auto_cdc_locator from shop.`customers__auto_cdc_timeline_c0ffee000002` as __auto_cdc_around
    where __auto_cdc_around.__auto_cdc_locator is not null and not exists (select 1 from kept where kept.locator = __auto_cdc_around.__auto_cdc_locator)
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`__START_AT` as timestamp) as `__START_AT`,
        cast(row_born.`__END_AT` as timestamp) as `__END_AT`,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.`__START_AT`, 'at_2', row_born.`__END_AT`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`__START_AT`,
        born.`__END_AT`
    from (
    with written as (
        select __auto_cdc_event, __auto_cdc_run_start, __auto_cdc_run_end
        from shop.`customers__auto_cdc_timeline_c0ffee000002`
        where __auto_cdc_last and not __auto_cdc_same
    )
    select evt.`id`, evt.`name`, evt.`note`, run.__auto_cdc_run_start as `__START_AT`, run.__auto_cdc_run_end as `__END_AT`
    from shop.`customers__auto_cdc_line_c0ffee000002` as evt
    join written as run on run.__auto_cdc_event = evt.__auto_cdc_row
    ) as born(`id`, `name`, `note`, `__START_AT`, `__END_AT`)
    ) as row_born
) as changes
where __auto_cdc_action = 'ended'
) as src
on src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0 and tgt.`__START_AT` <=> src.__auto_cdc_locator.at_1 and tgt.`__END_AT` <=> src.__auto_cdc_locator.at_2
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'ended' then update set `__END_AT` = src.`__END_AT`
when not matched and src.__auto_cdc_action = 'born' then insert (`id`, `name`, `note`, `__START_AT`, `__END_AT`) values (src.`id`, src.`name`, src.`note`, src.`__START_AT`, src.`__END_AT`);

-- change shop.customers__auto_cdc  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_hidden_forgotten or num_hidden_remembered)
merge into shop.customers__auto_cdc as tgt using (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    cast(null as string) as __auto_cdc_kind,
    cast(null as timestamp) as __auto_cdc_run_start,
    cast(null as string) as `note`,
    cast(null as string) as __auto_cdc_control,
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from shop.`customers__auto_cdc_companion_changes_c0ffee000002`
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, `note`, __auto_cdc_control, cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp, at_3: string>) as __auto_cdc_locator, __auto_cdc_action
from shop.`customers__auto_cdc_companion_changes_c0ffee000002`
where __auto_cdc_action = 'born'
union all
select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, `note`, __auto_cdc_control, named_struct('at_0', own.`id`, 'at_1', own.__auto_cdc_sequence, 'at_2', own.__auto_cdc_run_start, 'at_3', own.__auto_cdc_kind), 'done' as __auto_cdc_action
from (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as timestamp) as __auto_cdc_run_start,
    cast(null as string) as `note`,
    'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_events_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_stored_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_line_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_timeline_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_companion_changes_c0ffee000002`", "asks": "", "otherwise": [], "appends": false}' as __auto_cdc_control
) as own
) as src
on src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0 and tgt.__auto_cdc_sequence <=> src.__auto_cdc_locator.at_1 and tgt.__auto_cdc_run_start <=> src.__auto_cdc_locator.at_2 and tgt.__auto_cdc_kind <=> src.__auto_cdc_locator.at_3
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'done' and tgt.__auto_cdc_kind = 'journal' and substr(tgt.__auto_cdc_control, 1, 13) = 'c0ffee000002 ' then update set __auto_cdc_control = src.__auto_cdc_control
when not matched and src.__auto_cdc_action = 'born' then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_run_start, `note`, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_run_start, src.`note`, src.__auto_cdc_control);

-- free the working tables
drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_events_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_stored_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_line_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_timeline_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_companion_changes_c0ffee000002`;

-- cross it off  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_hidden_forgotten or num_hidden_remembered)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';
