-- auto_cdc: model customers: build the target

-- stage the model's rows
create or replace transient table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with evaluated as (
    select
        src."ID" as "ID",
        src."NAME" as "NAME",
        src."NOTE" as "NOTE",
        src."CHANGED_AT" as "CHANGED_AT",
        src."CHANGED_AT" as __auto_cdc_sequence,
        case when (
        operation = 'D'
    ) then 'delete' else 'upsert' end as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
)
select src.*, lag(src.__auto_cdc_sequence) over (partition by src."ID" order by src.__auto_cdc_sequence desc) is null as __auto_cdc_is_greatest, coalesce(lag(src.__auto_cdc_sequence) over (partition by src."ID" order by src.__auto_cdc_sequence desc) = src.__auto_cdc_sequence, false) as __auto_cdc_is_repeated
from evaluated as src
) as src;

-- check the events
select
    count(*) as num_read_rows,
    0 as num_late_rows,
    count(case when true then 1 end) as num_new_events,
    count(case when true and evt.__auto_cdc_is_repeated then 1 end) as num_repeated_rows,
    case when count(case when true and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when true and evt.__auto_cdc_sequence is null then 1 end) else 0 end as null_sequence,
    min(case when true and evt.__auto_cdc_sequence is null then 'ID=' || coalesce(cast(evt."ID" as varchar), 'null') end) as null_sequence_example,
    case when count(case when true and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when true and evt."ID" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) else 0 end as null_key_0,
    min(case when true and evt."ID" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
from shop."customers__auto_cdc_stage_c0ffee000002" as evt;

-- look at events of one key and sequence  (only if num_repeated_rows)
with found as (
    select
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
        case when evt.__auto_cdc_kind = 'upsert' then evt."CHANGED_AT" end as __auto_cdc_written_2,
        count(*) as __auto_cdc_copies
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    join repeated on evt."ID" = repeated."ID" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5, 6
),
places as (
    select var."ID", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, max(case when won.__auto_cdc_sequence is null then 0 else 1 end) = 1 as __auto_cdc_decides
    from variants as var left join (
        select evt."ID", evt.__auto_cdc_sequence, evt.__auto_cdc_kind
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where true and evt.__auto_cdc_is_greatest
    ) as won on won."ID" = var."ID" and won.__auto_cdc_sequence = var.__auto_cdc_sequence
    group by var."ID", var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'ID=' || coalesce(cast(places."ID" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) end) as num_tied_rows_example
    from places
)
select *
from found
cross join ties;

-- create the companion
create table shop.customers__auto_cdc (
    "ID" NUMBER(38,0),
    __auto_cdc_sequence TIMESTAMP_NTZ(9),
    __auto_cdc_kind varchar,
    __auto_cdc_control varchar
) cluster by ("ID");

-- create the companion
insert into shop.customers__auto_cdc ("ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select whose."ID", whose.__auto_cdc_sequence, whose.__auto_cdc_kind, whose.__auto_cdc_control from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as whose
where not exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal');

-- create the target
create or replace table shop.customers (
    "ID" NUMBER(38,0),
    "NAME" VARCHAR(16777216),
    "NOTE" VARCHAR(16777216),
    "CHANGED_AT" TIMESTAMP_NTZ(9)
) cluster by (id);

-- create the target
insert into shop.customers ("ID", "NAME", "NOTE", "CHANGED_AT")
select evt."ID", evt."NAME", evt."NOTE", evt."CHANGED_AT"
from shop."customers__auto_cdc_stage_c0ffee000002" as evt
where true and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete';

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told."ID", told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Snowflake", "format": 1, "key_types": ["NUMBER(38,0)"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "1", "sequence_type": "TIMESTAMP_NTZ(9)", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
union all
select more.*, null as __auto_cdc_control from (
select "ID", __auto_cdc_sequence, __auto_cdc_kind from (
    select evt."ID", evt.__auto_cdc_sequence, evt.__auto_cdc_kind
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where true and evt.__auto_cdc_is_greatest
) as won
) as more
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
union all
select told."ID", told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
) as src
on tgt.__auto_cdc_kind = src.__auto_cdc_kind
when matched then update set __auto_cdc_control = src.__auto_cdc_control
when not matched then insert ("ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src."ID", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control);

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002";

-- auto_cdc: model customers: apply the new events

-- stage the model's rows
create or replace transient table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with evaluated as (
    select
        src."ID" as "ID",
        src."NAME" as "NAME",
        src."NOTE" as "NOTE",
        src."CHANGED_AT" as "CHANGED_AT",
        src."CHANGED_AT" as __auto_cdc_sequence,
        case when (
        operation = 'D'
    ) then 'delete' else 'upsert' end as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
),
told as (
    select src.*, (cmp.__auto_cdc_sequence is null or src.__auto_cdc_sequence is null or src.__auto_cdc_sequence > cmp.__auto_cdc_sequence) as __auto_cdc_is_new, coalesce(src.__auto_cdc_sequence < cmp.__auto_cdc_sequence, false) as __auto_cdc_is_late, case when cmp.__auto_cdc_kind is not null then coalesce(cast(length(cast(cmp."ID" as varchar)) as varchar) || ':' || cast(cmp."ID" as varchar), '-') || coalesce(cast(length(cast(cmp.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(cmp.__auto_cdc_kind as varchar), '-') end as __auto_cdc_hidden, coalesce(cmp.__auto_cdc_kind = 'upsert', false) as __auto_cdc_shows, lag(src.__auto_cdc_sequence) over (partition by src."ID" order by src.__auto_cdc_sequence desc) is null as __auto_cdc_is_greatest, coalesce(lag(src.__auto_cdc_sequence) over (partition by src."ID" order by src.__auto_cdc_sequence desc) = src.__auto_cdc_sequence, false) as __auto_cdc_is_repeated
    from evaluated as src
    left join shop.customers__auto_cdc as cmp on src."ID" = cmp."ID"
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
    "ID",
    case when __auto_cdc_is_new then "NAME" end as "NAME",
    case when __auto_cdc_is_new then "NOTE" end as "NOTE",
    case when __auto_cdc_is_new then "CHANGED_AT" end as "CHANGED_AT"
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
    min(case when evt.__auto_cdc_is_new and evt.__auto_cdc_sequence is null then 'ID=' || coalesce(cast(evt."ID" as varchar), 'null') end) as null_sequence_example,
    case when count(case when evt.__auto_cdc_is_new and evt.__auto_cdc_is_repeated then 1 end) = 0 then count(case when evt.__auto_cdc_is_new and evt."ID" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) else 0 end as null_key_0,
    min(case when evt.__auto_cdc_is_new and evt."ID" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
from shop."customers__auto_cdc_stage_c0ffee000002" as evt;

-- look at events of one key and sequence  (only if num_repeated_rows)
with found as (
    select
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'ID=' || coalesce(cast(evt."ID" as varchar), 'null') end) as null_sequence_example,
        count(case when evt."ID" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."ID" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
    from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as evt
),
repeated as (
    select "ID", __auto_cdc_sequence from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as evt where __auto_cdc_kind <> 'truncate' group by "ID", __auto_cdc_sequence having count(*) > 1
),
variants as (
    select
        evt."ID",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt."NAME" end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt."NOTE" end as __auto_cdc_written_1,
        case when evt.__auto_cdc_kind = 'upsert' then evt."CHANGED_AT" end as __auto_cdc_written_2,
        count(*) as __auto_cdc_copies
    from (select * from shop."customers__auto_cdc_stage_c0ffee000002" where __auto_cdc_is_new) as evt
    join repeated on evt."ID" = repeated."ID" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence
    group by 1, 2, 3, 4, 5, 6
),
places as (
    select var."ID", var.__auto_cdc_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, max(case when won.__auto_cdc_sequence is null then 0 else 1 end) = 1 as __auto_cdc_decides
    from variants as var left join (
        select evt."ID", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won on won."ID" = var."ID" and won.__auto_cdc_sequence = var.__auto_cdc_sequence
    group by var."ID", var.__auto_cdc_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'ID=' || coalesce(cast(places."ID" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) end) as num_tied_rows_example
    from places
)
select *
from found
cross join ties;

-- count the rows of the touched keys  (only if num_new_events)
with there as (
    select won."ID", won.__auto_cdc_kind, won.__auto_cdc_shows, count(*) as __auto_cdc_copies
    from shop.customers as tgt
    join (
        select evt."ID", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden, evt.__auto_cdc_shows
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won on won."ID" = tgt."ID"
    group by won."ID", won.__auto_cdc_kind, won.__auto_cdc_shows
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
        select evt."ID", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden, evt.__auto_cdc_shows
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where __auto_cdc_shows and __auto_cdc_kind = 'upsert'
)
select num_deleted_rows, num_doubled + num_expected - num_found as num_odd_keys
from counted
cross join expected;

-- write down what is left to do  (only if num_new_events, unless num_odd_keys)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"CHANGED_AT\\", __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        place as __auto_cdc_locator,\\n        cast(''gone'' as varchar) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    with gone (place) as (\\n    select coalesce(cast(length(cast(won.\\"ID\\" as varchar)) as varchar) || '':'' || cast(won.\\"ID\\" as varchar), ''-'') from (\\n        select evt.\\"ID\\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where won.__auto_cdc_kind = ''delete''\\n    )\\n    select * from gone\\n    ) as gone where place is not null\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"CHANGED_AT\\" as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"CHANGED_AT\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"CHANGED_AT\\") as (\\n    select evt.\\"ID\\", evt.\\"NAME\\", evt.\\"NOTE\\", evt.\\"CHANGED_AT\\"\\n    from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> ''delete'' and evt.__auto_cdc_shows\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"CHANGED_AT\\" as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"CHANGED_AT\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"CHANGED_AT\\") as (\\n    select evt.\\"ID\\", evt.\\"NAME\\", evt.\\"NOTE\\", evt.\\"CHANGED_AT\\"\\n    from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> ''delete'' and not evt.__auto_cdc_shows\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n) as changes\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\\nwhen matched and src.__auto_cdc_action = ''born'' then update set \\"NAME\\" = src.\\"NAME\\", \\"NOTE\\" = src.\\"NOTE\\", \\"CHANGED_AT\\" = src.\\"CHANGED_AT\\"\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"CHANGED_AT\\") values (src.\\"ID\\", src.\\"NAME\\", src.\\"NOTE\\", src.\\"CHANGED_AT\\")"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(value_0 as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n        cast(value_1 as varchar) as __auto_cdc_kind,\\n        cast(null as varchar) as __auto_cdc_control,\\n        place as __auto_cdc_locator,\\n        cast(''ended'' as varchar) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    with ended (place, value_0, value_1) as (\\n    select __auto_cdc_hidden as locator, __auto_cdc_sequence, __auto_cdc_kind from (\\n        select evt.\\"ID\\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where __auto_cdc_hidden is not null\\n    )\\n    select * from ended\\n    ) as ended\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.__auto_cdc_sequence as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n        cast(row_born.__auto_cdc_kind as varchar) as __auto_cdc_kind,\\n        cast(row_born.__auto_cdc_control as varchar) as __auto_cdc_control,\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(row_born.__auto_cdc_kind as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.__auto_cdc_sequence,\\n        born.__auto_cdc_kind,\\n        cast(null as varchar) as __auto_cdc_control\\n    from (\\n    with born (\\"ID\\", __auto_cdc_sequence, __auto_cdc_kind) as (\\n    select \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind from (\\n        select evt.\\"ID\\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where __auto_cdc_hidden is null\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n) as changes\\nunion all\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, coalesce(cast(length(cast(own.\\"ID\\" as varchar)) as varchar) || '':'' || cast(own.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(own.__auto_cdc_kind as varchar), ''-''), ''done'' as __auto_cdc_action\\nfrom (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n    ''journal'' as __auto_cdc_kind,\\n    ''c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stage_c0ffee000002\\\\\\\\\\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}'' as __auto_cdc_control\\n) as own\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(tgt.__auto_cdc_kind as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''born'' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_control = src.__auto_cdc_control\\nwhen matched and src.__auto_cdc_action = ''ended'' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_kind = src.__auto_cdc_kind\\nwhen matched and src.__auto_cdc_action = ''done'' and tgt.__auto_cdc_kind = ''journal'' and substr(tgt.__auto_cdc_control, 1, 13) = ''c0ffee000002 '' then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.\\"ID\\", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control)"]], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- write down what is left to do  (only if num_odd_keys)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n    cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from (\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        place as __auto_cdc_locator,\\n        cast(''gone'' as varchar) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    with gone (place) as (\\n    select coalesce(cast(length(cast(won.\\"ID\\" as varchar)) as varchar) || '':'' || cast(won.\\"ID\\" as varchar), ''-'') from (\\n        select evt.\\"ID\\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where won.__auto_cdc_kind = ''delete''\\n    )\\n    select * from gone\\n    ) as gone where place is not null\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"CHANGED_AT\\" as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"CHANGED_AT\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"CHANGED_AT\\") as (\\n    select evt.\\"ID\\", evt.\\"NAME\\", evt.\\"NOTE\\", evt.\\"CHANGED_AT\\"\\n    from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> ''delete'' and evt.__auto_cdc_shows\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"CHANGED_AT\\" as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"CHANGED_AT\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"CHANGED_AT\\") as (\\n    select evt.\\"ID\\", evt.\\"NAME\\", evt.\\"NOTE\\", evt.\\"CHANGED_AT\\"\\n    from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> ''delete'' and not evt.__auto_cdc_shows\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action in (''gone'', ''born'')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"CHANGED_AT\\", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        place as __auto_cdc_locator,\\n        cast(''gone'' as varchar) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    with gone (place) as (\\n    select coalesce(cast(length(cast(won.\\"ID\\" as varchar)) as varchar) || '':'' || cast(won.\\"ID\\" as varchar), ''-'') from (\\n        select evt.\\"ID\\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where won.__auto_cdc_kind = ''delete''\\n    )\\n    select * from gone\\n    ) as gone where place is not null\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"CHANGED_AT\\" as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"CHANGED_AT\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"CHANGED_AT\\") as (\\n    select evt.\\"ID\\", evt.\\"NAME\\", evt.\\"NOTE\\", evt.\\"CHANGED_AT\\"\\n    from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> ''delete'' and evt.__auto_cdc_shows\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"CHANGED_AT\\" as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"CHANGED_AT\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"CHANGED_AT\\") as (\\n    select evt.\\"ID\\", evt.\\"NAME\\", evt.\\"NOTE\\", evt.\\"CHANGED_AT\\"\\n    from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> ''delete'' and not evt.__auto_cdc_shows\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = ''born''\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"CHANGED_AT\\") values (src.\\"ID\\", src.\\"NAME\\", src.\\"NOTE\\", src.\\"CHANGED_AT\\")"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(value_0 as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n        cast(value_1 as varchar) as __auto_cdc_kind,\\n        cast(null as varchar) as __auto_cdc_control,\\n        place as __auto_cdc_locator,\\n        cast(''ended'' as varchar) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    with ended (place, value_0, value_1) as (\\n    select __auto_cdc_hidden as locator, __auto_cdc_sequence, __auto_cdc_kind from (\\n        select evt.\\"ID\\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where __auto_cdc_hidden is not null\\n    )\\n    select * from ended\\n    ) as ended\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.__auto_cdc_sequence as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n        cast(row_born.__auto_cdc_kind as varchar) as __auto_cdc_kind,\\n        cast(row_born.__auto_cdc_control as varchar) as __auto_cdc_control,\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(row_born.__auto_cdc_kind as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.__auto_cdc_sequence,\\n        born.__auto_cdc_kind,\\n        cast(null as varchar) as __auto_cdc_control\\n    from (\\n    with born (\\"ID\\", __auto_cdc_sequence, __auto_cdc_kind) as (\\n    select \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind from (\\n        select evt.\\"ID\\", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden\\n        from shop.\\"customers__auto_cdc_stage_c0ffee000002\\" as evt\\n        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest\\n    ) as won where __auto_cdc_hidden is null\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n) as changes\\nunion all\\nselect \\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, coalesce(cast(length(cast(own.\\"ID\\" as varchar)) as varchar) || '':'' || cast(own.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(own.__auto_cdc_kind as varchar), ''-''), ''done'' as __auto_cdc_action\\nfrom (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,\\n    ''journal'' as __auto_cdc_kind,\\n    ''c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stage_c0ffee000002\\\\\\\\\\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}'' as __auto_cdc_control\\n) as own\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || '':'' || cast(tgt.__auto_cdc_kind as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''born'' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_control = src.__auto_cdc_control\\nwhen matched and src.__auto_cdc_action = ''ended'' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_kind = src.__auto_cdc_kind\\nwhen matched and src.__auto_cdc_action = ''done'' and tgt.__auto_cdc_kind = ''journal'' and substr(tgt.__auto_cdc_control, 1, 13) = ''c0ffee000002 '' then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.\\"ID\\", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control)"]], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_new_events)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_known_keys or num_added_keys, unless num_odd_keys)
merge into shop.customers as tgt using (
select "ID", "NAME", "NOTE", "CHANGED_AT", __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
        cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    with gone (place) as (
    select coalesce(cast(length(cast(won."ID" as varchar)) as varchar) || ':' || cast(won."ID" as varchar), '-') from (
        select evt."ID", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where won.__auto_cdc_kind = 'delete'
    )
    select * from gone
    ) as gone where place is not null
    union all
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
        cast(row_born."CHANGED_AT" as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born."ID",
        born."NAME",
        born."NOTE",
        born."CHANGED_AT"
    from (
    with born ("ID", "NAME", "NOTE", "CHANGED_AT") as (
    select evt."ID", evt."NAME", evt."NOTE", evt."CHANGED_AT"
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and evt.__auto_cdc_shows
    )
    select * from born
    ) as born
    ) as row_born
    union all
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
        cast(row_born."CHANGED_AT" as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born."ID",
        born."NAME",
        born."NOTE",
        born."CHANGED_AT"
    from (
    with born ("ID", "NAME", "NOTE", "CHANGED_AT") as (
    select evt."ID", evt."NAME", evt."NOTE", evt."CHANGED_AT"
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and not evt.__auto_cdc_shows
    )
    select * from born
    ) as born
    ) as row_born
) as changes
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'born' then update set "NAME" = src."NAME", "NOTE" = src."NOTE", "CHANGED_AT" = src."CHANGED_AT"
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", "NAME", "NOTE", "CHANGED_AT") values (src."ID", src."NAME", src."NOTE", src."CHANGED_AT");

-- change shop.customers  (only if num_odd_keys)
merge into shop.customers as tgt using (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
        cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    with gone (place) as (
    select coalesce(cast(length(cast(won."ID" as varchar)) as varchar) || ':' || cast(won."ID" as varchar), '-') from (
        select evt."ID", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where won.__auto_cdc_kind = 'delete'
    )
    select * from gone
    ) as gone where place is not null
    union all
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
        cast(row_born."CHANGED_AT" as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born."ID",
        born."NAME",
        born."NOTE",
        born."CHANGED_AT"
    from (
    with born ("ID", "NAME", "NOTE", "CHANGED_AT") as (
    select evt."ID", evt."NAME", evt."NOTE", evt."CHANGED_AT"
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and evt.__auto_cdc_shows
    )
    select * from born
    ) as born
    ) as row_born
    union all
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
        cast(row_born."CHANGED_AT" as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born."ID",
        born."NAME",
        born."NOTE",
        born."CHANGED_AT"
    from (
    with born ("ID", "NAME", "NOTE", "CHANGED_AT") as (
    select evt."ID", evt."NAME", evt."NOTE", evt."CHANGED_AT"
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and not evt.__auto_cdc_shows
    )
    select * from born
    ) as born
    ) as row_born
) as changes
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select "ID", "NAME", "NOTE", "CHANGED_AT", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
        cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    with gone (place) as (
    select coalesce(cast(length(cast(won."ID" as varchar)) as varchar) || ':' || cast(won."ID" as varchar), '-') from (
        select evt."ID", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where won.__auto_cdc_kind = 'delete'
    )
    select * from gone
    ) as gone where place is not null
    union all
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
        cast(row_born."CHANGED_AT" as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born."ID",
        born."NAME",
        born."NOTE",
        born."CHANGED_AT"
    from (
    with born ("ID", "NAME", "NOTE", "CHANGED_AT") as (
    select evt."ID", evt."NAME", evt."NOTE", evt."CHANGED_AT"
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and evt.__auto_cdc_shows
    )
    select * from born
    ) as born
    ) as row_born
    union all
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
        cast(row_born."CHANGED_AT" as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born."ID",
        born."NAME",
        born."NOTE",
        born."CHANGED_AT"
    from (
    with born ("ID", "NAME", "NOTE", "CHANGED_AT") as (
    select evt."ID", evt."NAME", evt."NOTE", evt."CHANGED_AT"
    from shop."customers__auto_cdc_stage_c0ffee000002" as evt
    where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest and evt.__auto_cdc_kind <> 'delete' and not evt.__auto_cdc_shows
    )
    select * from born
    ) as born
    ) as row_born
) as changes
where __auto_cdc_action = 'born'
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", "NAME", "NOTE", "CHANGED_AT") values (src."ID", src."NAME", src."NOTE", src."CHANGED_AT");

-- change shop.customers__auto_cdc  (only if num_new_events)
merge into shop.customers__auto_cdc as tgt using (
select "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(value_0 as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
        cast(value_1 as varchar) as __auto_cdc_kind,
        cast(null as varchar) as __auto_cdc_control,
        place as __auto_cdc_locator,
        cast('ended' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    with ended (place, value_0, value_1) as (
    select __auto_cdc_hidden as locator, __auto_cdc_sequence, __auto_cdc_kind from (
        select evt."ID", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where __auto_cdc_hidden is not null
    )
    select * from ended
    ) as ended
    union all
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born.__auto_cdc_sequence as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
        cast(row_born.__auto_cdc_kind as varchar) as __auto_cdc_kind,
        cast(row_born.__auto_cdc_control as varchar) as __auto_cdc_control,
        coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') || coalesce(cast(length(cast(row_born.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(row_born.__auto_cdc_kind as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born."ID",
        born.__auto_cdc_sequence,
        born.__auto_cdc_kind,
        cast(null as varchar) as __auto_cdc_control
    from (
    with born ("ID", __auto_cdc_sequence, __auto_cdc_kind) as (
    select "ID", __auto_cdc_sequence, __auto_cdc_kind from (
        select evt."ID", evt.__auto_cdc_sequence, evt.__auto_cdc_kind, evt.__auto_cdc_hidden
        from shop."customers__auto_cdc_stage_c0ffee000002" as evt
        where evt.__auto_cdc_is_new and evt.__auto_cdc_is_greatest
    ) as won where __auto_cdc_hidden is null
    )
    select * from born
    ) as born
    ) as row_born
) as changes
union all
select "ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control, coalesce(cast(length(cast(own."ID" as varchar)) as varchar) || ':' || cast(own."ID" as varchar), '-') || coalesce(cast(length(cast(own.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(own.__auto_cdc_kind as varchar), '-'), 'done' as __auto_cdc_action
from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}' as __auto_cdc_control
) as own
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(tgt.__auto_cdc_kind as varchar)) as varchar) || ':' || cast(tgt.__auto_cdc_kind as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'born' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_control = src.__auto_cdc_control
when matched and src.__auto_cdc_action = 'ended' then update set __auto_cdc_sequence = src.__auto_cdc_sequence, __auto_cdc_kind = src.__auto_cdc_kind
when matched and src.__auto_cdc_action = 'done' and tgt.__auto_cdc_kind = 'journal' and substr(tgt.__auto_cdc_control, 1, 13) = 'c0ffee000002 ' then update set __auto_cdc_control = src.__auto_cdc_control
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src."ID", src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control);

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002";
