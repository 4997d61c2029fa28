-- auto_cdc: model customers: build the target

-- stage the model's rows
create or replace table shop.`customers__auto_cdc_stage_c0ffee000002` using iceberg as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
select
    src.`id` as `id`,
    src.`name` as `name`,
    src.`note` as `note`,
    src.`changed_at` as `changed_at`,
    src.`changed_at` as __auto_cdc_sequence,
    case when (
    operation = 'D'
) then 'delete' else 'upsert' end as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src
) as src;

-- bring the events of a key together
create or replace table shop.`customers__auto_cdc_sums_c0ffee000002` using iceberg as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with sent as (
    select
        evt.`id`,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`name` end as `name`,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`note` end as `note`,
        evt.`changed_at`,
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
)
select
    evt.`id`,
    max(case when evt.__auto_cdc_kind = 'upsert' then evt.__auto_cdc_sequence end) as __auto_cdc_greatest,
    max(case when evt.__auto_cdc_kind = 'delete' then evt.__auto_cdc_sequence end) as __auto_cdc_deleted,
    max_by(named_struct('value', evt.`name`), evt.__auto_cdc_sequence) filter (where evt.`name` is not null).value as `name`,
    max(case when evt.`name` is not null then evt.__auto_cdc_sequence end) as __auto_cdc_fresh_1,
    max_by(named_struct('value', evt.`note`), evt.__auto_cdc_sequence) filter (where evt.`note` is not null).value as `note`,
    max(case when evt.`note` is not null then evt.__auto_cdc_sequence end) as __auto_cdc_fresh_2,
    max_by(named_struct('value', evt.`changed_at`), evt.__auto_cdc_sequence) filter (where evt.__auto_cdc_kind = 'upsert' and true).value as `changed_at`
from sent as evt
group by evt.`id`
) as src;

-- merge the events of a key with what it has
create or replace table shop.`customers__auto_cdc_winners_c0ffee000002` using iceberg as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with bounded as (
    select evt.*, evt.__auto_cdc_greatest as __auto_cdc_last, evt.__auto_cdc_deleted as __auto_cdc_next
    from shop.`customers__auto_cdc_sums_c0ffee000002` as evt
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
    evt.`id`,
    coalesce(evt.__auto_cdc_shows, evt.__auto_cdc_next) as __auto_cdc_sequence,
    case when evt.__auto_cdc_shows is null then 'delete' else 'upsert' end as __auto_cdc_kind,
    case when evt.__auto_cdc_shows is not null then evt.__auto_cdc_next end as __auto_cdc_floor,
    case when evt.__auto_cdc_opens_1 then evt.`name` end as `name`,
    case when evt.__auto_cdc_opens_1 then evt.__auto_cdc_fresh_1 end as __auto_cdc_fresh_1,
    case when evt.__auto_cdc_opens_1 then evt.__auto_cdc_fresh_1 end as `__auto_cdc_author_name`,
    case when evt.__auto_cdc_opens_2 then evt.`note` end as `note`,
    case when evt.__auto_cdc_opens_2 then evt.__auto_cdc_fresh_2 end as __auto_cdc_fresh_2,
    case when evt.__auto_cdc_opens_2 then evt.__auto_cdc_fresh_2 end as `__auto_cdc_author_note`,
    case when evt.__auto_cdc_opens_3 then evt.`changed_at` end as `changed_at`,
    case when evt.__auto_cdc_opens_3 then evt.__auto_cdc_greatest end as __auto_cdc_fresh_3,
    evt.__auto_cdc_shows is not null and ((evt.__auto_cdc_greatest is not null)) as __auto_cdc_writes
from judged as evt
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
        case when evt.__auto_cdc_kind = 'upsert' then evt.`changed_at` end as __auto_cdc_written_2,
        count(*) as __auto_cdc_copies
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
    join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5, 6
),
disputed as (
    select distinct var.`id`, var.__auto_cdc_sequence
    from variants as var
    join variants as other on other.`id` = var.`id` and other.__auto_cdc_sequence = var.__auto_cdc_sequence
    join shop.`customers__auto_cdc_winners_c0ffee000002` as won on won.`id` = var.`id`
    where (var.__auto_cdc_kind <> other.__auto_cdc_kind and case when won.__auto_cdc_kind = 'delete' then won.__auto_cdc_sequence else won.__auto_cdc_floor end = var.__auto_cdc_sequence) or (var.__auto_cdc_written_0 <> other.__auto_cdc_written_0 and won.__auto_cdc_fresh_1 = var.__auto_cdc_sequence) or (var.__auto_cdc_written_1 <> other.__auto_cdc_written_1 and won.__auto_cdc_fresh_2 = var.__auto_cdc_sequence) or (var.__auto_cdc_kind = 'upsert' and other.__auto_cdc_kind = 'upsert' and not (var.__auto_cdc_written_2 <=> other.__auto_cdc_written_2) and won.__auto_cdc_fresh_3 = var.__auto_cdc_sequence)
),
places as (
    select var.`id`, var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, count(disputed.__auto_cdc_sequence) > 0 as __auto_cdc_decides
    from variants as var left join disputed on disputed.`id` = var.`id` and disputed.__auto_cdc_sequence = var.__auto_cdc_sequence
    group by var.`id`, var.__auto_cdc_sequence
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

-- create the companion
create table shop.customers__auto_cdc using iceberg tblproperties ('format-version' = '2', 'write.merge.mode' = 'merge-on-read', 'write.update.mode' = 'copy-on-write') as
select
    cast(added.`id` as int) as `id`,
    cast(added.__auto_cdc_sequence as timestamp_ntz) as __auto_cdc_sequence,
    cast(added.__auto_cdc_kind as string) as __auto_cdc_kind,
    cast(added.__auto_cdc_floor as timestamp_ntz) as __auto_cdc_floor,
    cast(added.`__auto_cdc_author_name` as timestamp_ntz) as `__auto_cdc_author_name`,
    cast(added.`__auto_cdc_author_note` as timestamp_ntz) as `__auto_cdc_author_note`,
    cast(added.__auto_cdc_control as string) as __auto_cdc_control
from (
select
    cast(null as int) as `id`,
    cast(null as timestamp_ntz) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as timestamp_ntz) as __auto_cdc_floor,
    cast(null as timestamp_ntz) as `__auto_cdc_author_name`,
    cast(null as timestamp_ntz) as `__auto_cdc_author_note`,
    'c0ffee000002' as __auto_cdc_control
) as added(`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`, __auto_cdc_control);

