-- auto_cdc: model customers: build the target

-- create the companion
create table shop.customers__auto_cdc using iceberg as
select
    cast(added.__auto_cdc_sequence as timestamp_ntz) as __auto_cdc_sequence,
    cast(added.__auto_cdc_kind as string) as __auto_cdc_kind,
    cast(added.__auto_cdc_control as string) as __auto_cdc_control
from (
select
    cast(null as timestamp_ntz) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as added(__auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control);

-- create the target
create or replace table shop.customers using iceberg as
select
    cast(added.`id` as int) as `id`,
    cast(added.`name` as string) as `name`,
    cast(added.`note` as string) as `note`,
    cast(added.`operation` as string) as `operation`,
    cast(added.`changed_at` as timestamp_ntz) as `changed_at`,
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
merge into shop.customers__auto_cdc as tgt using (
select told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as timestamp_ntz) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Spark", "format": 1, "key_types": [], "keys": [], "materialized": "append_flow", "once": [], "scd_type": "1", "sequence_type": "timestamp_ntz", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
union all
select
    cast(null as timestamp_ntz) as __auto_cdc_sequence,
    'run' as __auto_cdc_kind,
    '1' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
union all
select told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as timestamp_ntz) as __auto_cdc_sequence,
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

-- auto_cdc: model customers: append the new rows

-- write down what is left to do
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["claim it", "update shop.customers__auto_cdc set __auto_cdc_control = \'c0ffee000002! {\\"to_do\\": [[\\"remember that its rows do not count\\", \\"merge into shop.customers__auto_cdc as tgt using (\\\\\\\\nselect cast(\\\\\'lost\\\\\' as string) as __auto_cdc_kind, told.* from (\\\\\\\\nselect \\\\\'2\\\\\' as __auto_cdc_control\\\\\\\\n) as told\\\\\\\\n) as src\\\\\\\\non tgt.__auto_cdc_kind = src.__auto_cdc_kind and tgt.__auto_cdc_control = src.__auto_cdc_control\\\\\\\\nwhen matched then update set __auto_cdc_control = src.__auto_cdc_control\\\\\\\\nwhen not matched then insert (__auto_cdc_kind, __auto_cdc_control) values (src.__auto_cdc_kind, src.__auto_cdc_control)\\"], [\\"take back the rows of the run before\\", \\"merge into shop.customers as tgt using (\\\\\\\\nselect distinct 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = \\\\\'lost\\\\\' and __auto_cdc_control = \\\\\'2\\\\\'\\\\\\\\n) as src\\\\\\\\non tgt.__auto_cdc_run = 2\\\\\\\\nwhen matched then delete\\"]], \\"frees\\": \\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": true}\'\\nwhere __auto_cdc_kind = \'journal\' and substr(__auto_cdc_control, 1, 13) = \'c0ffee000002 \'"], ["see that it is claimed", "c0ffee000002!"], ["remember that its rows do not count", "merge into shop.customers__auto_cdc as tgt using (\\nselect cast(\'lost\' as string) as __auto_cdc_kind, told.* from (\\nselect \'2\' as __auto_cdc_control\\n) as told\\n) as src\\non tgt.__auto_cdc_kind = src.__auto_cdc_kind and tgt.__auto_cdc_control = src.__auto_cdc_control\\nwhen matched then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched then insert (__auto_cdc_kind, __auto_cdc_control) values (src.__auto_cdc_kind, src.__auto_cdc_control)"], ["take back the rows of the run before", "merge into shop.customers as tgt using (\\nselect distinct 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = \'lost\' and __auto_cdc_control = \'2\'\\n) as src\\non tgt.__auto_cdc_run = 2\\nwhen matched then delete"]], "frees": "", "asks": "", "otherwise": [], "appends": true}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- append the rows
insert into shop.customers (`id`, `name`, `note`, `operation`, `changed_at`, __auto_cdc_run)
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
),
appended as (
    select `id`, `name`, `note`, `operation`, `changed_at`, cast(2 as bigint) as __auto_cdc_run
    from evaluated
)
select added.`id`, added.`name`, added.`note`, added.`operation`, added.`changed_at`, added.__auto_cdc_run
from appended as added
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ') as turn
) as added;

-- remember the number of the run
merge into shop.customers__auto_cdc as tgt using (
select '2' as __auto_cdc_control from shop.customers__auto_cdc as own
where own.__auto_cdc_kind = 'journal' and substr(own.__auto_cdc_control, 1, 13) = 'c0ffee000002 '
) as src
on tgt.__auto_cdc_kind = 'run'
when matched then update set __auto_cdc_control = src.__auto_cdc_control;

-- cross it off
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- count what is written
select counted.added as num_output_rows,
    case when turn.claims > 0 then 1 else 0 end as lost_turn
from (select count(*) as added from shop.customers where __auto_cdc_run = 2) as counted
cross join (select count(*) as claims from shop.customers__auto_cdc where (__auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 14) = 'c0ffee000002! ') or (__auto_cdc_kind = 'lost' and __auto_cdc_control = '2')) as turn;
