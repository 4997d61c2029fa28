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
        src."OPERATION" as "OPERATION",
        src."CHANGED_AT" as "CHANGED_AT",
        (
        (0)
    ) as __auto_cdc_sequence,
        'upsert' as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
),
told as (
    select src.*, coalesce((
        changed_at >= '2026-03-01'
    ), false) as __auto_cdc_is_new, false as __auto_cdc_is_late, cast(null as varchar) as __auto_cdc_hidden
    from evaluated as src
)
select
    __auto_cdc_is_new,
    __auto_cdc_is_late,
    __auto_cdc_sequence,
    __auto_cdc_kind,
    __auto_cdc_hidden,
    "ID",
    "NAME",
    "NOTE",
    "OPERATION",
    "CHANGED_AT"
from told
) as src;

-- count the rows
select count(*) as num_read_rows from shop."customers__auto_cdc_stage_c0ffee000002";

-- create the companion
create table shop.customers__auto_cdc (
    __auto_cdc_sequence TIMESTAMP_NTZ(9),
    __auto_cdc_kind varchar,
    __auto_cdc_control varchar
);

-- create the companion
insert into shop.customers__auto_cdc (__auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select whose.__auto_cdc_sequence, whose.__auto_cdc_kind, whose.__auto_cdc_control from (
select
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
    "OPERATION" VARCHAR(16777216),
    "CHANGED_AT" TIMESTAMP_NTZ(9)
) cluster by (id);

-- create the target
insert into shop.customers ("ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT")
select "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT"
from shop."customers__auto_cdc_stage_c0ffee000002"
where __auto_cdc_is_new;

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Snowflake", "format": 1, "key_types": [], "keys": [], "materialized": "replace_where", "once": [], "scd_type": "1", "sequence_type": "TIMESTAMP_NTZ(9)", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
union all
select told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
) as src
on tgt.__auto_cdc_kind = src.__auto_cdc_kind
when matched then update set __auto_cdc_control = src.__auto_cdc_control
when not matched then insert (__auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control) values (src.__auto_cdc_sequence, src.__auto_cdc_kind, src.__auto_cdc_control);

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002";

-- auto_cdc: model customers: replace the rows in the range

-- stage the model's rows
create or replace transient table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with evaluated as (
    select
        src."ID" as "ID",
        src."NAME" as "NAME",
        src."NOTE" as "NOTE",
        src."OPERATION" as "OPERATION",
        src."CHANGED_AT" as "CHANGED_AT",
        (
        (0)
    ) as __auto_cdc_sequence,
        'upsert' as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
),
told as (
    select src.*, coalesce((
        changed_at >= '2026-03-01'
    ), false) as __auto_cdc_is_new, false as __auto_cdc_is_late, cast(null as varchar) as __auto_cdc_hidden
    from evaluated as src
)
select
    __auto_cdc_is_new,
    __auto_cdc_is_late,
    __auto_cdc_sequence,
    __auto_cdc_kind,
    __auto_cdc_hidden,
    "ID",
    "NAME",
    "NOTE",
    "OPERATION",
    "CHANGED_AT"
from told
) as src;

-- count the rows
select count(*) as num_read_rows from shop."customers__auto_cdc_stage_c0ffee000002";

-- find the rows in the range
create or replace transient table shop."customers__auto_cdc_gone_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select coalesce(cast(length(cast(src."ID" as varchar)) as varchar) || ':' || cast(src."ID" as varchar), '-') || coalesce(cast(length(cast(src."NAME" as varchar)) as varchar) || ':' || cast(src."NAME" as varchar), '-') || coalesce(cast(length(cast(src."NOTE" as varchar)) as varchar) || ':' || cast(src."NOTE" as varchar), '-') || coalesce(cast(length(cast(src."OPERATION" as varchar)) as varchar) || ':' || cast(src."OPERATION" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, src."CHANGED_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, src."CHANGED_AT") as varchar), '-') as __auto_cdc_locator
from shop.customers as src
where (
    changed_at >= '2026-03-01'
)
) as src;

