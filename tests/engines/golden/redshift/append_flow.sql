-- auto_cdc: model customers: build the target

-- create the companion
create table shop.customers__auto_cdc (
    __auto_cdc_sequence timestamp without time zone,
    __auto_cdc_kind varchar(65535),
    __auto_cdc_control varchar(65535)
);

-- create the companion
insert into shop.customers__auto_cdc (__auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select whose.__auto_cdc_sequence, whose.__auto_cdc_kind, whose.__auto_cdc_control from (
select
    cast(null as timestamp without time zone) as __auto_cdc_sequence,
    'journal' as __auto_cdc_kind,
    'c0ffee000002' as __auto_cdc_control
) as whose
where not exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal');

-- create the target
drop table if exists shop.customers
-- auto_cdc: next statement
create table shop.customers (
    "id" integer,
    "name" character varying(200),
    "note" character varying(200),
    "operation" character varying(200),
    "changed_at" timestamp without time zone,
    __auto_cdc_run bigint
) compound sortkey (id);

-- create the target
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
select "id", "name", "note", "operation", "changed_at", cast(1 as bigint) as __auto_cdc_run
from evaluated;

-- count the rows
select count(*) as num_output_rows from shop.customers;

-- fill the companion
insert into shop.customers__auto_cdc (__auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as timestamp without time zone) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Redshift", "format": 1, "key_types": [], "keys": [], "materialized": "append_flow", "once": [], "scd_type": "1", "sequence_type": "timestamp without time zone", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
union all
select
    cast(null as timestamp without time zone) as __auto_cdc_sequence,
    'run' as __auto_cdc_kind,
    '1' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn;

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- auto_cdc: model customers: append the new rows

-- write down what is left to do
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["claim it", "update shop.customers__auto_cdc set __auto_cdc_control = ''c0ffee000002! {\\"to_do\\": [[\\"remember that its rows do not count\\", \\"insert into shop.customers__auto_cdc (__auto_cdc_kind, __auto_cdc_control)\\\\\\\\nselect ''''lost'''', ''''2''''\\"], [\\"take back the rows of the run before\\", \\"delete from shop.customers where __auto_cdc_run = 2 and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = ''''lost'''' and __auto_cdc_control = ''''2'''')\\"]], \\"frees\\": \\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": true}''\\nwhere __auto_cdc_kind = ''journal'' and substr(__auto_cdc_control, 1, 13) = ''c0ffee000002 ''"], ["see that it is claimed", "c0ffee000002!"], ["remember that its rows do not count", "insert into shop.customers__auto_cdc (__auto_cdc_kind, __auto_cdc_control)\\nselect ''lost'', ''2''"], ["take back the rows of the run before", "delete from shop.customers where __auto_cdc_run = 2 and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = ''lost'' and __auto_cdc_control = ''2'')"]], "frees": "", "asks": "", "otherwise": [], "appends": true}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

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
),
appended as (
    select "id", "name", "note", "operation", "changed_at", cast(2 as bigint) as __auto_cdc_run
    from evaluated
)
select added."id", added."name", added."note", added."operation", added."changed_at", added.__auto_cdc_run
from appended as added
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ') as turn;

-- remember the number of the run
update shop.customers__auto_cdc set __auto_cdc_control = '2' where __auto_cdc_kind = 'run';

-- cross it off
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- count what is written
select counted.added as num_output_rows,
    case when turn.claims > 0 then 1 else 0 end as lost_turn
from (select count(*) as added from shop.customers where __auto_cdc_run = 2) as counted
cross join (select count(*) as claims from shop.customers__auto_cdc where (__auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 14) = 'c0ffee000002! ') or (__auto_cdc_kind = 'lost' and __auto_cdc_control = '2')) as turn;