-- create the target
create or replace table shop.customers using iceberg as
select
    cast(added.`id` as int) as `id`,
    cast(added.`name` as string) as `name`,
    cast(added.`note` as string) as `note`,
    cast(added.`changed_at` as timestamp_ntz) as `changed_at`
from (
select won.`id`, won.`name`, won.`note`, won.`changed_at`
from shop.`customers__auto_cdc_winners_c0ffee000002` as won
where won.__auto_cdc_writes
) as added(`id`, `name`, `note`, `changed_at`);

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told.`id`, told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_floor, told.`__auto_cdc_author_name`, told.`__auto_cdc_author_note`, told.__auto_cdc_control from (
select
    cast(null as int) as `id`,
    cast(null as timestamp_ntz) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    cast(null as timestamp_ntz) as __auto_cdc_floor,
    cast(null as timestamp_ntz) as `__auto_cdc_author_name`,
    cast(null as timestamp_ntz) as `__auto_cdc_author_note`,
    '{"change_data_feed": false, "engine": "Spark", "format": 1, "key_types": ["int"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "1", "sequence_type": "timestamp_ntz", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
union all
select more.*, null as __auto_cdc_control from (
select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note` from shop.`customers__auto_cdc_winners_c0ffee000002`
) as more
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
union all
select told.`id`, told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_floor, told.`__auto_cdc_author_name`, told.`__auto_cdc_author_note`, told.__auto_cdc_control from (
select
    cast(null as int) as `id`,
    cast(null as timestamp_ntz) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as timestamp_ntz) as __auto_cdc_floor,
    cast(null as timestamp_ntz) as `__auto_cdc_author_name`,
    cast(null as timestamp_ntz) as `__auto_cdc_author_note`,
    'c0ffee000002' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
) as src
on tgt.__auto_cdc_kind = src.__auto_cdc_kind
when matched then update set __auto_cdc_control = src.__auto_cdc_control
when not matched then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_floor, src.`__auto_cdc_author_name`, src.`__auto_cdc_author_note`, src.__auto_cdc_control);

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- free the working tables
drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002` purge
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_winners_c0ffee000002` purge
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_sums_c0ffee000002` purge;

-- auto_cdc: model customers: apply the new events

-- stage the model's rows
create or replace table shop.`customers__auto_cdc_stage_c0ffee000002` using iceberg as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with evaluated as (
    select
        src.`id` as `id`,
        src.`name` as `name`,
        src.`note` as `note`,
        src.`changed_at` as `changed_at`,
        src.`changed_at` as __auto_cdc_sequence,
        case when (
        operation = 'D'
    ) then 'delete' else 'upsert' end as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
),
told as (
    select src.*, (cmp.__auto_cdc_sequence is null or src.__auto_cdc_sequence is null or src.__auto_cdc_sequence > cmp.__auto_cdc_sequence or (cmp.__auto_cdc_kind = 'upsert' and (cmp.__auto_cdc_floor is null or src.__auto_cdc_sequence > cmp.__auto_cdc_floor) and case when src.__auto_cdc_kind = 'upsert' then (src.`name` is not null and (cmp.`__auto_cdc_author_name` is null or src.__auto_cdc_sequence > cmp.`__auto_cdc_author_name`)) or (src.`note` is not null and (cmp.`__auto_cdc_author_note` is null or src.__auto_cdc_sequence > cmp.`__auto_cdc_author_note`)) else src.__auto_cdc_sequence < cmp.__auto_cdc_sequence and (cmp.`__auto_cdc_author_name` is null or src.__auto_cdc_sequence <> cmp.`__auto_cdc_author_name`) and (cmp.`__auto_cdc_author_note` is null or src.__auto_cdc_sequence <> cmp.`__auto_cdc_author_note`) end)) as __auto_cdc_is_new, coalesce(src.__auto_cdc_sequence < cmp.__auto_cdc_sequence, false) as __auto_cdc_is_late, case when cmp.__auto_cdc_kind is not null then named_struct('at_0', cmp.`id`, 'at_1', cmp.__auto_cdc_kind) end as __auto_cdc_hidden, case when cmp.__auto_cdc_kind = 'upsert' then cmp.__auto_cdc_sequence end as __auto_cdc_latest, case when cmp.__auto_cdc_kind = 'upsert' then cmp.__auto_cdc_floor else cmp.__auto_cdc_sequence end as __auto_cdc_floor, cmp.`__auto_cdc_author_name` as `__auto_cdc_author_name`, cmp.`__auto_cdc_author_note` as `__auto_cdc_author_note`
    from evaluated as src
    left join shop.customers__auto_cdc as cmp on src.`id` = cmp.`id`
)
select
    __auto_cdc_is_new,
    __auto_cdc_is_late,
    __auto_cdc_sequence,
    __auto_cdc_kind,
    case when __auto_cdc_is_new then __auto_cdc_hidden end as __auto_cdc_hidden,
    case when __auto_cdc_is_new then __auto_cdc_latest end as __auto_cdc_latest,
    case when __auto_cdc_is_new then __auto_cdc_floor end as __auto_cdc_floor,
    case when __auto_cdc_is_new then `__auto_cdc_author_name` end as `__auto_cdc_author_name`,
    case when __auto_cdc_is_new then `__auto_cdc_author_note` end as `__auto_cdc_author_note`,
    `id`,
    case when __auto_cdc_is_new then `name` end as `name`,
    case when __auto_cdc_is_new then `note` end as `note`,
    case when __auto_cdc_is_new then `changed_at` end as `changed_at`
from told
) as src;

-- bring the events of a key together
create or replace table shop.`customers__auto_cdc_sums_c0ffee000002` using iceberg as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with sent as (
    select
        evt.`id`,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`name` end as `name`,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`note` end as `note`,
        evt.`changed_at`,
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        evt.__auto_cdc_hidden,
        evt.__auto_cdc_latest,
        evt.__auto_cdc_floor,
        evt.`__auto_cdc_author_name`,
        evt.`__auto_cdc_author_note`
    from (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as evt
)
select
    evt.`id`,
    max(evt.__auto_cdc_hidden) as __auto_cdc_hidden,
    max_by(evt.__auto_cdc_latest, evt.__auto_cdc_latest) as __auto_cdc_latest,
    max_by(evt.__auto_cdc_floor, evt.__auto_cdc_floor) as __auto_cdc_floor,
    max(evt.`__auto_cdc_author_name`) as `__auto_cdc_author_name`,
    max(evt.`__auto_cdc_author_note`) as `__auto_cdc_author_note`,
    max(case when evt.__auto_cdc_kind = 'upsert' then evt.__auto_cdc_sequence end) as __auto_cdc_greatest,
    max(case when evt.__auto_cdc_kind = 'delete' then evt.__auto_cdc_sequence end) as __auto_cdc_deleted,
    max_by(named_struct('value', evt.`name`), evt.__auto_cdc_sequence) filter (where evt.`name` is not null).value as `name`,
    max(case when evt.`name` is not null then evt.__auto_cdc_sequence end) as __auto_cdc_fresh_1,
    max_by(named_struct('value', evt.`note`), evt.__auto_cdc_sequence) filter (where evt.`note` is not null).value as `note`,
    max(case when evt.`note` is not null then evt.__auto_cdc_sequence end) as __auto_cdc_fresh_2,
    max_by(named_struct('value', evt.`changed_at`), evt.__auto_cdc_sequence) filter (where evt.__auto_cdc_kind = 'upsert' and true).value as `changed_at`
from sent as evt
group by evt.`id`
) as src;

-- find the rows of the touched keys
create or replace table shop.`customers__auto_cdc_gone_c0ffee000002` using iceberg as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
select tgt.`id`, named_struct('at_0', tgt.`id`) as __auto_cdc_locator
from shop.customers as tgt
join shop.`customers__auto_cdc_sums_c0ffee000002` as evt on evt.`id` = tgt.`id`
) as src;

