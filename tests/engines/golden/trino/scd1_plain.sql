-- auto_cdc: model customers: build the target

-- stage the model's rows
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, cast(uuid() as varchar) as __auto_cdc_row
from (
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
    min(case when true and evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar), 'null') end) as null_sequence_example,
    case when count(case when true and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when true and evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) else 0 end as null_key_0,
    min(case when true and evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
from shop."customers__auto_cdc_stage_c0ffee000002" as evt;

-- look at events of one key and sequence  (only if num_repeated_rows)
with found as (
    select
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar), 'null') end) as null_sequence_example,
        count(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
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
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places."id" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) end) as num_tied_rows_example
    from places
)
select *
from found
cross join ties;

-- create the companion
create table shop.customers__auto_cdc (
    "id" integer,
    __auto_cdc_sequence timestamp(6),
    __auto_cdc_kind varchar,
    __auto_cdc_control varchar
);

-- create the companion
insert into shop.customers__auto_cdc ("id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select whose."id", whose.__auto_cdc_sequence, whose.__auto_cdc_kind, whose.__auto_cdc_control from (
select
    cast(null as integer) as "id",
    cast(null as timestamp(6)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as whose
where not exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal');

-- create the target
drop table if exists shop.customers
-- auto_cdc: next statement
create table shop.customers (
    "id" integer,
    "name" varchar,
    "note" varchar,
    "changed_at" timestamp(6)
);

-- create the target
insert into shop.customers ("id", "name", "note", "changed_at")
select evt."id", evt."name", evt."note", evt."changed_at"
from shop."customers__auto_cdc_stage_c0ffee000002" as evt
where true and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete';

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told."id", told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as integer) as "id",
    cast(null as timestamp(6)) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Trino", "format": 1, "key_types": ["integer"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "1", "sequence_type": "timestamp(6)", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
union all
select more.*, null as __auto_cdc_control from (
select "id", __auto_cdc_sequence, __auto_cdc_kind from (
    select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where true and evt.__auto_cdc_is_greatest
) as won
) as more
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
union all
select told."id", told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as integer) as "id",
    cast(null as timestamp(6)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
) as src
on tgt.__auto_cdc_kind = src.__auto_cdc_kind
when matched then update set __auto_cdc_control = src.__auto_cdc_control
when not matched then insert ("id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src."id", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control);

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002";

-- drop what told the columns
drop table if exists shop."customers__auto_cdc_described";

-- auto_cdc: model customers: apply the new events

-- stage the model's rows
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, cast(uuid() as varchar) as __auto_cdc_row
from (
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
    select src.*, (cmp.__auto_cdc_sequence is null or src.__auto_cdc_sequence is null or src.__auto_cdc_sequence > cmp.__auto_cdc_sequence) as __auto_cdc_is_new, coalesce(src.__auto_cdc_sequence < cmp.__auto_cdc_sequence, false) as __auto_cdc_is_late, case when cmp.__auto_cdc_kind is not null then coalesce(cast(length(cast(cmp."id" as varchar)) as varchar) || ':' || cast(cmp."id" as varchar), '-') || coalesce(cast(length(cast(cmp.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(cmp.__auto_cdc_kind as varchar), '-') end as __auto_cdc_hidden, coalesce(cmp.__auto_cdc_kind = 'upsert', false) as __auto_cdc_shows, lag(src.__auto_cdc_sequence) over (partition by src."id" order by src.__auto_cdc_sequence desc) is null as __auto_cdc_is_greatest, coalesce(lag(src.__auto_cdc_sequence) over (partition by src."id" order by src.__auto_cdc_sequence desc) = src.__auto_cdc_sequence, false) as __auto_cdc_is_repeated
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
    min(case when evt.__auto_cdc_is_new and evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar), 'null') end) as null_sequence_example,
    case when count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when evt.__auto_cdc_is_new and evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) else 0 end as null_key_0,
    min(case when evt.__auto_cdc_is_new and evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
from shop."customers__auto_cdc_stage_c0ffee000002" as evt;

-- look at events of one key and sequence  (only if num_repeated_rows)
with found as (
    select
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar), 'null') end) as null_sequence_example,
        count(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
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
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places."id" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) end) as num_tied_rows_example
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

