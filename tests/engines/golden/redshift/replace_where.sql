-- auto_cdc: model customers: build the target

-- stage the model's rows
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
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
told as (
    select src.*, coalesce((
        changed_at >= '2026-03-01'
    ), false) as __auto_cdc_is_new, false as __auto_cdc_is_late, cast(null as varchar(65535)) as __auto_cdc_hidden
    from evaluated as src
)
select
    __auto_cdc_is_new,
    __auto_cdc_is_late,
    __auto_cdc_sequence,
    __auto_cdc_kind,
    __auto_cdc_hidden,
    "id",
    "name",
    "note",
    "operation",
    "changed_at"
from told
) as src;

-- count the rows
select count(*) as num_read_rows from shop."customers__auto_cdc_stage_c0ffee000002";

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
    "changed_at" timestamp without time zone
) compound sortkey (id);

-- create the target
insert into shop.customers ("id", "name", "note", "operation", "changed_at")
select "id", "name", "note", "operation", "changed_at"
from shop."customers__auto_cdc_stage_c0ffee000002"
where __auto_cdc_is_new;

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
insert into shop.customers__auto_cdc (__auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as timestamp without time zone) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Redshift", "format": 1, "key_types": [], "keys": [], "materialized": "replace_where", "once": [], "scd_type": "1", "sequence_type": "timestamp without time zone", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn;

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002";

-- auto_cdc: model customers: replace the rows in the range

-- stage the model's rows
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
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
told as (
    select src.*, coalesce((
        changed_at >= '2026-03-01'
    ), false) as __auto_cdc_is_new, false as __auto_cdc_is_late, cast(null as varchar(65535)) as __auto_cdc_hidden
    from evaluated as src
)
select
    __auto_cdc_is_new,
    __auto_cdc_is_late,
    __auto_cdc_sequence,
    __auto_cdc_kind,
    __auto_cdc_hidden,
    "id",
    "name",
    "note",
    "operation",
    "changed_at"
from told
) as src;

-- count the rows
select count(*) as num_read_rows from shop."customers__auto_cdc_stage_c0ffee000002";

-- find the rows in the range
drop table if exists shop."customers__auto_cdc_gone_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_gone_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
select coalesce(cast(length(cast(src."id" as varchar(65535))) as varchar(65535)) || ':' || cast(src."id" as varchar(65535)), '-') || coalesce(cast(length(rtrim(src."name")) as varchar(65535)) || ':' || rtrim(src."name"), '-') || coalesce(cast(length(rtrim(src."note")) as varchar(65535)) || ':' || rtrim(src."note"), '-') || coalesce(cast(length(rtrim(src."operation")) as varchar(65535)) || ':' || rtrim(src."operation"), '-') || coalesce(cast(length(cast(src."changed_at" as varchar(65535))) as varchar(65535)) || ':' || cast(src."changed_at" as varchar(65535)), '-') as __auto_cdc_locator
from shop.customers as src
where (
    changed_at >= '2026-03-01'
)
) as src;

-- compare the rows
drop table if exists shop."customers__auto_cdc_events_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_events_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
with both_sides as (
    select "id", "name", "note", "operation", "changed_at", 1 as __auto_cdc_weight from (
        select "id", "name", "note", "operation", "changed_at"
        from shop."customers__auto_cdc_stage_c0ffee000002"
        where __auto_cdc_is_new
    ) as incoming
    union all
    select "id", "name", "note", "operation", "changed_at", -1 as __auto_cdc_weight from (
        select tgt."id", tgt."name", tgt."note", tgt."operation", tgt."changed_at"
        from shop.customers as tgt
        join (
            select distinct __auto_cdc_locator from shop."customers__auto_cdc_gone_c0ffee000002"
        ) as gone on gone.__auto_cdc_locator = coalesce(cast(length(cast(tgt."id" as varchar(65535))) as varchar(65535)) || ':' || cast(tgt."id" as varchar(65535)), '-') || coalesce(cast(length(rtrim(tgt."name")) as varchar(65535)) || ':' || rtrim(tgt."name"), '-') || coalesce(cast(length(rtrim(tgt."note")) as varchar(65535)) || ':' || rtrim(tgt."note"), '-') || coalesce(cast(length(rtrim(tgt."operation")) as varchar(65535)) || ':' || rtrim(tgt."operation"), '-') || coalesce(cast(length(cast(tgt."changed_at" as varchar(65535))) as varchar(65535)) || ':' || cast(tgt."changed_at" as varchar(65535)), '-')
    ) as stored
)
select sum(__auto_cdc_weight) as __auto_cdc_copies from both_sides
group by "id", "name", "note", "operation", "changed_at" having sum(__auto_cdc_weight) <> 0
) as src;

-- count the differences
select
    count(*) as num_differing_rows,
    coalesce(sum(case when __auto_cdc_copies > 0 then __auto_cdc_copies end), 0) as num_upserted_rows,
    coalesce(-sum(case when __auto_cdc_copies < 0 then __auto_cdc_copies end), 0) as num_deleted_rows
from shop."customers__auto_cdc_events_c0ffee000002";

-- write down what becomes of shop.customers  (only if num_differing_rows)
drop table if exists shop."customers__auto_cdc_target_changes_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_target_changes_c0ffee000002" as
select
    cast(null as integer) as "id",
    cast(null as character varying(200)) as "name",
    cast(null as character varying(200)) as "note",
    cast(null as character varying(200)) as "operation",
    cast(null as timestamp without time zone) as "changed_at",
    cast(null as varchar(65535)) as __auto_cdc_locator,
    cast('' as varchar(65535)) as __auto_cdc_action,
    0 as __auto_cdc_step
