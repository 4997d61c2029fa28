-- auto_cdc: model customers: build the target

-- read the model's rows, and check what is expected of them
create or replace table shop.`customers__auto_cdc_checked_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with evaluated as (
    select
        src.`id`,
        src.`name`,
        src.`note`,
        src.`operation`,
        src.`changed_at`,
        src.`changed_at` as __auto_cdc_sequence,
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
from shop.`customers__auto_cdc_checked_c0ffee000002` as chk;

-- stage the model's rows
create or replace table shop.`customers__auto_cdc_stage_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with evaluated as (
    select
        src.`id` as `id`,
        src.`name` as `name`,
        src.`note` as `note`,
        src.`changed_at` as `changed_at`,
        src.__auto_cdc_sequence as __auto_cdc_sequence,
        src.__auto_cdc_kind as __auto_cdc_kind
    from shop.`customers__auto_cdc_checked_c0ffee000002` as src
    where not src.__auto_cdc_dropped
)
select src.*, lag(src.__auto_cdc_sequence) over (partition by src.`id` order by src.__auto_cdc_sequence desc) is null as __auto_cdc_is_greatest, coalesce(lag(src.__auto_cdc_sequence) over (partition by src.`id` order by src.__auto_cdc_sequence desc) = src.__auto_cdc_sequence, false) as __auto_cdc_is_repeated
from evaluated as src
) as src;

-- check the events
select
    count(*) as num_read_rows,
    0 as num_late_rows,
    count(case when true then 1 end) as num_new_events,
    count(case when true and evt.__auto_cdc_is_repeated then 1 end) as num_repeated_rows,
    case when count(case when true and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when true and evt.__auto_cdc_sequence is null then 1 end) else 0 end as null_sequence,
    min(case when true and evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt.`id` as string), 'null') end) as null_sequence_example,
    case when count(case when true and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when true and evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) else 0 end as null_key_0,
    min(case when true and evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as string) end) as null_key_0_example
from shop.`customers__auto_cdc_stage_c0ffee000002` as evt;

