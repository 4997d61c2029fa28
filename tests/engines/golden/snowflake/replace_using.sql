-- auto_cdc: model customers: build the target

-- stage the model's rows
create or replace transient table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select
    src."ID" as "ID",
    src."NAME" as "NAME",
    src."NOTE" as "NOTE",
    src."OPERATION" as "OPERATION",
    src."CHANGED_AT" as "CHANGED_AT",
    src."CHANGED_AT" as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src
) as src;

-- find the newest rows of each key
create or replace transient table shop."customers__auto_cdc_winners_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select
    stg."ID",
    max(stg.__auto_cdc_sequence) as __auto_cdc_latest,
    true as __auto_cdc_is_new,
    false as __auto_cdc_same,
    0 as __auto_cdc_copies
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
group by stg."ID"
) as src;

-- check the rows
with read as (
    select
        count(*) as num_read_rows,
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when stg.__auto_cdc_sequence is null then 'ID=' || coalesce(cast(stg."ID" as varchar), 'null') end) as null_sequence_example
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg
),
stood as (
    select
        count(case when won.__auto_cdc_same then 1 end) as num_equal_keys,
        count(case when won.__auto_cdc_is_new then 1 end) as num_newer_keys,
        coalesce(sum(won.__auto_cdc_copies), 0) as num_late_rows
    from shop."customers__auto_cdc_winners_c0ffee000002" as won
)
select * from read cross join stood;

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
    "OPERATION" VARCHAR(16777216),
    "CHANGED_AT" TIMESTAMP_NTZ(9)
) cluster by (id);

-- create the target
insert into shop.customers ("ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT")
select stg."ID", stg."NAME", stg."NOTE", stg."OPERATION", stg."CHANGED_AT"
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
join shop."customers__auto_cdc_winners_c0ffee000002" as won on equal_null(won."ID", stg."ID") and won.__auto_cdc_latest = stg.__auto_cdc_sequence
where won.__auto_cdc_is_new;

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told."ID", told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Snowflake", "format": 1, "key_types": ["NUMBER(38,0)"], "keys": ["id"], "materialized": "replace_using", "once": [], "scd_type": "1", "sequence_type": "TIMESTAMP_NTZ(9)", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
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
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_winners_c0ffee000002";

-- auto_cdc: model customers: replace the rows of the incoming keys

-- stage the model's rows
create or replace transient table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
select
    src."ID" as "ID",
    src."NAME" as "NAME",
    src."NOTE" as "NOTE",
    src."OPERATION" as "OPERATION",
    src."CHANGED_AT" as "CHANGED_AT",
    src."CHANGED_AT" as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src
) as src;

-- find the rows of the keys
create or replace transient table shop."customers__auto_cdc_stored_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with incoming as (
    select distinct "ID" from shop."customers__auto_cdc_stage_c0ffee000002"
)
select tgt."ID", tgt."CHANGED_AT" as __auto_cdc_sequence, coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') as __auto_cdc_locator
from shop.customers as tgt join incoming as inc on equal_null(inc."ID", tgt."ID")
) as src;

-- find the newest rows of each key
create or replace transient table shop."customers__auto_cdc_winners_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with stored as (
    select "ID", max(__auto_cdc_sequence) as __auto_cdc_latest
    from shop."customers__auto_cdc_stored_c0ffee000002" group by "ID"
)
select
    stg."ID",
    max(stg.__auto_cdc_sequence) as __auto_cdc_latest,
    (max(stored.__auto_cdc_latest) is null or max(stg.__auto_cdc_sequence) > max(stored.__auto_cdc_latest)) as __auto_cdc_is_new,
    coalesce(max(stg.__auto_cdc_sequence) = max(stored.__auto_cdc_latest), false) as __auto_cdc_same,
    count(case when stg.__auto_cdc_sequence < stored.__auto_cdc_latest then 1 end) as __auto_cdc_copies
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
left join stored on equal_null(stored."ID", stg."ID")
group by stg."ID"
) as src;