-- compare the rows
create or replace transient table shop."customers__auto_cdc_events_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with both_sides as (
    select "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT", 1 as __auto_cdc_weight from (
        select "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT"
        from shop."customers__auto_cdc_stage_c0ffee000002"
        where __auto_cdc_is_new
    ) as incoming
    union all
    select "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT", -1 as __auto_cdc_weight from (
        select tgt."ID", tgt."NAME", tgt."NOTE", tgt."OPERATION", tgt."CHANGED_AT"
        from shop.customers as tgt
        join (
            select distinct __auto_cdc_locator from shop."customers__auto_cdc_gone_c0ffee000002"
        ) as gone on gone.__auto_cdc_locator = coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(tgt."NAME" as varchar)) as varchar) || ':' || cast(tgt."NAME" as varchar), '-') || coalesce(cast(length(cast(tgt."NOTE" as varchar)) as varchar) || ':' || cast(tgt."NOTE" as varchar), '-') || coalesce(cast(length(cast(tgt."OPERATION" as varchar)) as varchar) || ':' || cast(tgt."OPERATION" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."CHANGED_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."CHANGED_AT") as varchar), '-')
    ) as stored
)
select sum(__auto_cdc_weight) as __auto_cdc_copies from both_sides
group by "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT" having sum(__auto_cdc_weight) <> 0
) as src;

-- count the differences
select
    count(*) as num_differing_rows,
    coalesce(sum(case when __auto_cdc_copies > 0 then __auto_cdc_copies end), 0) as num_upserted_rows,
    coalesce(-sum(case when __auto_cdc_copies < 0 then __auto_cdc_copies end), 0) as num_deleted_rows
from shop."customers__auto_cdc_events_c0ffee000002";

