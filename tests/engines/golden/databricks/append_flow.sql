-- auto_cdc: model customers: build the target

-- create the companion
create or replace table shop.customers__auto_cdc (
    __auto_cdc_sequence timestamp,
    __auto_cdc_kind string,
    __auto_cdc_control string
) using delta;

-- create the target
create or replace table shop.customers using delta cluster by (id) as
select
    cast(added.`id` as int) as `id`,
    cast(added.`name` as string) as `name`,
    cast(added.`note` as string) as `note`,
    cast(added.`operation` as string) as `operation`,
    cast(added.`changed_at` as timestamp) as `changed_at`,
    cast(added.__auto_cdc_run as bigint) as __auto_cdc_run
from (
with evaluated as (
    select
        src.`id` as `id`,
        src.`name` as `name`,
        src.`note` as `note`,
        src.`operation` as `operation`,
        src.`changed_at` as `changed_at`,
        (
        (0)
    ) as __auto_cdc_sequence,
        'upsert' as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
)
select `id`, `name`, `note`, `operation`, `changed_at`, cast(1 as bigint) as __auto_cdc_run
from evaluated
) as added(`id`, `name`, `note`, `operation`, `changed_at`, __auto_cdc_run);

-- count the rows
select count(*) as num_output_rows from shop.customers;

-- fill the companion
insert into shop.customers__auto_cdc
select * from (
select
    cast(null as timestamp) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "format": 1, "key_types": [], "keys": [], "materialized": "append_flow", "once": [], "scd_type": "1", "sequence_type": "timestamp", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
union all
select
    cast(null as timestamp) as __auto_cdc_sequence,
    'run' as __auto_cdc_kind,
    '1' as __auto_cdc_control
) as added;

-- auto_cdc: model customers: append the new rows

-- write down how to take it back
merge into shop.customers__auto_cdc as tgt using (
select cast('journal' as string) as __auto_cdc_kind, told.* from (
select cast('["", [["take back the rows of the run before", "delete from shop.customers where __auto_cdc_run = 2"], ["remember the number of the run", "update shop.customers__auto_cdc set __auto_cdc_control = \'2\' where __auto_cdc_kind = \'run\'"]]]' as string) as __auto_cdc_control
) as told
) as src
on tgt.__auto_cdc_kind = src.__auto_cdc_kind
when matched then update set __auto_cdc_control = src.__auto_cdc_control
when not matched then insert (__auto_cdc_kind, __auto_cdc_control) values (src.__auto_cdc_kind, src.__auto_cdc_control);

-- append the rows
insert into shop.customers
select * from (
with evaluated as (
    select
        src.`id` as `id`,
        src.`name` as `name`,
        src.`note` as `note`,
        src.`operation` as `operation`,
        src.`changed_at` as `changed_at`,
        (
        (0)
    ) as __auto_cdc_sequence,
        'upsert' as __auto_cdc_kind
    from (
        select id, name, note, operation, changed_at
        from shop.customer_changes
    ) as src
)
select `id`, `name`, `note`, `operation`, `changed_at`, cast(2 as bigint) as __auto_cdc_run
from evaluated
) as added;

-- count what is written
select count(*) as num_output_rows from shop.customers where __auto_cdc_run = 2;

-- remember the number of the run
update shop.customers__auto_cdc set __auto_cdc_control = '2' where __auto_cdc_kind = 'run';

-- cross it off
delete from shop.customers__auto_cdc where __auto_cdc_kind = 'journal';