-- merge the events of a key with what it has
create or replace table shop.`customers__auto_cdc_winners_c0ffee000002` using iceberg as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with bounded as (
    select evt.*, case when evt.__auto_cdc_greatest is null or evt.__auto_cdc_latest > evt.__auto_cdc_greatest then evt.__auto_cdc_latest else evt.__auto_cdc_greatest end as __auto_cdc_last, case when evt.__auto_cdc_deleted is null or evt.__auto_cdc_floor > evt.__auto_cdc_deleted then evt.__auto_cdc_floor else evt.__auto_cdc_deleted end as __auto_cdc_next
    from shop.`customers__auto_cdc_sums_c0ffee000002` as evt
),
judged as (
    select
        evt.*,
        case when (evt.__auto_cdc_next is null or evt.__auto_cdc_last > evt.__auto_cdc_next) then evt.__auto_cdc_last end as __auto_cdc_shows,
        evt.__auto_cdc_fresh_1 is not null and (evt.__auto_cdc_next is null or evt.__auto_cdc_fresh_1 > evt.__auto_cdc_next) and (evt.`__auto_cdc_author_name` is null or evt.__auto_cdc_fresh_1 > evt.`__auto_cdc_author_name`) as __auto_cdc_opens_1,
        case when evt.`__auto_cdc_author_name` is null then evt.__auto_cdc_deleted is null and case when evt.__auto_cdc_hidden is null then evt.__auto_cdc_next is null else evt.__auto_cdc_latest is not null end else (evt.__auto_cdc_next is null or evt.`__auto_cdc_author_name` > evt.__auto_cdc_next) end as __auto_cdc_started_1,
        evt.__auto_cdc_fresh_2 is not null and (evt.__auto_cdc_next is null or evt.__auto_cdc_fresh_2 > evt.__auto_cdc_next) and (evt.`__auto_cdc_author_note` is null or evt.__auto_cdc_fresh_2 > evt.`__auto_cdc_author_note`) as __auto_cdc_opens_2,
        case when evt.`__auto_cdc_author_note` is null then evt.__auto_cdc_deleted is null and case when evt.__auto_cdc_hidden is null then evt.__auto_cdc_next is null else evt.__auto_cdc_latest is not null end else (evt.__auto_cdc_next is null or evt.`__auto_cdc_author_note` > evt.__auto_cdc_next) end as __auto_cdc_started_2,
        evt.__auto_cdc_greatest is not null and (evt.__auto_cdc_next is null or evt.__auto_cdc_greatest > evt.__auto_cdc_next) and (evt.__auto_cdc_latest is null or evt.__auto_cdc_greatest > evt.__auto_cdc_latest) as __auto_cdc_opens_3,
        case when evt.__auto_cdc_latest is null then true else (evt.__auto_cdc_next is null or evt.__auto_cdc_latest > evt.__auto_cdc_next) end as __auto_cdc_started_3
    from bounded as evt
),
place as (
    select `id`, min(__auto_cdc_locator) as __auto_cdc_locator
    from shop.`customers__auto_cdc_gone_c0ffee000002` group by `id`
),
held as (
    select
        tgt.`id`,
        tgt.`name` as __auto_cdc_was_1,
        tgt.`note` as __auto_cdc_was_2,
        tgt.`changed_at` as __auto_cdc_was_3
    from shop.customers as tgt
    join (
        select place.__auto_cdc_locator
        from judged as evt
        join place on place.`id` = evt.`id`
        where evt.__auto_cdc_shows is not null and ((evt.__auto_cdc_started_1 and not evt.__auto_cdc_opens_1) or (evt.__auto_cdc_started_2 and not evt.__auto_cdc_opens_2) or (evt.__auto_cdc_started_3 and not evt.__auto_cdc_opens_3))
    ) as kept on kept.__auto_cdc_locator = named_struct('at_0', tgt.`id`)
)
select
    evt.`id`,
    coalesce(evt.__auto_cdc_shows, evt.__auto_cdc_next) as __auto_cdc_sequence,
    case when evt.__auto_cdc_shows is null then 'delete' else 'upsert' end as __auto_cdc_kind,
    case when evt.__auto_cdc_shows is not null then evt.__auto_cdc_next end as __auto_cdc_floor,
    evt.__auto_cdc_hidden,
    case when evt.__auto_cdc_opens_1 then evt.`name` when evt.__auto_cdc_started_1 then held.__auto_cdc_was_1 end as `name`,
    case when evt.__auto_cdc_opens_1 then evt.__auto_cdc_fresh_1 end as __auto_cdc_fresh_1,
    case when evt.__auto_cdc_opens_1 then evt.__auto_cdc_fresh_1 when evt.__auto_cdc_started_1 then evt.`__auto_cdc_author_name` end as `__auto_cdc_author_name`,
    case when evt.__auto_cdc_opens_2 then evt.`note` when evt.__auto_cdc_started_2 then held.__auto_cdc_was_2 end as `note`,
    case when evt.__auto_cdc_opens_2 then evt.__auto_cdc_fresh_2 end as __auto_cdc_fresh_2,
    case when evt.__auto_cdc_opens_2 then evt.__auto_cdc_fresh_2 when evt.__auto_cdc_started_2 then evt.`__auto_cdc_author_note` end as `__auto_cdc_author_note`,
    case when evt.__auto_cdc_opens_3 then evt.`changed_at` when evt.__auto_cdc_started_3 then held.__auto_cdc_was_3 end as `changed_at`,
    case when evt.__auto_cdc_opens_3 then evt.__auto_cdc_greatest end as __auto_cdc_fresh_3,
    evt.__auto_cdc_shows is not null and ((evt.__auto_cdc_greatest is not null and (evt.__auto_cdc_latest is null or evt.__auto_cdc_greatest > evt.__auto_cdc_latest)) or (place.__auto_cdc_locator is not null and (evt.__auto_cdc_opens_1 or (evt.`__auto_cdc_author_name` is not null and not evt.__auto_cdc_started_1) or evt.__auto_cdc_opens_2 or (evt.`__auto_cdc_author_note` is not null and not evt.__auto_cdc_started_2)))) as __auto_cdc_writes