-- write down what is left to do  (only if num_differing_rows)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n    cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n    cast(null as VARCHAR(16777216)) as \\"OPERATION\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from (\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as VARCHAR(16777216)) as \\"OPERATION\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        place as __auto_cdc_locator,\\n        cast(''gone'' as varchar) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    with gone (place) as (\\n    select __auto_cdc_locator from shop.\\"customers__auto_cdc_gone_c0ffee000002\\"\\n    )\\n    select * from gone\\n    ) as gone where place is not null\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"OPERATION\\" as VARCHAR(16777216)) as \\"OPERATION\\",\\n        cast(row_born.\\"CHANGED_AT\\" as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\\"NAME\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"NAME\\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\\"NOTE\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"NOTE\\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\\"OPERATION\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"OPERATION\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born.\\"CHANGED_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, row_born.\\"CHANGED_AT\\") as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"OPERATION\\",\\n        born.\\"CHANGED_AT\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\", \\"CHANGED_AT\\") as (\\n    select \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\", \\"CHANGED_AT\\"\\n    from shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n    where __auto_cdc_is_new\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action in (''gone'', ''born'')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\", \\"CHANGED_AT\\", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as NUMBER(38,0)) as \\"ID\\",\\n        cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(null as VARCHAR(16777216)) as \\"OPERATION\\",\\n        cast(null as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        place as __auto_cdc_locator,\\n        cast(''gone'' as varchar) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    with gone (place) as (\\n    select __auto_cdc_locator from shop.\\"customers__auto_cdc_gone_c0ffee000002\\"\\n    )\\n    select * from gone\\n    ) as gone where place is not null\\n    union all\\n    select\\n        cast(row_born.\\"ID\\" as NUMBER(38,0)) as \\"ID\\",\\n        cast(row_born.\\"NAME\\" as VARCHAR(16777216)) as \\"NAME\\",\\n        cast(row_born.\\"NOTE\\" as VARCHAR(16777216)) as \\"NOTE\\",\\n        cast(row_born.\\"OPERATION\\" as VARCHAR(16777216)) as \\"OPERATION\\",\\n        cast(row_born.\\"CHANGED_AT\\" as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n        coalesce(cast(length(cast(row_born.\\"ID\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\\"NAME\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"NAME\\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\\"NOTE\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"NOTE\\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\\"OPERATION\\" as varchar)) as varchar) || '':'' || cast(row_born.\\"OPERATION\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born.\\"CHANGED_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, row_born.\\"CHANGED_AT\\") as varchar), ''-'') as __auto_cdc_locator,\\n        cast(''born'' as varchar) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select\\n        born.\\"ID\\",\\n        born.\\"NAME\\",\\n        born.\\"NOTE\\",\\n        born.\\"OPERATION\\",\\n        born.\\"CHANGED_AT\\"\\n    from (\\n    with born (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\", \\"CHANGED_AT\\") as (\\n    select \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\", \\"CHANGED_AT\\"\\n    from shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n    where __auto_cdc_is_new\\n    )\\n    select * from born\\n    ) as born\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = ''born''\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') || coalesce(cast(length(cast(tgt.\\"NAME\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"NAME\\" as varchar), ''-'') || coalesce(cast(length(cast(tgt.\\"NOTE\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"NOTE\\" as varchar), ''-'') || coalesce(cast(length(cast(tgt.\\"OPERATION\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"OPERATION\\" as varchar), ''-'') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt.\\"CHANGED_AT\\") as varchar)) as varchar) || '':'' || cast(date_part(epoch_nanosecond, tgt.\\"CHANGED_AT\\") as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\", \\"CHANGED_AT\\") values (src.\\"ID\\", src.\\"NAME\\", src.\\"NOTE\\", src.\\"OPERATION\\", src.\\"CHANGED_AT\\")"], ["note that all is written", "update shop.customers__auto_cdc set __auto_cdc_control = ''c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stage_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_gone_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_events_c0ffee000002\\\\\\\\\\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}''\\nwhere __auto_cdc_kind = ''journal'' and substr(__auto_cdc_control, 1, 13) = ''c0ffee000002 ''"]], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_gone_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_differing_rows)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_differing_rows)
merge into shop.customers as tgt using (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
        cast(null as VARCHAR(16777216)) as "OPERATION",
        cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    with gone (place) as (
    select __auto_cdc_locator from shop."customers__auto_cdc_gone_c0ffee000002"
    )
    select * from gone
    ) as gone where place is not null
    union all
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
        cast(row_born."OPERATION" as VARCHAR(16777216)) as "OPERATION",
        cast(row_born."CHANGED_AT" as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') || coalesce(cast(length(cast(row_born."NAME" as varchar)) as varchar) || ':' || cast(row_born."NAME" as varchar), '-') || coalesce(cast(length(cast(row_born."NOTE" as varchar)) as varchar) || ':' || cast(row_born."NOTE" as varchar), '-') || coalesce(cast(length(cast(row_born."OPERATION" as varchar)) as varchar) || ':' || cast(row_born."OPERATION" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born."CHANGED_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, row_born."CHANGED_AT") as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born."ID",
        born."NAME",
        born."NOTE",
        born."OPERATION",
        born."CHANGED_AT"
    from (
    with born ("ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT") as (
    select "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT"
    from shop."customers__auto_cdc_stage_c0ffee000002"
    where __auto_cdc_is_new
    )
    select * from born
    ) as born
    ) as row_born
) as changes
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as NUMBER(38,0)) as "ID",
        cast(null as VARCHAR(16777216)) as "NAME",
        cast(null as VARCHAR(16777216)) as "NOTE",
        cast(null as VARCHAR(16777216)) as "OPERATION",
        cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    with gone (place) as (
    select __auto_cdc_locator from shop."customers__auto_cdc_gone_c0ffee000002"
    )
    select * from gone
    ) as gone where place is not null
    union all
    select
        cast(row_born."ID" as NUMBER(38,0)) as "ID",
        cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
        cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
        cast(row_born."OPERATION" as VARCHAR(16777216)) as "OPERATION",
        cast(row_born."CHANGED_AT" as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
        coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') || coalesce(cast(length(cast(row_born."NAME" as varchar)) as varchar) || ':' || cast(row_born."NAME" as varchar), '-') || coalesce(cast(length(cast(row_born."NOTE" as varchar)) as varchar) || ':' || cast(row_born."NOTE" as varchar), '-') || coalesce(cast(length(cast(row_born."OPERATION" as varchar)) as varchar) || ':' || cast(row_born."OPERATION" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, row_born."CHANGED_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, row_born."CHANGED_AT") as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select
        born."ID",
        born."NAME",
        born."NOTE",
        born."OPERATION",
        born."CHANGED_AT"
    from (
    with born ("ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT") as (
    select "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT"
    from shop."customers__auto_cdc_stage_c0ffee000002"
    where __auto_cdc_is_new
    )
    select * from born
    ) as born
    ) as row_born
) as changes
where __auto_cdc_action = 'born'
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') || coalesce(cast(length(cast(tgt."NAME" as varchar)) as varchar) || ':' || cast(tgt."NAME" as varchar), '-') || coalesce(cast(length(cast(tgt."NOTE" as varchar)) as varchar) || ':' || cast(tgt."NOTE" as varchar), '-') || coalesce(cast(length(cast(tgt."OPERATION" as varchar)) as varchar) || ':' || cast(tgt."OPERATION" as varchar), '-') || coalesce(cast(length(cast(date_part(epoch_nanosecond, tgt."CHANGED_AT") as varchar)) as varchar) || ':' || cast(date_part(epoch_nanosecond, tgt."CHANGED_AT") as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT") values (src."ID", src."NAME", src."NOTE", src."OPERATION", src."CHANGED_AT");

-- note that all is written  (only if num_differing_rows)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_gone_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_gone_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_events_c0ffee000002";

-- cross it off  (only if num_differing_rows)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';