from (select 1 as one) as nothing
where false
union all
-- only if num_differing_rows
select
    cast(null as integer) as "id",
    cast(null as character varying(200)) as "name",
    cast(null as character varying(200)) as "note",
    cast(null as character varying(200)) as "operation",
    cast(null as timestamp without time zone) as "changed_at",
    place as __auto_cdc_locator,
    cast('gone' as varchar(65535)) as __auto_cdc_action,
    0 as __auto_cdc_step
from (
select __auto_cdc_locator from shop."customers__auto_cdc_gone_c0ffee000002"
) as gone(place) where place is not null
union all
-- only if num_differing_rows
select
    cast(row_born."id" as integer) as "id",
    cast(row_born."name" as character varying(200)) as "name",
    cast(row_born."note" as character varying(200)) as "note",
    cast(row_born."operation" as character varying(200)) as "operation",
    cast(row_born."changed_at" as timestamp without time zone) as "changed_at",
    coalesce(cast(length(cast(row_born."id" as varchar(65535))) as varchar(65535)) || ':' || cast(row_born."id" as varchar(65535)), '-') || coalesce(cast(length(rtrim(row_born."name")) as varchar(65535)) || ':' || rtrim(row_born."name"), '-') || coalesce(cast(length(rtrim(row_born."note")) as varchar(65535)) || ':' || rtrim(row_born."note"), '-') || coalesce(cast(length(rtrim(row_born."operation")) as varchar(65535)) || ':' || rtrim(row_born."operation"), '-') || coalesce(cast(length(cast(row_born."changed_at" as varchar(65535))) as varchar(65535)) || ':' || cast(row_born."changed_at" as varchar(65535)), '-') as __auto_cdc_locator,
    cast('born' as varchar(65535)) as __auto_cdc_action,
    1 as __auto_cdc_step
from (
select
    born."id",
    born."name",
    born."note",
    born."operation",
    born."changed_at"
from (
select "id", "name", "note", "operation", "changed_at"
from shop."customers__auto_cdc_stage_c0ffee000002"
where __auto_cdc_is_new
) as born("id", "name", "note", "operation", "changed_at")
) as row_born;

-- write down what is left to do  (only if num_differing_rows)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "delete from shop.customers where coalesce(cast(length(cast(customers.\\"id\\" as varchar(65535))) as varchar(65535)) || '':'' || cast(customers.\\"id\\" as varchar(65535)), ''-'') || coalesce(cast(length(rtrim(customers.\\"name\\")) as varchar(65535)) || '':'' || rtrim(customers.\\"name\\"), ''-'') || coalesce(cast(length(rtrim(customers.\\"note\\")) as varchar(65535)) || '':'' || rtrim(customers.\\"note\\"), ''-'') || coalesce(cast(length(rtrim(customers.\\"operation\\")) as varchar(65535)) || '':'' || rtrim(customers.\\"operation\\"), ''-'') || coalesce(cast(length(cast(customers.\\"changed_at\\" as varchar(65535))) as varchar(65535)) || '':'' || cast(customers.\\"changed_at\\" as varchar(65535)), ''-'') in (\\nselect __auto_cdc_locator from shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\" where __auto_cdc_action in (''gone'', ''born'')\\n)"], ["change shop.customers", "insert into shop.customers (\\"id\\", \\"name\\", \\"note\\", \\"operation\\", \\"changed_at\\")\\nselect \\"id\\", \\"name\\", \\"note\\", \\"operation\\", \\"changed_at\\" from shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\" where __auto_cdc_action = ''born''"], ["note that all is written", "update shop.customers__auto_cdc set __auto_cdc_control = ''c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stage_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_gone_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_events_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_target_changes_c0ffee000002\\\\\\\\\\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}''\\nwhere __auto_cdc_kind = ''journal'' and substr(__auto_cdc_control, 1, 13) = ''c0ffee000002 ''"]], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_gone_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_differing_rows)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_differing_rows)
delete from shop.customers where coalesce(cast(length(cast(customers."id" as varchar(65535))) as varchar(65535)) || ':' || cast(customers."id" as varchar(65535)), '-') || coalesce(cast(length(rtrim(customers."name")) as varchar(65535)) || ':' || rtrim(customers."name"), '-') || coalesce(cast(length(rtrim(customers."note")) as varchar(65535)) || ':' || rtrim(customers."note"), '-') || coalesce(cast(length(rtrim(customers."operation")) as varchar(65535)) || ':' || rtrim(customers."operation"), '-') || coalesce(cast(length(cast(customers."changed_at" as varchar(65535))) as varchar(65535)) || ':' || cast(customers."changed_at" as varchar(65535)), '-') in (
select __auto_cdc_locator from shop."customers__auto_cdc_target_changes_c0ffee000002" where __auto_cdc_action in ('gone', 'born')
);

-- change shop.customers  (only if num_differing_rows)
insert into shop.customers ("id", "name", "note", "operation", "changed_at")
select "id", "name", "note", "operation", "changed_at" from shop."customers__auto_cdc_target_changes_c0ffee000002" where __auto_cdc_action = 'born';

-- note that all is written  (only if num_differing_rows)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_gone_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_gone_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_events_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_target_changes_c0ffee000002";

-- cross it off  (only if num_differing_rows)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';