-- check the rows
with read as (
    select
        count(*) as num_read_rows,
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when stg.__auto_cdc_sequence is null then 'ID=' || coalesce(cast(stg."ID" as varchar), 'null') end) as null_sequence_example
    from shop."customers__auto_cdc_stage_c0ffee000002" as stg
),
stood as (
    select
        count(case when won.__auto_cdc_same then 1 end) as num_equal_keys,
        count(case when won.__auto_cdc_is_new then 1 end) as num_newer_keys,
        coalesce(sum(won.__auto_cdc_copies), 0) as num_late_rows
    from shop."customers__auto_cdc_winners_c0ffee000002" as won
)
select * from read cross join stood;

-- compare the rows  (only if num_equal_keys)
create or replace transient table shop."customers__auto_cdc_events_c0ffee000002" as
select src.*, uuid_string() as __auto_cdc_row
from (
with both_sides as (
    select "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT", 1 as __auto_cdc_weight from (
        select stg."ID", stg."NAME", stg."NOTE", stg."OPERATION", stg."CHANGED_AT"
        from shop."customers__auto_cdc_stage_c0ffee000002" as stg
        join shop."customers__auto_cdc_winners_c0ffee000002" as won on equal_null(won."ID", stg."ID") and won.__auto_cdc_latest = stg.__auto_cdc_sequence
        where won.__auto_cdc_same
    ) as incoming
    union all
    select "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT", -1 as __auto_cdc_weight from (
        select tgt."ID", tgt."NAME", tgt."NOTE", tgt."OPERATION", tgt."CHANGED_AT"
        from shop.customers as tgt
        join shop."customers__auto_cdc_winners_c0ffee000002" as won on equal_null(won."ID", tgt."ID")
        where won.__auto_cdc_same
    ) as stored
)
select "ID", sum(__auto_cdc_weight) as __auto_cdc_copies from both_sides
group by "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT" having sum(__auto_cdc_weight) <> 0
) as src;

-- count the differences  (only if num_equal_keys)
select
    count(*) as num_differing_rows,
    coalesce(sum(case when __auto_cdc_copies > 0 then __auto_cdc_copies end), 0) as num_upserted_rows,
    coalesce(-sum(case when __auto_cdc_copies < 0 then __auto_cdc_copies end), 0) as num_deleted_rows
from shop."customers__auto_cdc_events_c0ffee000002";

-- write down what becomes of shop.customers  (only if num_differing_rows or num_newer_keys)
create or replace transient table shop."customers__auto_cdc_target_changes_c0ffee000002" as
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
    cast(null as varchar) as __auto_cdc_locator,
    cast('' as varchar) as __auto_cdc_action,
    0 as __auto_cdc_step
from (select 1 as one) as nothing
where false
union all
-- only if num_differing_rows
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
select past.__auto_cdc_locator
from shop."customers__auto_cdc_stored_c0ffee000002" as past
join (
    select distinct "ID" from shop."customers__auto_cdc_events_c0ffee000002"
) as dif on equal_null(dif."ID", past."ID")
)
select * from gone
) as gone where place is not null
union all
-- only if num_differing_rows
select
    cast(row_born."ID" as NUMBER(38,0)) as "ID",
    cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
    cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
    cast(row_born."OPERATION" as VARCHAR(16777216)) as "OPERATION",
    cast(row_born."CHANGED_AT" as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
    coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') as __auto_cdc_locator,
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
select stg."ID", stg."NAME", stg."NOTE", stg."OPERATION", stg."CHANGED_AT"
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
join shop."customers__auto_cdc_winners_c0ffee000002" as won on equal_null(won."ID", stg."ID") and won.__auto_cdc_latest = stg.__auto_cdc_sequence
join (
    select distinct "ID" from shop."customers__auto_cdc_events_c0ffee000002"
) as dif on equal_null(dif."ID", stg."ID")
where won.__auto_cdc_same
)
select * from born
) as born
) as row_born
union all
-- only if num_newer_keys
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
    place as __auto_cdc_locator,
    cast('gone' as varchar) as __auto_cdc_action,
    2 as __auto_cdc_step