-- look at events of one key and sequence  (only if num_repeated_rows)
with found as (
    select
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
places as (
    select var.`id`, var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, max(case when won.__auto_cdc_sequence is null then 0 else 1 end) = 1 as __auto_cdc_decides
    from variants as var left join (
        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
        where true and evt.__auto_cdc_is_greatest
    ) as won on won.`id` = var.`id` and won.__auto_cdc_sequence = var.__auto_cdc_sequence
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
from found
cross join ties;

-- create the quarantine
create or replace table shop.customers__auto_cdc_quarantine (
    `id` int,
    `name` string,
    `note` string,
    `operation` string,
    `changed_at` timestamp,
    `_failed_expectations` string,
    `_run_id` string,
    `_quarantined_at` timestamp_ntz
) using delta;

-- keep the rows that were dropped  (only if num_dropped_rows)
insert into shop.customers__auto_cdc_quarantine (`id`, `name`, `note`, `operation`, `changed_at`, `_failed_expectations`, `_run_id`, `_quarantined_at`)
select * from (
with dropped_rows as (
    select
        chk.`id` as `id`,
        chk.`name` as `name`,
        chk.`note` as `note`,
        chk.`operation` as `operation`,
        chk.`changed_at` as `changed_at`,
        substr(case when not chk.__auto_cdc_passes_0 then ', named' else '' end || case when not chk.__auto_cdc_passes_1 then ', recent' else '' end, 3) as _failed_expectations
    from shop.`customers__auto_cdc_checked_c0ffee000002` as chk
    where chk.__auto_cdc_dropped
),
placed as (
    select src.*, row_number() over (partition by src.`id`, src.`name`, src.`note`, src.`operation`, src.`changed_at` order by src._failed_expectations) as __auto_cdc_place
    from dropped_rows as src
)
select
    `id`,
    `name`,
    `note`,
    `operation`,
    `changed_at`,
    _failed_expectations as _failed_expectations,
    cast('' as string) as _run_id,
    cast(to_utc_timestamp(current_timestamp(), current_timezone()) as timestamp_ntz) as _quarantined_at
from placed
where __auto_cdc_place = 1
) as added;

-- create the companion
create table shop.customers__auto_cdc using delta cluster by (`id`) as
select
    cast(added.`id` as int) as `id`,
    cast(added.__auto_cdc_sequence as timestamp) as __auto_cdc_sequence,
    cast(added.__auto_cdc_kind as string) as __auto_cdc_kind,
    cast(added.__auto_cdc_control as string) as __auto_cdc_control
from (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as added(`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control);

-- create the target
create or replace table shop.customers using delta cluster by (id) as
select
    cast(added.`id` as int) as `id`,
    cast(added.`name` as string) as `name`,
    cast(added.`note` as string) as `note`,
    cast(added.`changed_at` as timestamp) as `changed_at`
from (
select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`
from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
where true and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete'
) as added(`id`, `name`, `note`, `changed_at`);

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told.`id`, told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Databricks", "format": 1, "key_types": ["int"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "1", "sequence_type": "timestamp", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
union all
select more.*, null as __auto_cdc_control from (
select `id`, __auto_cdc_sequence, __auto_cdc_kind from (
    select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
    where true and evt.__auto_cdc_is_greatest
) as won
) as more
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
union all
select told.`id`, told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
) as src
on tgt.__auto_cdc_kind = src.__auto_cdc_kind
when matched then update set __auto_cdc_control = src.__auto_cdc_control
when not matched then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control);

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- let old tombstones go
merge into shop.customers__auto_cdc as tgt using (
select greatest.sequence - interval '172800' second as bound from (
select max_by(__auto_cdc_sequence, __auto_cdc_sequence) as sequence from (
select __auto_cdc_sequence from shop.customers__auto_cdc
) as sequences
) as greatest
) as src
on __auto_cdc_kind = 'delete' and __auto_cdc_sequence < src.bound
when matched then delete;

-- free the working tables
drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_checked_c0ffee000002`;

-- auto_cdc: model customers: apply the new events

-- read the model's rows, and check what is expected of them
create or replace table shop.`customers__auto_cdc_checked_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with evaluated as (
    select
        src.`id`,
        src.`name`,
        src.`note`,
        src.`operation`,
        src.`changed_at`,
        src.`changed_at` as __auto_cdc_sequence,
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
from shop.`customers__auto_cdc_checked_c0ffee000002` as chk;

-- stage the model's rows
create or replace table shop.`customers__auto_cdc_stage_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with evaluated as (
    select
        src.`id` as `id`,
        src.`name` as `name`,
        src.`note` as `note`,
        src.`changed_at` as `changed_at`,
        src.__auto_cdc_sequence as __auto_cdc_sequence,
        src.__auto_cdc_kind as __auto_cdc_kind
    from shop.`customers__auto_cdc_checked_c0ffee000002` as src
    where not src.__auto_cdc_dropped
),
told as (
    select src.*, (cmp.__auto_cdc_sequence is null or src.__auto_cdc_sequence is null or src.__auto_cdc_sequence > cmp.__auto_cdc_sequence) as __auto_cdc_is_new, coalesce(src.__auto_cdc_sequence < cmp.__auto_cdc_sequence, false) as __auto_cdc_is_late, case when cmp.__auto_cdc_kind is not null then named_struct('at_0', cmp.`id`, 'at_1', cmp.__auto_cdc_kind) end as __auto_cdc_hidden, coalesce(cmp.__auto_cdc_kind = 'upsert', false) as __auto_cdc_shows, lag(src.__auto_cdc_sequence) over (partition by src.`id` order by src.__auto_cdc_sequence desc) is null as __auto_cdc_is_greatest, coalesce(lag(src.__auto_cdc_sequence) over (partition by src.`id` order by src.__auto_cdc_sequence desc) = src.__auto_cdc_sequence, false) as __auto_cdc_is_repeated
    from evaluated as src
    left join shop.customers__auto_cdc as cmp on src.`id` = cmp.`id`
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
    `id`,
    case when __auto_cdc_is_new then `name` end as `name`,
    case when __auto_cdc_is_new then `note` end as `note`,
    case when __auto_cdc_is_new then `changed_at` end as `changed_at`
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
    min(case when evt.__auto_cdc_is_new and evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt.`id` as string), 'null') end) as null_sequence_example,
    case when count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when evt.__auto_cdc_is_new and evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) else 0 end as null_key_0,
    min(case when evt.__auto_cdc_is_new and evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as string) end) as null_key_0_example
from shop.`customers__auto_cdc_stage_c0ffee000002` as evt;

-- look at events of one key and sequence  (only if num_repeated_rows)
with found as (
    select
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
places as (
    select var.`id`, var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, max(case when won.__auto_cdc_sequence is null then 0 else 1 end) = 1 as __auto_cdc_decides
    from variants as var left join (
        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won on won.`id` = var.`id` and won.__auto_cdc_sequence = var.__auto_cdc_sequence
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
from found
cross join ties;

-- count the rows of the touched keys  (only if num_new_events)
with there as (
    select won.`id`, won.__auto_cdc_kind, won.__auto_cdc_shows, count(*) as __auto_cdc_copies
    from shop.customers as tgt
    join (
        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden, evt.__auto_cdc_shows
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won on won.`id` = tgt.`id`
    group by won.`id`, won.__auto_cdc_kind, won.__auto_cdc_shows
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
        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden, evt.__auto_cdc_shows
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where __auto_cdc_shows and __auto_cdc_kind = 'upsert'
)
select num_deleted_rows, num_doubled + num_expected - num_found as num_odd_keys
from counted
cross join expected;

-- create the quarantine
create or replace table shop.customers__auto_cdc_quarantine (
    `id` int,
    `name` string,
    `note` string,
    `operation` string,
    `changed_at` timestamp,
    `_failed_expectations` string,
    `_run_id` string,
    `_quarantined_at` timestamp_ntz
) using delta;

-- keep the rows that were dropped  (only if num_dropped_rows)
insert into shop.customers__auto_cdc_quarantine (`id`, `name`, `note`, `operation`, `changed_at`, `_failed_expectations`, `_run_id`, `_quarantined_at`)
select * from (
with dropped_rows as (
    select
        chk.`id` as `id`,
        chk.`name` as `name`,
        chk.`note` as `note`,
        chk.`operation` as `operation`,
        chk.`changed_at` as `changed_at`,
        substr(case when not chk.__auto_cdc_passes_0 then ', named' else '' end || case when not chk.__auto_cdc_passes_1 then ', recent' else '' end, 3) as _failed_expectations
    from shop.`customers__auto_cdc_checked_c0ffee000002` as chk
    where chk.__auto_cdc_dropped
),
placed as (
    select src.*, row_number() over (partition by src.`id`, src.`name`, src.`note`, src.`operation`, src.`changed_at` order by src._failed_expectations) as __auto_cdc_place
    from dropped_rows as src
)
select
    `id`,
    `name`,
    `note`,
    `operation`,
    `changed_at`,
    _failed_expectations as _failed_expectations,
    cast('' as string) as _run_id,
    cast(to_utc_timestamp(current_timestamp(), current_timezone()) as timestamp_ntz) as _quarantined_at
from placed
where __auto_cdc_place = 1
) as added;

-- write down what is left to do  (only if num_new_events, unless num_odd_keys)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect `id`, `name`, `note`, `changed_at`, __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `changed_at`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select named_struct(\'at_0\', won.`id`) from (\\n        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where won.__auto_cdc_kind = \'delete\'\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`changed_at` as timestamp) as `changed_at`,\\n        named_struct(\'at_0\', row_born.`id`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`changed_at`\\n    from (\\n    select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`\\n    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> \'delete\' and evt.__auto_cdc_shows\\n    ) as born(`id`, `name`, `note`, `changed_at`)\\n    ) as row_born\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`changed_at` as timestamp) as `changed_at`,\\n        named_struct(\'at_0\', row_born.`id`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`changed_at`\\n    from (\\n    select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`\\n    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> \'delete\' and not evt.__auto_cdc_shows\\n    ) as born(`id`, `name`, `note`, `changed_at`)\\n    ) as row_born\\n) as changes\\n) as src\\non tgt.`id` = src.__auto_cdc_locator.at_0\\nwhen matched and src.__auto_cdc_action = \'gone\' then delete\\nwhen matched and src.__auto_cdc_action = \'born\' then update set `name` = src.`name`, `note` = src.`note`, `changed_at` = src.`changed_at`\\nwhen not matched and src.__auto_cdc_action = \'born\' then insert (`id`, `name`, `note`, `changed_at`) values (src.`id`, src.`name`, src.`note`, src.`changed_at`)"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\\nselect `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as int) as `id`,\\n        cast(value_0 as timestamp) as __auto_cdc_sequence,\\n        cast(value_1 as string) as __auto_cdc_kind,\\n        cast(null as string) as __auto_cdc_control,\\n        place as __auto_cdc_locator,\\n        cast(\'ended\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select __auto_cdc_hidden as locator, __auto_cdc_sequence, __auto_cdc_kind from (\\n        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where __auto_cdc_hidden is not null\\n    ) as ended(place, value_0, value_1)\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.__auto_cdc_sequence as timestamp) as __auto_cdc_sequence,\\n        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,\\n        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.__auto_cdc_kind) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.__auto_cdc_sequence,\\n        born.__auto_cdc_kind,\\n        cast(null as string) as __auto_cdc_control\\n    from (\\n    select `id`, __auto_cdc_sequence, __auto_cdc_kind from (\\n        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where __auto_cdc_hidden is null\\n    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_kind)\\n    ) as row_born\\n) as changes\\nunion all\\nselect `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, named_struct(\'at_0\', own.`id`, \'at_1\', own.__auto_cdc_kind), \'done\' as __auto_cdc_action\\nfrom (\\nselect\\n    cast(null as int) as `id`,\\n    cast(null as timestamp) as __auto_cdc_sequence,\\n    \'journal\' as __auto_cdc_kind,\\n    \'c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_checked_c0ffee000002`\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}\' as __auto_cdc_control\\n) as own\\n) as src\\non tgt.`id` <=> src.__auto_cdc_locator.at_0 and (src.__auto_cdc_locator.at_0 is not null or tgt.__auto_cdc_kind <=> src.__auto_cdc_locator.at_1)\\nwhen matched and src.__auto_cdc_action = \'born\' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_control = src.__auto_cdc_control\\nwhen matched and src.__auto_cdc_action = \'ended\' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_kind = src.__auto_cdc_kind\\nwhen matched and src.__auto_cdc_action = \'done\' and tgt.__auto_cdc_kind = \'journal\' and substr(tgt.__auto_cdc_control, 1, 13) = \'c0ffee000002 \' then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched and src.__auto_cdc_action = \'born\' then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control)"]], "frees": "drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_checked_c0ffee000002`", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- write down what is left to do  (only if num_odd_keys)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect\\n    cast(null as int) as `id`,\\n    cast(null as string) as `name`,\\n    cast(null as string) as `note`,\\n    cast(null as timestamp) as `changed_at`,\\n    __auto_cdc_locator, \'gone\' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `changed_at`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select named_struct(\'at_0\', won.`id`) from (\\n        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where won.__auto_cdc_kind = \'delete\'\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`changed_at` as timestamp) as `changed_at`,\\n        named_struct(\'at_0\', row_born.`id`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`changed_at`\\n    from (\\n    select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`\\n    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> \'delete\' and evt.__auto_cdc_shows\\n    ) as born(`id`, `name`, `note`, `changed_at`)\\n    ) as row_born\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`changed_at` as timestamp) as `changed_at`,\\n        named_struct(\'at_0\', row_born.`id`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`changed_at`\\n    from (\\n    select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`\\n    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> \'delete\' and not evt.__auto_cdc_shows\\n    ) as born(`id`, `name`, `note`, `changed_at`)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action in (\'gone\', \'born\')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect `id`, `name`, `note`, `changed_at`, cast(null as struct<at_0: int>) as __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `changed_at`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select named_struct(\'at_0\', won.`id`) from (\\n        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where won.__auto_cdc_kind = \'delete\'\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`changed_at` as timestamp) as `changed_at`,\\n        named_struct(\'at_0\', row_born.`id`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`changed_at`\\n    from (\\n    select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`\\n    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> \'delete\' and evt.__auto_cdc_shows\\n    ) as born(`id`, `name`, `note`, `changed_at`)\\n    ) as row_born\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`changed_at` as timestamp) as `changed_at`,\\n        named_struct(\'at_0\', row_born.`id`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`changed_at`\\n    from (\\n    select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`\\n    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> \'delete\' and not evt.__auto_cdc_shows\\n    ) as born(`id`, `name`, `note`, `changed_at`)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = \'born\'\\n) as src\\non src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0\\nwhen matched and src.__auto_cdc_action = \'gone\' then delete\\nwhen not matched and src.__auto_cdc_action = \'born\' then insert (`id`, `name`, `note`, `changed_at`) values (src.`id`, src.`name`, src.`note`, src.`changed_at`)"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\\nselect `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as int) as `id`,\\n        cast(value_0 as timestamp) as __auto_cdc_sequence,\\n        cast(value_1 as string) as __auto_cdc_kind,\\n        cast(null as string) as __auto_cdc_control,\\n        place as __auto_cdc_locator,\\n        cast(\'ended\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select __auto_cdc_hidden as locator, __auto_cdc_sequence, __auto_cdc_kind from (\\n        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where __auto_cdc_hidden is not null\\n    ) as ended(place, value_0, value_1)\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.__auto_cdc_sequence as timestamp) as __auto_cdc_sequence,\\n        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,\\n        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.__auto_cdc_kind) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.__auto_cdc_sequence,\\n        born.__auto_cdc_kind,\\n        cast(null as string) as __auto_cdc_control\\n    from (\\n    select `id`, __auto_cdc_sequence, __auto_cdc_kind from (\\n        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where __auto_cdc_hidden is null\\n    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_kind)\\n    ) as row_born\\n) as changes\\nunion all\\nselect `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, named_struct(\'at_0\', own.`id`, \'at_1\', own.__auto_cdc_kind), \'done\' as __auto_cdc_action\\nfrom (\\nselect\\n    cast(null as int) as `id`,\\n    cast(null as timestamp) as __auto_cdc_sequence,\\n    \'journal\' as __auto_cdc_kind,\\n    \'c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_checked_c0ffee000002`\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}\' as __auto_cdc_control\\n) as own\\n) as src\\non tgt.`id` <=> src.__auto_cdc_locator.at_0 and (src.__auto_cdc_locator.at_0 is not null or tgt.__auto_cdc_kind <=> src.__auto_cdc_locator.at_1)\\nwhen matched and src.__auto_cdc_action = \'born\' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_control = src.__auto_cdc_control\\nwhen matched and src.__auto_cdc_action = \'ended\' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_kind = src.__auto_cdc_kind\\nwhen matched and src.__auto_cdc_action = \'done\' and tgt.__auto_cdc_kind = \'journal\' and substr(tgt.__auto_cdc_control, 1, 13) = \'c0ffee000002 \' then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched and src.__auto_cdc_action = \'born\' then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control)"]], "frees": "drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_checked_c0ffee000002`", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_new_events)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_known_keys or num_added_keys, unless num_odd_keys)
merge into shop.customers as tgt using (
select `id`, `name`, `note`, `changed_at`, __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `changed_at`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select named_struct('at_0', won.`id`) from (
        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where won.__auto_cdc_kind = 'delete'
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`changed_at` as timestamp) as `changed_at`,
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
    select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and evt.__auto_cdc_shows
    ) as born(`id`, `name`, `note`, `changed_at`)
    ) as row_born
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`changed_at` as timestamp) as `changed_at`,
        named_struct('at_0', row_born.`id`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`changed_at`
    from (
    select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and not evt.__auto_cdc_shows
    ) as born(`id`, `name`, `note`, `changed_at`)
    ) as row_born
) as changes
) as src
on tgt.`id` = src.__auto_cdc_locator.at_0
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'born' then update set `name` = src.`name`, `note` = src.`note`, `changed_at` = src.`changed_at`
when not matched and src.__auto_cdc_action = 'born' then insert (`id`, `name`, `note`, `changed_at`) values (src.`id`, src.`name`, src.`note`, src.`changed_at`);