from judged as evt
left join place on place.`id` = evt.`id`
left join held on held.`id` = evt.`id`
) as src;

-- check the events
with counted as (
    select
        count(*) as num_read_rows,
        count(case when __auto_cdc_is_late and __auto_cdc_kind <> 'truncate' then 1 end) as num_late_rows
    from shop.`customers__auto_cdc_stage_c0ffee000002` as stg
),
found as (
    select
        count(*) as num_new_events,
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt.`id` as string), 'null') end) as null_sequence_example,
        count(case when evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as string) end) as null_key_0_example
    from (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as evt
),
repeated as (
    select `id`, __auto_cdc_sequence from (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as evt where __auto_cdc_kind <> 'truncate' group by `id`, __auto_cdc_sequence having count(*) > 1
),
variants as (
    select
        evt.`id`,
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`name` end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`note` end as __auto_cdc_written_1,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`changed_at` end as __auto_cdc_written_2,
        count(*) as __auto_cdc_copies
    from (select * from shop.`customers__auto_cdc_stage_c0ffee000002` where __auto_cdc_is_new) as evt
    join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5, 6
),
disputed as (
    select distinct var.`id`, var.__auto_cdc_sequence
    from variants as var
    join variants as other on other.`id` = var.`id` and other.__auto_cdc_sequence = var.__auto_cdc_sequence
    join shop.`customers__auto_cdc_winners_c0ffee000002` as won on won.`id` = var.`id`
    where (var.__auto_cdc_kind <> other.__auto_cdc_kind and case when won.__auto_cdc_kind = 'delete' then won.__auto_cdc_sequence else won.__auto_cdc_floor end = var.__auto_cdc_sequence) or (var.__auto_cdc_written_0 <> other.__auto_cdc_written_0 and won.__auto_cdc_fresh_1 = var.__auto_cdc_sequence) or (var.__auto_cdc_written_1 <> other.__auto_cdc_written_1 and won.__auto_cdc_fresh_2 = var.__auto_cdc_sequence) or (var.__auto_cdc_kind = 'upsert' and other.__auto_cdc_kind = 'upsert' and not (var.__auto_cdc_written_2 <=> other.__auto_cdc_written_2) and won.__auto_cdc_fresh_3 = var.__auto_cdc_sequence)
),
places as (
    select var.`id`, var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, count(disputed.__auto_cdc_sequence) > 0 as __auto_cdc_decides
    from variants as var left join disputed on disputed.`id` = var.`id` and disputed.__auto_cdc_sequence = var.__auto_cdc_sequence
    group by var.`id`, var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places.`id` as string), 'null') || ' at ' || cast(places.__auto_cdc_sequence as string) end) as num_tied_rows_example
    from places
),
further as (
    select count(*) as num_deleted_rows
    from shop.`customers__auto_cdc_gone_c0ffee000002` as gone
    join shop.`customers__auto_cdc_winners_c0ffee000002` as won on won.`id` = gone.`id` and won.__auto_cdc_kind = 'delete'
)
select *
from counted
cross join found
cross join ties
cross join further;