from (
with gone (place) as (
select past.__auto_cdc_locator
from shop."customers__auto_cdc_stored_c0ffee000002" as past
join shop."customers__auto_cdc_winners_c0ffee000002" as won on equal_null(won."ID", past."ID")
where won.__auto_cdc_is_new
)
select * from gone
) as gone where place is not null
union all
-- only if num_newer_keys
select
    cast(row_born."ID" as NUMBER(38,0)) as "ID",
    cast(row_born."NAME" as VARCHAR(16777216)) as "NAME",
    cast(row_born."NOTE" as VARCHAR(16777216)) as "NOTE",
    cast(row_born."OPERATION" as VARCHAR(16777216)) as "OPERATION",
    cast(row_born."CHANGED_AT" as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
    coalesce(cast(length(cast(row_born."ID" as varchar)) as varchar) || ':' || cast(row_born."ID" as varchar), '-') as __auto_cdc_locator,
    cast('born' as varchar) as __auto_cdc_action,
    3 as __auto_cdc_step
from (
select
    born."ID",
    born."NAME",
    born."NOTE",
    born."OPERATION",
    born."CHANGED_AT"
from (
with born ("ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT") as (
select stg."ID", stg."NAME", stg."NOTE", stg."OPERATION", stg."CHANGED_AT"
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
join shop."customers__auto_cdc_winners_c0ffee000002" as won on equal_null(won."ID", stg."ID") and won.__auto_cdc_latest = stg.__auto_cdc_sequence
where won.__auto_cdc_is_new
)
select * from born
) as born
) as row_born;

-- count what is written  (only if num_differing_rows or num_newer_keys)
select
    count(case when __auto_cdc_step = 2 and __auto_cdc_action = 'gone' then 1 end) as num_deleted_rows,
    count(case when __auto_cdc_step = 3 and __auto_cdc_action = 'born' then 1 end) as num_upserted_rows
from shop."customers__auto_cdc_target_changes_c0ffee000002";

-- write down what is left to do  (only if num_differing_rows or num_newer_keys)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect\\n    cast(null as NUMBER(38,0)) as \\"ID\\",\\n    cast(null as VARCHAR(16777216)) as \\"NAME\\",\\n    cast(null as VARCHAR(16777216)) as \\"NOTE\\",\\n    cast(null as VARCHAR(16777216)) as \\"OPERATION\\",\\n    cast(null as TIMESTAMP_NTZ(9)) as \\"CHANGED_AT\\",\\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\nwhere __auto_cdc_action in (''gone'', ''born'')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect \\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\", \\"CHANGED_AT\\", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\\nfrom shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"\\nwhere __auto_cdc_action = ''born''\\n) as src\\non coalesce(cast(length(cast(tgt.\\"ID\\" as varchar)) as varchar) || '':'' || cast(tgt.\\"ID\\" as varchar), ''-'') = src.__auto_cdc_locator\\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\\"ID\\", \\"NAME\\", \\"NOTE\\", \\"OPERATION\\", \\"CHANGED_AT\\") values (src.\\"ID\\", src.\\"NAME\\", src.\\"NOTE\\", src.\\"OPERATION\\", src.\\"CHANGED_AT\\")"], ["note that all is written", "update shop.customers__auto_cdc set __auto_cdc_control = ''c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stage_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stored_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_winners_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_events_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_target_changes_c0ffee000002\\\\\\\\\\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}''\\nwhere __auto_cdc_kind = ''journal'' and substr(__auto_cdc_control, 1, 13) = ''c0ffee000002 ''"]], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_stored_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_winners_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_differing_rows or num_newer_keys)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_differing_rows or num_newer_keys)
merge into shop.customers as tgt using (
select
    cast(null as NUMBER(38,0)) as "ID",
    cast(null as VARCHAR(16777216)) as "NAME",
    cast(null as VARCHAR(16777216)) as "NOTE",
    cast(null as VARCHAR(16777216)) as "OPERATION",
    cast(null as TIMESTAMP_NTZ(9)) as "CHANGED_AT",
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from shop."customers__auto_cdc_target_changes_c0ffee000002"
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action
from shop."customers__auto_cdc_target_changes_c0ffee000002"
where __auto_cdc_action = 'born'
) as src
on coalesce(cast(length(cast(tgt."ID" as varchar)) as varchar) || ':' || cast(tgt."ID" as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when not matched and src.__auto_cdc_action = 'born' then insert ("ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT") values (src."ID", src."NAME", src."NOTE", src."OPERATION", src."CHANGED_AT");

-- note that all is written  (only if num_differing_rows or num_newer_keys)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_stored_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_winners_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_stored_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_winners_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_events_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_target_changes_c0ffee000002";

-- cross it off  (only if num_differing_rows or num_newer_keys)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';