-- change shop.customers  (only if num_odd_keys)
merge into shop.customers as tgt using (
select
    cast(null as int) as `id`,
    cast(null as string) as `name`,
    cast(null as string) as `note`,
    cast(null as timestamp) as `changed_at`,
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `changed_at`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select named_struct('at_0', won.`id`) from (
        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where won.__auto_cdc_kind = 'delete'
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`changed_at` as timestamp) as `changed_at`,
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
    select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and evt.__auto_cdc_shows
    ) as born(`id`, `name`, `note`, `changed_at`)
    ) as row_born
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`changed_at` as timestamp) as `changed_at`,
        named_struct('at_0', row_born.`id`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`changed_at`
    from (
    select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and not evt.__auto_cdc_shows
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
        cast(null as timestamp) as `changed_at`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select named_struct('at_0', won.`id`) from (
        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where won.__auto_cdc_kind = 'delete'
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`changed_at` as timestamp) as `changed_at`,
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
    select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and evt.__auto_cdc_shows
    ) as born(`id`, `name`, `note`, `changed_at`)
    ) as row_born
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`changed_at` as timestamp) as `changed_at`,
        named_struct('at_0', row_born.`id`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`changed_at`
    from (
    select evt.`id`, evt.`name`, evt.`note`, evt.`changed_at`
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and not evt.__auto_cdc_shows
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
select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as int) as `id`,
        cast(value_0 as timestamp) as __auto_cdc_sequence,
        cast(value_1 as string) as __auto_cdc_kind,
        cast(null as string) as __auto_cdc_control,
        place as __auto_cdc_locator,
        cast('ended' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select __auto_cdc_hidden as locator, __auto_cdc_sequence, __auto_cdc_kind from (
        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where __auto_cdc_hidden is not null
    ) as ended(place, value_0, value_1)
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.__auto_cdc_sequence as timestamp) as __auto_cdc_sequence,
        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,
        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.__auto_cdc_kind) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.__auto_cdc_sequence,
        born.__auto_cdc_kind,
        cast(null as string) as __auto_cdc_control
    from (
    select `id`, __auto_cdc_sequence, __auto_cdc_kind from (
        select evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where __auto_cdc_hidden is null
    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_kind)
    ) as row_born
) as changes
union all
select `id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, named_struct('at_0', own.`id`, 'at_1', own.__auto_cdc_kind), 'done' as __auto_cdc_action
from (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_checked_c0ffee000002`", "asks": "", "otherwise": [], "appends": false}' as __auto_cdc_control
) as own
) as src
on tgt.`id` <=> src.__auto_cdc_locator.at_0 and (src.__auto_cdc_locator.at_0 is not null or tgt.__auto_cdc_kind <=> src.__auto_cdc_locator.at_1)
when matched and src.__auto_cdc_action = 'born' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_control = src.__auto_cdc_control
when matched and src.__auto_cdc_action = 'ended' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_kind = src.__auto_cdc_kind
when matched and src.__auto_cdc_action = 'done' and tgt.__auto_cdc_kind = 'journal' and substr(tgt.__auto_cdc_control, 1, 13) = 'c0ffee000002 ' then update set __auto_cdc_control = src.__auto_cdc_control
when not matched and src.__auto_cdc_action = 'born' then insert (`id`, __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control);

-- free the working tables
drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_checked_c0ffee000002`;

-- cross it off  (only if num_new_events)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- let old tombstones go
merge into shop.customers__auto_cdc as tgt using (
select greatest.sequence - interval '172800' second as bound from (
select max_by(__auto_cdc_sequence, __auto_cdc_sequence) as sequence from (
select __auto_cdc_sequence from shop.customers__auto_cdc
) as sequences
) as greatest
) as src
on __auto_cdc_kind = 'delete' and __auto_cdc_sequence < src.bound
when matched then delete;
