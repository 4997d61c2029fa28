-- auto_cdc: model customers: build the target

-- create the companion
create table shop.customers__auto_cdc with (fillfactor = 90) as
with rows as (
    select
        cast(null as timestamp without time zone) as __auto_cdc_sequence,
        'control' as __auto_cdc_kind,
        '{"change_data_feed": false, "engine": "PostgreSQL", "format": 1, "key_types": [], "keys": [], "materialized": "append_flow", "once": [], "scd_type": "1", "sequence_type": "timestamp without time zone", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
    union all
    select
        cast(null as timestamp without time zone) as __auto_cdc_sequence,
        'run' as __auto_cdc_kind,
        '1' as __auto_cdc_control
)
select
    cast(__auto_cdc_sequence as timestamp without time zone) as __auto_cdc_sequence,
    cast(__auto_cdc_kind as varchar) as __auto_cdc_kind,
    cast(__auto_cdc_control as varchar) as __auto_cdc_control
from rows;

-- make the companion quick to read
analyze shop.customers__auto_cdc;

-- create the target
create table shop.customers as
with evaluated as (
    select
        src."id" as "id",
        src."name" as "name",
        src."note" as "note",
        src."operation" as "operation",
        src."changed_at" as "changed_at",
        (
        (0)
    ) as __auto_cdc_sequence,
        'upsert' as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
),
appended as (
    select "id", "name", "note", "operation", "changed_at", cast(1 as bigint) as __auto_cdc_run
    from evaluated
)
select
    cast("id" as integer) as "id",
    cast("name" as text) as "name",
    cast("note" as text) as "note",
    cast("operation" as text) as "operation",
    cast("changed_at" as timestamp without time zone) as "changed_at",
    cast(__auto_cdc_run as bigint) as __auto_cdc_run
from appended;

-- make the target quick to stream
create index on shop.customers (__auto_cdc_run);

-- auto_cdc: model customers: append the new rows

-- append the rows
insert into shop.customers ("id", "name", "note", "operation", "changed_at", __auto_cdc_run)
with evaluated as (
    select
        src."id" as "id",
        src."name" as "name",
        src."note" as "note",
        src."operation" as "operation",
        src."changed_at" as "changed_at",
        (
        (0)
    ) as __auto_cdc_sequence,
        'upsert' as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
)
select "id", "name", "note", "operation", "changed_at", cast(2 as bigint) as __auto_cdc_run
from evaluated;

-- remember the number of the run  (only if num_output_rows)
update shop.customers__auto_cdc set __auto_cdc_control = '2' where __auto_cdc_kind = 'run';
