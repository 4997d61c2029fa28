-- auto_cdc: model customers: build the target

-- create the companion
create or replace table shop.customers__auto_cdc (
    __auto_cdc_sequence TIMESTAMP_NTZ(9),
    __auto_cdc_kind varchar,
    __auto_cdc_control varchar
);

-- create the target
create or replace table shop.customers (
    "ID" NUMBER(38,0),
    "NAME" VARCHAR(16777216),
    "NOTE" VARCHAR(16777216),
    "OPERATION" VARCHAR(16777216),
    "CHANGED_AT" TIMESTAMP_NTZ(9),
    __auto_cdc_run bigint
) cluster by (id);

-- create the target
insert into shop.customers ("ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT", __auto_cdc_run)
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
)
select "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT", cast(1 as bigint) as __auto_cdc_run
from evaluated;

-- count the rows
select count(*) as num_output_rows from shop.customers;

-- fill the companion
insert into shop.customers__auto_cdc (__auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "format": 1, "key_types": [], "keys": [], "materialized": "append_flow", "once": [], "scd_type": "1", "sequence_type": "TIMESTAMP_NTZ(9)", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
union all
select
    cast(null as TIMESTAMP_NTZ(9)) as __auto_cdc_sequence,
    'run' as __auto_cdc_kind,
    '1' as __auto_cdc_control;

-- auto_cdc: model customers: append the new rows

-- write down how to take it back
merge into shop.customers__auto_cdc as tgt using (
select cast('journal' as varchar) as __auto_cdc_kind, told.* from (
select cast('["", [["take back the rows of the run before", "delete from shop.customers where __auto_cdc_run = 2"], ["remember the number of the run", "update shop.customers__auto_cdc set __auto_cdc_control = ''2'' where __auto_cdc_kind = ''run''"]]]' as varchar) as __auto_cdc_control
) as told
) as src
on tgt.__auto_cdc_kind = src.__auto_cdc_kind
when matched then update set __auto_cdc_control = src.__auto_cdc_control
when not matched then insert (__auto_cdc_kind, __auto_cdc_control) values (src.__auto_cdc_kind, src.__auto_cdc_control);

-- append the rows
insert into shop.customers ("ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT", __auto_cdc_run)
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
)
select "ID", "NAME", "NOTE", "OPERATION", "CHANGED_AT", cast(2 as bigint) as __auto_cdc_run
from evaluated;

-- count what is written
select count(*) as num_output_rows from shop.customers where __auto_cdc_run = 2;

-- remember the number of the run
update shop.customers__auto_cdc set __auto_cdc_control = '2' where __auto_cdc_kind = 'run';

-- cross it off
delete from shop.customers__auto_cdc where __auto_cdc_kind = 'journal';