-- count what is written  (only if num_new_events)
select
    count(case when __auto_cdc_step = 1 and __auto_cdc_action = 'born' then 1 end) as num_upserted_rows
from (
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp_ntz) as `changed_at`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select gone.__auto_cdc_locator
    from shop.`customers__auto_cdc_gone_c0ffee000002` as gone
    join shop.`customers__auto_cdc_winners_c0ffee000002` as won on won.`id` = gone.`id` and (won.__auto_cdc_writes or won.__auto_cdc_kind = 'delete')
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`changed_at` as timestamp_ntz) as `changed_at`,
        named_struct('at_0', row_born.`id`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`changed_at`
    from (
    select won.`id`, won.`name`, won.`note`, won.`changed_at`
    from shop.`customers__auto_cdc_winners_c0ffee000002` as won
    where won.__auto_cdc_writes
    ) as born(`id`, `name`, `note`, `changed_at`)
    ) as row_born
) as changes;

-- write down what is left to do  (only if num_new_events)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect\\n    cast(null as int) as `id`,\\n    cast(null as string) as `name`,\\n    cast(null as string) as `note`,\\n    cast(null as timestamp_ntz) as `changed_at`,\\n    __auto_cdc_locator, \'gone\' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp_ntz) as `changed_at`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select gone.__auto_cdc_locator\\n    from shop.`customers__auto_cdc_gone_c0ffee000002` as gone\\n    join shop.`customers__auto_cdc_winners_c0ffee000002` as won on won.`id` = gone.`id` and (won.__auto_cdc_writes or won.__auto_cdc_kind = \'delete\')\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`changed_at` as timestamp_ntz) as `changed_at`,\\n        named_struct(\'at_0\', row_born.`id`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`changed_at`\\n    from (\\n    select won.`id`, won.`name`, won.`note`, won.`changed_at`\\n    from shop.`customers__auto_cdc_winners_c0ffee000002` as won\\n    where won.__auto_cdc_writes\\n    ) as born(`id`, `name`, `note`, `changed_at`)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action in (\'gone\', \'born\')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect `id`, `name`, `note`, `changed_at`, cast(null as struct<at_0: int>) as __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp_ntz) as `changed_at`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select gone.__auto_cdc_locator\\n    from shop.`customers__auto_cdc_gone_c0ffee000002` as gone\\n    join shop.`customers__auto_cdc_winners_c0ffee000002` as won on won.`id` = gone.`id` and (won.__auto_cdc_writes or won.__auto_cdc_kind = \'delete\')\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`changed_at` as timestamp_ntz) as `changed_at`,\\n        named_struct(\'at_0\', row_born.`id`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`changed_at`\\n    from (\\n    select won.`id`, won.`name`, won.`note`, won.`changed_at`\\n    from shop.`customers__auto_cdc_winners_c0ffee000002` as won\\n    where won.__auto_cdc_writes\\n    ) as born(`id`, `name`, `note`, `changed_at`)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = \'born\'\\n) as src\\non src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0\\nwhen matched and src.__auto_cdc_action = \'gone\' then delete\\nwhen not matched and src.__auto_cdc_action = \'born\' then insert (`id`, `name`, `note`, `changed_at`) values (src.`id`, src.`name`, src.`note`, src.`changed_at`)"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\\nselect\\n    cast(null as int) as `id`,\\n    cast(null as timestamp_ntz) as __auto_cdc_sequence,\\n    cast(null as string) as __auto_cdc_kind,\\n    cast(null as timestamp_ntz) as __auto_cdc_floor,\\n    cast(null as timestamp_ntz) as `__auto_cdc_author_name`,\\n    cast(null as timestamp_ntz) as `__auto_cdc_author_note`,\\n    cast(null as string) as __auto_cdc_control,\\n    __auto_cdc_locator, \'gone\' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as timestamp_ntz) as __auto_cdc_sequence,\\n        cast(null as string) as __auto_cdc_kind,\\n        cast(null as timestamp_ntz) as __auto_cdc_floor,\\n        cast(null as timestamp_ntz) as `__auto_cdc_author_name`,\\n        cast(null as timestamp_ntz) as `__auto_cdc_author_note`,\\n        cast(null as string) as __auto_cdc_control,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select __auto_cdc_hidden from shop.`customers__auto_cdc_winners_c0ffee000002` where __auto_cdc_hidden is not null\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.__auto_cdc_sequence as timestamp_ntz) as __auto_cdc_sequence,\\n        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,\\n        cast(row_born.__auto_cdc_floor as timestamp_ntz) as __auto_cdc_floor,\\n        cast(row_born.`__auto_cdc_author_name` as timestamp_ntz) as `__auto_cdc_author_name`,\\n        cast(row_born.`__auto_cdc_author_note` as timestamp_ntz) as `__auto_cdc_author_note`,\\n        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.__auto_cdc_kind) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.__auto_cdc_sequence,\\n        born.__auto_cdc_kind,\\n        born.__auto_cdc_floor,\\n        born.`__auto_cdc_author_name`,\\n        born.`__auto_cdc_author_note`,\\n        cast(null as string) as __auto_cdc_control\\n    from (\\n    select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note` from shop.`customers__auto_cdc_winners_c0ffee000002`\\n    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`)\\n    ) as row_born\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.__auto_cdc_sequence as timestamp_ntz) as __auto_cdc_sequence,\\n        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,\\n        cast(row_born.__auto_cdc_floor as timestamp_ntz) as __auto_cdc_floor,\\n        cast(row_born.`__auto_cdc_author_name` as timestamp_ntz) as `__auto_cdc_author_name`,\\n        cast(row_born.`__auto_cdc_author_note` as timestamp_ntz) as `__auto_cdc_author_note`,\\n        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.__auto_cdc_kind) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.__auto_cdc_sequence,\\n        born.__auto_cdc_kind,\\n        born.__auto_cdc_floor,\\n        born.`__auto_cdc_author_name`,\\n        born.`__auto_cdc_author_note`,\\n        born.__auto_cdc_control\\n    from (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as timestamp_ntz) as __auto_cdc_sequence,\\n        \'layers\' as __auto_cdc_kind,\\n        cast(null as timestamp_ntz) as __auto_cdc_floor,\\n        cast(null as timestamp_ntz) as `__auto_cdc_author_name`,\\n        cast(null as timestamp_ntz) as `__auto_cdc_author_note`,\\n        \'1\' as __auto_cdc_control\\n    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`, __auto_cdc_control)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action in (\'gone\', \'born\')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`, __auto_cdc_control, cast(null as struct<at_0: int, at_1: string>) as __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as timestamp_ntz) as __auto_cdc_sequence,\\n        cast(null as string) as __auto_cdc_kind,\\n        cast(null as timestamp_ntz) as __auto_cdc_floor,\\n        cast(null as timestamp_ntz) as `__auto_cdc_author_name`,\\n        cast(null as timestamp_ntz) as `__auto_cdc_author_note`,\\n        cast(null as string) as __auto_cdc_control,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select __auto_cdc_hidden from shop.`customers__auto_cdc_winners_c0ffee000002` where __auto_cdc_hidden is not null\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.__auto_cdc_sequence as timestamp_ntz) as __auto_cdc_sequence,\\n        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,\\n        cast(row_born.__auto_cdc_floor as timestamp_ntz) as __auto_cdc_floor,\\n        cast(row_born.`__auto_cdc_author_name` as timestamp_ntz) as `__auto_cdc_author_name`,\\n        cast(row_born.`__auto_cdc_author_note` as timestamp_ntz) as `__auto_cdc_author_note`,\\n        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.__auto_cdc_kind) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.__auto_cdc_sequence,\\n        born.__auto_cdc_kind,\\n        born.__auto_cdc_floor,\\n        born.`__auto_cdc_author_name`,\\n        born.`__auto_cdc_author_note`,\\n        cast(null as string) as __auto_cdc_control\\n    from (\\n    select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note` from shop.`customers__auto_cdc_winners_c0ffee000002`\\n    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`)\\n    ) as row_born\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.__auto_cdc_sequence as timestamp_ntz) as __auto_cdc_sequence,\\n        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,\\n        cast(row_born.__auto_cdc_floor as timestamp_ntz) as __auto_cdc_floor,\\n        cast(row_born.`__auto_cdc_author_name` as timestamp_ntz) as `__auto_cdc_author_name`,\\n        cast(row_born.`__auto_cdc_author_note` as timestamp_ntz) as `__auto_cdc_author_note`,\\n        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.__auto_cdc_kind) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.__auto_cdc_sequence,\\n        born.__auto_cdc_kind,\\n        born.__auto_cdc_floor,\\n        born.`__auto_cdc_author_name`,\\n        born.`__auto_cdc_author_note`,\\n        born.__auto_cdc_control\\n    from (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as timestamp_ntz) as __auto_cdc_sequence,\\n        \'layers\' as __auto_cdc_kind,\\n        cast(null as timestamp_ntz) as __auto_cdc_floor,\\n        cast(null as timestamp_ntz) as `__auto_cdc_author_name`,\\n        cast(null as timestamp_ntz) as `__auto_cdc_author_note`,\\n        \'1\' as __auto_cdc_control\\n    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`, __auto_cdc_control)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = \'born\'\\nunion all\\nselect `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`, __auto_cdc_control, named_struct(\'at_0\', own.`id`, \'at_1\', own.__auto_cdc_kind), \'done\' as __auto_cdc_action\\nfrom (\\nselect\\n    cast(null as int) as `id`,\\n    cast(null as timestamp_ntz) as __auto_cdc_sequence,\\n    \'journal\' as __auto_cdc_kind,\\n    cast(null as timestamp_ntz) as __auto_cdc_floor,\\n    cast(null as timestamp_ntz) as `__auto_cdc_author_name`,\\n    cast(null as timestamp_ntz) as `__auto_cdc_author_note`,\\n    \'c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002` purge\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_winners_c0ffee000002` purge\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_gone_c0ffee000002` purge\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_sums_c0ffee000002` purge\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}\' as __auto_cdc_control\\n) as own\\n) as src\\non src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0 and tgt.__auto_cdc_kind <=> src.__auto_cdc_locator.at_1\\nwhen matched and src.__auto_cdc_action = \'gone\' then delete\\nwhen matched and src.__auto_cdc_action = \'done\' and tgt.__auto_cdc_kind = \'journal\' and substr(tgt.__auto_cdc_control, 1, 13) = \'c0ffee000002 \' then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched and src.__auto_cdc_action = \'born\' then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_floor, src.`__auto_cdc_author_name`, src.`__auto_cdc_author_note`, src.__auto_cdc_control)"]], "frees": "drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002` purge\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_winners_c0ffee000002` purge\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_gone_c0ffee000002` purge\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_sums_c0ffee000002` purge", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_new_events)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_new_events)
merge into shop.customers as tgt using (
select
    cast(null as int) as `id`,
    cast(null as string) as `name`,
    cast(null as string) as `note`,
    cast(null as timestamp_ntz) as `changed_at`,
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp_ntz) as `changed_at`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select gone.__auto_cdc_locator
    from shop.`customers__auto_cdc_gone_c0ffee000002` as gone
    join shop.`customers__auto_cdc_winners_c0ffee000002` as won on won.`id` = gone.`id` and (won.__auto_cdc_writes or won.__auto_cdc_kind = 'delete')
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`changed_at` as timestamp_ntz) as `changed_at`,
        named_struct('at_0', row_born.`id`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`changed_at`
    from (
    select won.`id`, won.`name`, won.`note`, won.`changed_at`
    from shop.`customers__auto_cdc_winners_c0ffee000002` as won
    where won.__auto_cdc_writes
    ) as born(`id`, `name`, `note`, `changed_at`)
    ) as row_born
) as changes
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select `id`, `name`, `note`, `changed_at`, cast(null as struct<at_0: int>) as __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp_ntz) as `changed_at`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select gone.__auto_cdc_locator
    from shop.`customers__auto_cdc_gone_c0ffee000002` as gone
    join shop.`customers__auto_cdc_winners_c0ffee000002` as won on won.`id` = gone.`id` and (won.__auto_cdc_writes or won.__auto_cdc_kind = 'delete')
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`changed_at` as timestamp_ntz) as `changed_at`,
        named_struct('at_0', row_born.`id`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`changed_at`
    from (
    select won.`id`, won.`name`, won.`note`, won.`changed_at`
    from shop.`customers__auto_cdc_winners_c0ffee000002` as won
    where won.__auto_cdc_writes
    ) as born(`id`, `name`, `note`, `changed_at`)
    ) as row_born
) as changes
where __auto_cdc_action = 'born'
) as src
on src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0
when matched and src.__auto_cdc_action = 'gone' then delete
when not matched and src.__auto_cdc_action = 'born' then insert (`id`, `name`, `note`, `changed_at`) values (src.`id`, src.`name`, src.`note`, src.`changed_at`);