-- write down what is left to do  (only if num_new_events, unless num_odd_keys)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\nselect \"id\", \"name\", \"note\", \"changed_at\", __auto_cdc_locator, __auto_cdc_action\nfrom (\n    select\n        cast(null as integer) as \"id\",\n        cast(null as varchar) as \"name\",\n        cast(null as varchar) as \"note\",\n        cast(null as timestamp(6)) as \"changed_at\",\n        place as __auto_cdc_locator,\n        cast(''gone'' as varchar) as __auto_cdc_action,\n        0 as __auto_cdc_step\n    from (\n    select coalesce(cast(length(cast(won.\"id\" as varchar)) as varchar) || '':'' || cast(won.\"id\" as varchar), ''-'') from (\n        select evt.\"id\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\n        from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\n    ) as won where won.__auto_cdc_kind = ''delete''\n    ) as gone(place) where place is not null\n    union all\n    select\n        cast(row_born.\"id\" as integer) as \"id\",\n        cast(row_born.\"name\" as varchar) as \"name\",\n        cast(row_born.\"note\" as varchar) as \"note\",\n        cast(row_born.\"changed_at\" as timestamp(6)) as \"changed_at\",\n        coalesce(cast(length(cast(row_born.\"id\" as varchar)) as varchar) || '':'' || cast(row_born.\"id\" as varchar), ''-'') as __auto_cdc_locator,\n        cast(''born'' as varchar) as __auto_cdc_action,\n        1 as __auto_cdc_step\n    from (\n    select\n        born.\"id\",\n        born.\"name\",\n        born.\"note\",\n        born.\"changed_at\"\n    from (\n    select evt.\"id\", evt.\"name\", evt.\"note\", evt.\"changed_at\"\n    from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> ''delete'' and evt.__auto_cdc_shows\n    ) as born(\"id\", \"name\", \"note\", \"changed_at\")\n    ) as row_born\n    union all\n    select\n        cast(row_born.\"id\" as integer) as \"id\",\n        cast(row_born.\"name\" as varchar) as \"name\",\n        cast(row_born.\"note\" as varchar) as \"note\",\n        cast(row_born.\"changed_at\" as timestamp(6)) as \"changed_at\",\n        coalesce(cast(length(cast(row_born.\"id\" as varchar)) as varchar) || '':'' || cast(row_born.\"id\" as varchar), ''-'') as __auto_cdc_locator,\n        cast(''born'' as varchar) as __auto_cdc_action,\n        2 as __auto_cdc_step\n    from (\n    select\n        born.\"id\",\n        born.\"name\",\n        born.\"note\",\n        born.\"changed_at\"\n    from (\n    select evt.\"id\", evt.\"name\", evt.\"note\", evt.\"changed_at\"\n    from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> ''delete'' and not evt.__auto_cdc_shows\n    ) as born(\"id\", \"name\", \"note\", \"changed_at\")\n    ) as row_born\n) as changes\n) as src\non coalesce(cast(length(cast(tgt.\"id\" as varchar)) as varchar) || '':'' || cast(tgt.\"id\" as varchar), ''-'') = src.__auto_cdc_locator\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\nwhen matched and src.__auto_cdc_action = ''born'' then update set \"name\" = src.\"name\", \"note\" = src.\"note\", \"changed_at\" = src.\"changed_at\"\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\"id\", \"name\", \"note\", \"changed_at\") values (src.\"id\", src.\"name\", src.\"note\", src.\"changed_at\")"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\nselect \"id\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action\nfrom (\n    select\n        cast(null as integer) as \"id\",\n        cast(value_0 as timestamp(6)) as __auto_cdc_sequence,\n        cast(value_1 as varchar) as __auto_cdc_kind,\n        cast(null as varchar) as __auto_cdc_control,\n        place as __auto_cdc_locator,\n        cast(''ended'' as varchar) as __auto_cdc_action,\n        0 as __auto_cdc_step\n    from (\n    select __auto_cdc_hidden as locator, __auto_cdc_sequence, __auto_cdc_kind from (\n        select evt.\"id\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\n        from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\n    ) as won where __auto_cdc_hidden is not null\n    ) as ended(place, value_0, value_1)\n    union all\n    select\n        cast(row_born.\"id\" as integer) as \"id\",\n        cast(row_born.__auto_cdc_sequence as timestamp(6)) as __auto_cdc_sequence,\n        cast(row_born.__auto_cdc_kind as varchar) as __auto_cdc_kind,\n        cast(row_born.__auto_cdc_control as varchar) as __auto_cdc_control,\n        coalesce(cast(length(cast(row_born.\"id\" as varchar)) as varchar) || '':'' || cast(row_born.\"id\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(row_born.__auto_cdc_kind as varchar), ''-'') as __auto_cdc_locator,\n        cast(''born'' as varchar) as __auto_cdc_action,\n        1 as __auto_cdc_step\n    from (\n    select\n        born.\"id\",\n        born.__auto_cdc_sequence,\n        born.__auto_cdc_kind,\n        cast(null as varchar) as __auto_cdc_control\n    from (\n    select \"id\", __auto_cdc_sequence, __auto_cdc_kind from (\n        select evt.\"id\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\n        from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\n    ) as won where __auto_cdc_hidden is null\n    ) as born(\"id\", __auto_cdc_sequence, __auto_cdc_kind)\n    ) as row_born\n) as changes\nunion all\nselect \"id\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, coalesce(cast(length(cast(own.\"id\" as varchar)) as varchar) || '':'' || cast(own.\"id\" as varchar), ''-'') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(own.__auto_cdc_kind as varchar), ''-''), ''done'' as __auto_cdc_action\nfrom (\nselect\n    cast(null as integer) as \"id\",\n    cast(null as timestamp(6)) as __auto_cdc_sequence,\n    ''journal'' as __auto_cdc_kind,\n    ''c0ffee000002 {\"to_do\": [], \"frees\": \"drop table if exists shop.\\\"customers__auto_cdc_stage_c0ffee000002\\\"\", \"asks\": \"\", \"otherwise\": [], \"appends\": false}'' as __auto_cdc_control\n) as own\n) as src\non coalesce(cast(length(cast(tgt.\"id\" as varchar)) as varchar) || '':'' || cast(tgt.\"id\" as varchar), ''-'') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(tgt.__auto_cdc_kind as varchar), ''-'') = src.__auto_cdc_locator\nwhen matched and src.__auto_cdc_action = ''born'' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_control = src.__auto_cdc_control\nwhen matched and src.__auto_cdc_action = ''ended'' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_kind = src.__auto_cdc_kind\nwhen matched and src.__auto_cdc_action = ''done'' and tgt.__auto_cdc_kind = ''journal'' and substr(tgt.__auto_cdc_control, 1, 13) = ''c0ffee000002 '' then update set __auto_cdc_control = src.__auto_cdc_control\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\"id\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.\"id\", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control)"]], "frees": "drop table if exists shop.\"customers__auto_cdc_stage_c0ffee000002\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- write down what is left to do  (only if num_odd_keys)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\nselect\n    cast(null as integer) as \"id\",\n    cast(null as varchar) as \"name\",\n    cast(null as varchar) as \"note\",\n    cast(null as timestamp(6)) as \"changed_at\",\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\nfrom (\nselect __auto_cdc_locator from (\n    select\n        cast(null as integer) as \"id\",\n        cast(null as varchar) as \"name\",\n        cast(null as varchar) as \"note\",\n        cast(null as timestamp(6)) as \"changed_at\",\n        place as __auto_cdc_locator,\n        cast(''gone'' as varchar) as __auto_cdc_action,\n        0 as __auto_cdc_step\n    from (\n    select coalesce(cast(length(cast(won.\"id\" as varchar)) as varchar) || '':'' || cast(won.\"id\" as varchar), ''-'') from (\n        select evt.\"id\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\n        from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\n    ) as won where won.__auto_cdc_kind = ''delete''\n    ) as gone(place) where place is not null\n    union all\n    select\n        cast(row_born.\"id\" as integer) as \"id\",\n        cast(row_born.\"name\" as varchar) as \"name\",\n        cast(row_born.\"note\" as varchar) as \"note\",\n        cast(row_born.\"changed_at\" as timestamp(6)) as \"changed_at\",\n        coalesce(cast(length(cast(row_born.\"id\" as varchar)) as varchar) || '':'' || cast(row_born.\"id\" as varchar), ''-'') as __auto_cdc_locator,\n        cast(''born'' as varchar) as __auto_cdc_action,\n        1 as __auto_cdc_step\n    from (\n    select\n        born.\"id\",\n        born.\"name\",\n        born.\"note\",\n        born.\"changed_at\"\n    from (\n    select evt.\"id\", evt.\"name\", evt.\"note\", evt.\"changed_at\"\n    from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> ''delete'' and evt.__auto_cdc_shows\n    ) as born(\"id\", \"name\", \"note\", \"changed_at\")\n    ) as row_born\n    union all\n    select\n        cast(row_born.\"id\" as integer) as \"id\",\n        cast(row_born.\"name\" as varchar) as \"name\",\n        cast(row_born.\"note\" as varchar) as \"note\",\n        cast(row_born.\"changed_at\" as timestamp(6)) as \"changed_at\",\n        coalesce(cast(length(cast(row_born.\"id\" as varchar)) as varchar) || '':'' || cast(row_born.\"id\" as varchar), ''-'') as __auto_cdc_locator,\n        cast(''born'' as varchar) as __auto_cdc_action,\n        2 as __auto_cdc_step\n    from (\n    select\n        born.\"id\",\n        born.\"name\",\n        born.\"note\",\n        born.\"changed_at\"\n    from (\n    select evt.\"id\", evt.\"name\", evt.\"note\", evt.\"changed_at\"\n    from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> ''delete'' and not evt.__auto_cdc_shows\n    ) as born(\"id\", \"name\", \"note\", \"changed_at\")\n    ) as row_born\n) as changes\nwhere __auto_cdc_action in (''gone'', ''born'')\ngroup by __auto_cdc_locator\n) as going\nunion all\nselect \"id\", \"name\", \"note\", \"changed_at\", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\nfrom (\n    select\n        cast(null as integer) as \"id\",\n        cast(null as varchar) as \"name\",\n        cast(null as varchar) as \"note\",\n        cast(null as timestamp(6)) as \"changed_at\",\n        place as __auto_cdc_locator,\n        cast(''gone'' as varchar) as __auto_cdc_action,\n        0 as __auto_cdc_step\n    from (\n    select coalesce(cast(length(cast(won.\"id\" as varchar)) as varchar) || '':'' || cast(won.\"id\" as varchar), ''-'') from (\n        select evt.\"id\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\n        from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\n    ) as won where won.__auto_cdc_kind = ''delete''\n    ) as gone(place) where place is not null\n    union all\n    select\n        cast(row_born.\"id\" as integer) as \"id\",\n        cast(row_born.\"name\" as varchar) as \"name\",\n        cast(row_born.\"note\" as varchar) as \"note\",\n        cast(row_born.\"changed_at\" as timestamp(6)) as \"changed_at\",\n        coalesce(cast(length(cast(row_born.\"id\" as varchar)) as varchar) || '':'' || cast(row_born.\"id\" as varchar), ''-'') as __auto_cdc_locator,\n        cast(''born'' as varchar) as __auto_cdc_action,\n        1 as __auto_cdc_step\n    from (\n    select\n        born.\"id\",\n        born.\"name\",\n        born.\"note\",\n        born.\"changed_at\"\n    from (\n    select evt.\"id\", evt.\"name\", evt.\"note\", evt.\"changed_at\"\n    from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> ''delete'' and evt.__auto_cdc_shows\n    ) as born(\"id\", \"name\", \"note\", \"changed_at\")\n    ) as row_born\n    union all\n    select\n        cast(row_born.\"id\" as integer) as \"id\",\n        cast(row_born.\"name\" as varchar) as \"name\",\n        cast(row_born.\"note\" as varchar) as \"note\",\n        cast(row_born.\"changed_at\" as timestamp(6)) as \"changed_at\",\n        coalesce(cast(length(cast(row_born.\"id\" as varchar)) as varchar) || '':'' || cast(row_born.\"id\" as varchar), ''-'') as __auto_cdc_locator,\n        cast(''born'' as varchar) as __auto_cdc_action,\n        2 as __auto_cdc_step\n    from (\n    select\n        born.\"id\",\n        born.\"name\",\n        born.\"note\",\n        born.\"changed_at\"\n    from (\n    select evt.\"id\", evt.\"name\", evt.\"note\", evt.\"changed_at\"\n    from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> ''delete'' and not evt.__auto_cdc_shows\n    ) as born(\"id\", \"name\", \"note\", \"changed_at\")\n    ) as row_born\n) as changes\nwhere __auto_cdc_action = ''born''\n) as src\non coalesce(cast(length(cast(tgt.\"id\" as varchar)) as varchar) || '':'' || cast(tgt.\"id\" as varchar), ''-'') = src.__auto_cdc_locator\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\"id\", \"name\", \"note\", \"changed_at\") values (src.\"id\", src.\"name\", src.\"note\", src.\"changed_at\")"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\nselect \"id\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action\nfrom (\n    select\n        cast(null as integer) as \"id\",\n        cast(value_0 as timestamp(6)) as __auto_cdc_sequence,\n        cast(value_1 as varchar) as __auto_cdc_kind,\n        cast(null as varchar) as __auto_cdc_control,\n        place as __auto_cdc_locator,\n        cast(''ended'' as varchar) as __auto_cdc_action,\n        0 as __auto_cdc_step\n    from (\n    select __auto_cdc_hidden as locator, __auto_cdc_sequence, __auto_cdc_kind from (\n        select evt.\"id\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\n        from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\n    ) as won where __auto_cdc_hidden is not null\n    ) as ended(place, value_0, value_1)\n    union all\n    select\n        cast(row_born.\"id\" as integer) as \"id\",\n        cast(row_born.__auto_cdc_sequence as timestamp(6)) as __auto_cdc_sequence,\n        cast(row_born.__auto_cdc_kind as varchar) as __auto_cdc_kind,\n        cast(row_born.__auto_cdc_control as varchar) as __auto_cdc_control,\n        coalesce(cast(length(cast(row_born.\"id\" as varchar)) as varchar) || '':'' || cast(row_born.\"id\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(row_born.__auto_cdc_kind as varchar), ''-'') as __auto_cdc_locator,\n        cast(''born'' as varchar) as __auto_cdc_action,\n        1 as __auto_cdc_step\n    from (\n    select\n        born.\"id\",\n        born.__auto_cdc_sequence,\n        born.__auto_cdc_kind,\n        cast(null as varchar) as __auto_cdc_control\n    from (\n    select \"id\", __auto_cdc_sequence, __auto_cdc_kind from (\n        select evt.\"id\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\n        from shop.\"customers__auto_cdc_stage_c0ffee000002\" as evt\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\n    ) as won where __auto_cdc_hidden is null\n    ) as born(\"id\", __auto_cdc_sequence, __auto_cdc_kind)\n    ) as row_born\n) as changes\nunion all\nselect \"id\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, coalesce(cast(length(cast(own.\"id\" as varchar)) as varchar) || '':'' || cast(own.\"id\" as varchar), ''-'') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(own.__auto_cdc_kind as varchar), ''-''), ''done'' as __auto_cdc_action\nfrom (\nselect\n    cast(null as integer) as \"id\",\n    cast(null as timestamp(6)) as __auto_cdc_sequence,\n    ''journal'' as __auto_cdc_kind,\n    ''c0ffee000002 {\"to_do\": [], \"frees\": \"drop table if exists shop.\\\"customers__auto_cdc_stage_c0ffee000002\\\"\", \"asks\": \"\", \"otherwise\": [], \"appends\": false}'' as __auto_cdc_control\n) as own\n) as src\non coalesce(cast(length(cast(tgt.\"id\" as varchar)) as varchar) || '':'' || cast(tgt.\"id\" as varchar), ''-'') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(tgt.__auto_cdc_kind as varchar), ''-'') = src.__auto_cdc_locator\nwhen matched and src.__auto_cdc_action = ''born'' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_control = src.__auto_cdc_control\nwhen matched and src.__auto_cdc_action = ''ended'' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_kind = src.__auto_cdc_kind\nwhen matched and src.__auto_cdc_action = ''done'' and tgt.__auto_cdc_kind = ''journal'' and substr(tgt.__auto_cdc_control, 1, 13) = ''c0ffee000002 '' then update set __auto_cdc_control = src.__auto_cdc_control\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\"id\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.\"id\", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control)"]], "frees": "drop table if exists shop.\"customers__auto_cdc_stage_c0ffee000002\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_new_events)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_known_keys or num_added_keys, unless num_odd_keys)
merge into shop.customers as tgt using (
select "id", "name", "note", "changed_at", __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as integer) as "id",
        cast(null as varchar) as "name",
        cast(null as varchar) as "note",
        cast(null as timestamp(6)) as "changed_at",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select coalesce(cast(length(cast(won."id" as varchar)) as varchar) || ':' || cast(won."id" as varchar), '-') from (
        select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where won.__auto_cdc_kind = 'delete'
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born."id" as integer) as "id",
        cast(row_born."name" as varchar) as "name",
        cast(row_born."note" as varchar) as "note",
        cast(row_born."changed_at" as timestamp(6)) as "changed_at",
        coalesce(cast(length(cast(row_born."id" as varchar)) as varchar) || ':' || cast(row_born."id" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
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
    select
        cast(row_born."id" as integer) as "id",
        cast(row_born."name" as varchar) as "name",
        cast(row_born."note" as varchar) as "note",
        cast(row_born."changed_at" as timestamp(6)) as "changed_at",
        coalesce(cast(length(cast(row_born."id" as varchar)) as varchar) || ':' || cast(row_born."id" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
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
    ) as row_born
) as changes
) as src
on coalesce(cast(length(cast(tgt."id" as varchar)) as varchar) || ':' || cast(tgt."id" as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'born' then update set "name" = src."name", "note" = src."note", "changed_at" = src."changed_at"
when not matched and src.__auto_cdc_action = 'born' then insert ("id", "name", "note", "changed_at") values (src."id", src."name", src."note", src."changed_at");

-- change shop.customers  (only if num_odd_keys)
merge into shop.customers as tgt using (
select
    cast(null as integer) as "id",
    cast(null as varchar) as "name",
    cast(null as varchar) as "note",
    cast(null as timestamp(6)) as "changed_at",
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(null as integer) as "id",
        cast(null as varchar) as "name",
        cast(null as varchar) as "note",
        cast(null as timestamp(6)) as "changed_at",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select coalesce(cast(length(cast(won."id" as varchar)) as varchar) || ':' || cast(won."id" as varchar), '-') from (
        select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where won.__auto_cdc_kind = 'delete'
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born."id" as integer) as "id",
        cast(row_born."name" as varchar) as "name",
        cast(row_born."note" as varchar) as "note",
        cast(row_born."changed_at" as timestamp(6)) as "changed_at",
        coalesce(cast(length(cast(row_born."id" as varchar)) as varchar) || ':' || cast(row_born."id" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
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
    select
        cast(row_born."id" as integer) as "id",
        cast(row_born."name" as varchar) as "name",
        cast(row_born."note" as varchar) as "note",
        cast(row_born."changed_at" as timestamp(6)) as "changed_at",
        coalesce(cast(length(cast(row_born."id" as varchar)) as varchar) || ':' || cast(row_born."id" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
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
    ) as row_born
) as changes
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select "id", "name", "note", "changed_at", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as integer) as "id",
        cast(null as varchar) as "name",
        cast(null as varchar) as "note",
        cast(null as timestamp(6)) as "changed_at",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select coalesce(cast(length(cast(won."id" as varchar)) as varchar) || ':' || cast(won."id" as varchar), '-') from (
        select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where won.__auto_cdc_kind = 'delete'
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born."id" as integer) as "id",
        cast(row_born."name" as varchar) as "name",
        cast(row_born."note" as varchar) as "note",
        cast(row_born."changed_at" as timestamp(6)) as "changed_at",
        coalesce(cast(length(cast(row_born."id" as varchar)) as varchar) || ':' || cast(row_born."id" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
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
    select
        cast(row_born."id" as integer) as "id",
        cast(row_born."name" as varchar) as "name",
        cast(row_born."note" as varchar) as "note",
        cast(row_born."changed_at" as timestamp(6)) as "changed_at",
        coalesce(cast(length(cast(row_born."id" as varchar)) as varchar) || ':' || cast(row_born."id" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
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
    ) as row_born
) as changes
where __auto_cdc_action = 'born'
) as src
on coalesce(cast(length(cast(tgt."id" as varchar)) as varchar) || ':' || cast(tgt."id" as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when not matched and src.__auto_cdc_action = 'born' then insert ("id", "name", "note", "changed_at") values (src."id", src."name", src."note", src."changed_at");

-- change shop.customers__auto_cdc  (only if num_new_events)
merge into shop.customers__auto_cdc as tgt using (
select "id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as integer) as "id",
        cast(value_0 as timestamp(6)) as __auto_cdc_sequence,
        cast(value_1 as varchar) as __auto_cdc_kind,
        cast(null as varchar) as __auto_cdc_control,
        place as __auto_cdc_locator,
        cast('ended' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select __auto_cdc_hidden as locator, __auto_cdc_sequence, __auto_cdc_kind from (
        select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where __auto_cdc_hidden is not null
    ) as ended(place, value_0, value_1)
    union all
    select
        cast(row_born."id" as integer) as "id",
        cast(row_born.__auto_cdc_sequence as timestamp(6)) as __auto_cdc_sequence,
        cast(row_born.__auto_cdc_kind as varchar) as __auto_cdc_kind,
        cast(row_born.__auto_cdc_control as varchar) as __auto_cdc_control,
        coalesce(cast(length(cast(row_born."id" as varchar)) as varchar) || ':' || cast(row_born."id" as varchar), '-') || coalesce(cast(length(cast(row_born.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(row_born.__auto_cdc_kind as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born."id",
        born.__auto_cdc_sequence,
        born.__auto_cdc_kind,
        cast(null as varchar) as __auto_cdc_control
    from (
    select "id", __auto_cdc_sequence, __auto_cdc_kind from (
        select evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where __auto_cdc_hidden is null
    ) as born("id", __auto_cdc_sequence, __auto_cdc_kind)
    ) as row_born
) as changes
union all
select "id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, coalesce(cast(length(cast(own."id" as varchar)) as varchar) || ':' || cast(own."id" as varchar), '-') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(own.__auto_cdc_kind as varchar), '-'), 'done' as __auto_cdc_action
from (
select
    cast(null as integer) as "id",
    cast(null as timestamp(6)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.\"customers__auto_cdc_stage_c0ffee000002\"", "asks": "", "otherwise": [], "appends": false}' as __auto_cdc_control
) as own
) as src
on coalesce(cast(length(cast(tgt."id" as varchar)) as varchar) || ':' || cast(tgt."id" as varchar), '-') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(tgt.__auto_cdc_kind as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'born' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_control = src.__auto_cdc_control
when matched and src.__auto_cdc_action = 'ended' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_kind = src.__auto_cdc_kind
when matched and src.__auto_cdc_action = 'done' and tgt.__auto_cdc_kind = 'journal' and substr(tgt.__auto_cdc_control, 1, 13) = 'c0ffee000002 ' then update set __auto_cdc_control = src.__auto_cdc_control
when not matched and src.__auto_cdc_action = 'born' then insert ("id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src."id", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control);

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002";

-- drop what told the columns
drop table if exists shop."customers__auto_cdc_described";