-- change shop.customers__auto_cdc  (only if num_new_events)
merge into shop.customers__auto_cdc as tgt using (
select
    cast(null as int) as `id`,
    cast(null as timestamp_ntz) as __auto_cdc_sequence,
    cast(null as string) as __auto_cdc_kind,
    cast(null as timestamp_ntz) as __auto_cdc_floor,
    cast(null as timestamp_ntz) as `__auto_cdc_author_name`,
    cast(null as timestamp_ntz) as `__auto_cdc_author_note`,
    cast(null as string) as __auto_cdc_control,
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(null as int) as `id`,
        cast(null as timestamp_ntz) as __auto_cdc_sequence,
        cast(null as string) as __auto_cdc_kind,
        cast(null as timestamp_ntz) as __auto_cdc_floor,
        cast(null as timestamp_ntz) as `__auto_cdc_author_name`,
        cast(null as timestamp_ntz) as `__auto_cdc_author_note`,
        cast(null as string) as __auto_cdc_control,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select __auto_cdc_hidden from shop.`customers__auto_cdc_winners_c0ffee000002` where __auto_cdc_hidden is not null
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.__auto_cdc_sequence as timestamp_ntz) as __auto_cdc_sequence,
        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,
        cast(row_born.__auto_cdc_floor as timestamp_ntz) as __auto_cdc_floor,
        cast(row_born.`__auto_cdc_author_name` as timestamp_ntz) as `__auto_cdc_author_name`,
        cast(row_born.`__auto_cdc_author_note` as timestamp_ntz) as `__auto_cdc_author_note`,
        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.__auto_cdc_kind) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.__auto_cdc_sequence,
        born.__auto_cdc_kind,
        born.__auto_cdc_floor,
        born.`__auto_cdc_author_name`,
        born.`__auto_cdc_author_note`,
        cast(null as string) as __auto_cdc_control
    from (
    select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note` from shop.`customers__auto_cdc_winners_c0ffee000002`
    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`)
    ) as row_born
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.__auto_cdc_sequence as timestamp_ntz) as __auto_cdc_sequence,
        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,
        cast(row_born.__auto_cdc_floor as timestamp_ntz) as __auto_cdc_floor,
        cast(row_born.`__auto_cdc_author_name` as timestamp_ntz) as `__auto_cdc_author_name`,
        cast(row_born.`__auto_cdc_author_note` as timestamp_ntz) as `__auto_cdc_author_note`,
        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.__auto_cdc_kind) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.__auto_cdc_sequence,
        born.__auto_cdc_kind,
        born.__auto_cdc_floor,
        born.`__auto_cdc_author_name`,
        born.`__auto_cdc_author_note`,
        born.__auto_cdc_control
    from (
    select
        cast(null as int) as `id`,
        cast(null as timestamp_ntz) as __auto_cdc_sequence,
        'layers' as __auto_cdc_kind,
        cast(null as timestamp_ntz) as __auto_cdc_floor,
        cast(null as timestamp_ntz) as `__auto_cdc_author_name`,
        cast(null as timestamp_ntz) as `__auto_cdc_author_note`,
        '1' as __auto_cdc_control
    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`, __auto_cdc_control)
    ) as row_born
) as changes
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`, __auto_cdc_control, cast(null as struct<at_0: int, at_1: string>) as __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as int) as `id`,
        cast(null as timestamp_ntz) as __auto_cdc_sequence,
        cast(null as string) as __auto_cdc_kind,
        cast(null as timestamp_ntz) as __auto_cdc_floor,
        cast(null as timestamp_ntz) as `__auto_cdc_author_name`,
        cast(null as timestamp_ntz) as `__auto_cdc_author_note`,
        cast(null as string) as __auto_cdc_control,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select __auto_cdc_hidden from shop.`customers__auto_cdc_winners_c0ffee000002` where __auto_cdc_hidden is not null
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.__auto_cdc_sequence as timestamp_ntz) as __auto_cdc_sequence,
        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,
        cast(row_born.__auto_cdc_floor as timestamp_ntz) as __auto_cdc_floor,
        cast(row_born.`__auto_cdc_author_name` as timestamp_ntz) as `__auto_cdc_author_name`,
        cast(row_born.`__auto_cdc_author_note` as timestamp_ntz) as `__auto_cdc_author_note`,
        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.__auto_cdc_kind) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.__auto_cdc_sequence,
        born.__auto_cdc_kind,
        born.__auto_cdc_floor,
        born.`__auto_cdc_author_name`,
        born.`__auto_cdc_author_note`,
        cast(null as string) as __auto_cdc_control
    from (
    select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note` from shop.`customers__auto_cdc_winners_c0ffee000002`
    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`)
    ) as row_born
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.__auto_cdc_sequence as timestamp_ntz) as __auto_cdc_sequence,
        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,
        cast(row_born.__auto_cdc_floor as timestamp_ntz) as __auto_cdc_floor,
        cast(row_born.`__auto_cdc_author_name` as timestamp_ntz) as `__auto_cdc_author_name`,
        cast(row_born.`__auto_cdc_author_note` as timestamp_ntz) as `__auto_cdc_author_note`,
        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.__auto_cdc_kind) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.__auto_cdc_sequence,
        born.__auto_cdc_kind,
        born.__auto_cdc_floor,
        born.`__auto_cdc_author_name`,
        born.`__auto_cdc_author_note`,
        born.__auto_cdc_control
    from (
    select
        cast(null as int) as `id`,
        cast(null as timestamp_ntz) as __auto_cdc_sequence,
        'layers' as __auto_cdc_kind,
        cast(null as timestamp_ntz) as __auto_cdc_floor,
        cast(null as timestamp_ntz) as `__auto_cdc_author_name`,
        cast(null as timestamp_ntz) as `__auto_cdc_author_note`,
        '1' as __auto_cdc_control
    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`, __auto_cdc_control)
    ) as row_born
) as changes
where __auto_cdc_action = 'born'
union all
select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`, __auto_cdc_control, named_struct('at_0', own.`id`, 'at_1', own.__auto_cdc_kind), 'done' as __auto_cdc_action
from (
select
    cast(null as int) as `id`,
    cast(null as timestamp_ntz) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as timestamp_ntz) as __auto_cdc_floor,
    cast(null as timestamp_ntz) as `__auto_cdc_author_name`,
    cast(null as timestamp_ntz) as `__auto_cdc_author_note`,
    'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002` purge\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_winners_c0ffee000002` purge\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_gone_c0ffee000002` purge\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_sums_c0ffee000002` purge", "asks": "", "otherwise": [], "appends": false}' as __auto_cdc_control
) as own
) as src
on src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0 and tgt.__auto_cdc_kind <=> src.__auto_cdc_locator.at_1
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'done' and tgt.__auto_cdc_kind = 'journal' and substr(tgt.__auto_cdc_control, 1, 13) = 'c0ffee000002 ' then update set __auto_cdc_control = src.__auto_cdc_control
when not matched and src.__auto_cdc_action = 'born' then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_floor, `__auto_cdc_author_name`, `__auto_cdc_author_note`, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_floor, src.`__auto_cdc_author_name`, src.`__auto_cdc_author_note`, src.__auto_cdc_control);

-- free the working tables
drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002` purge
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_winners_c0ffee000002` purge
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_gone_c0ffee000002` purge
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_sums_c0ffee000002` purge;

-- cross it off  (only if num_new_events)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';
