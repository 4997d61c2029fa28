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
    ), false) as __auto_cdc_is_new, false as __auto_cdc_is_late, cast(null as varchar) as __auto_cdc_hidden
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
    __auto_cdc_sequence timestamp(6),
    __auto_cdc_kind varchar,
    __auto_cdc_control varchar
);

-- create the companion
insert into shop.customers__auto_cdc (__auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select whose.__auto_cdc_sequence, whose.__auto_cdc_kind, whose.__auto_cdc_control from (
select
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
    "operation" varchar,
    "changed_at" timestamp(6)
);

-- create the target
insert into shop.customers ("id", "name", "note", "operation", "changed_at")
select "id", "name", "note", "operation", "changed_at"
from shop."customers__auto_cdc_stage_c0ffee000002"
where __auto_cdc_is_new;

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as timestamp(6)) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Trino", "format": 1, "key_types": [], "keys": [], "materialized": "replace_where", "once": [], "scd_type": "1", "sequence_type": "timestamp(6)", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
union all
select told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as timestamp(6)) as __auto_cdc_sequence,
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

-- drop what told the columns
drop table if exists shop."customers__auto_cdc_described";

-- auto_cdc: model customers: replace the rows in the range

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
    ), false) as __auto_cdc_is_new, false as __auto_cdc_is_late, cast(null as varchar) as __auto_cdc_hidden
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
select src.*, cast(uuid() as varchar) as __auto_cdc_row
from (
select coalesce(cast(length(cast(src."id" as varchar)) as varchar) || ':' || cast(src."id" as varchar), '-') || coalesce(cast(length(cast(src."name" as varchar)) as varchar) || ':' || cast(src."name" as varchar), '-') || coalesce(cast(length(cast(src."note" as varchar)) as varchar) || ':' || cast(src."note" as varchar), '-') || coalesce(cast(length(cast(src."operation" as varchar)) as varchar) || ':' || cast(src."operation" as varchar), '-') || coalesce(cast(length(cast(src."changed_at" as varchar)) as varchar) || ':' || cast(src."changed_at" as varchar), '-') as __auto_cdc_locator
from shop.customers as src
where (
    changed_at >= '2026-03-01'
)
) as src;

-- compare the rows
drop table if exists shop."customers__auto_cdc_events_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_events_c0ffee000002" as
select src.*, cast(uuid() as varchar) as __auto_cdc_row
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
        ) as gone on gone.__auto_cdc_locator = coalesce(cast(length(cast(tgt."id" as varchar)) as varchar) || ':' || cast(tgt."id" as varchar), '-') || coalesce(cast(length(cast(tgt."name" as varchar)) as varchar) || ':' || cast(tgt."name" as varchar), '-') || coalesce(cast(length(cast(tgt."note" as varchar)) as varchar) || ':' || cast(tgt."note" as varchar), '-') || coalesce(cast(length(cast(tgt."operation" as varchar)) as varchar) || ':' || cast(tgt."operation" as varchar), '-') || coalesce(cast(length(cast(tgt."changed_at" as varchar)) as varchar) || ':' || cast(tgt."changed_at" as varchar), '-')
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

-- write down what is left to do  (only if num_differing_rows)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\nselect\n    cast(null as integer) as \"id\",\n    cast(null as varchar) as \"name\",\n    cast(null as varchar) as \"note\",\n    cast(null as varchar) as \"operation\",\n    cast(null as timestamp(6)) as \"changed_at\",\n    __auto_cdc_locator, ''gone'' as __auto_cdc_action\nfrom (\nselect __auto_cdc_locator from (\n    select\n        cast(null as integer) as \"id\",\n        cast(null as varchar) as \"name\",\n        cast(null as varchar) as \"note\",\n        cast(null as varchar) as \"operation\",\n        cast(null as timestamp(6)) as \"changed_at\",\n        place as __auto_cdc_locator,\n        cast(''gone'' as varchar) as __auto_cdc_action,\n        0 as __auto_cdc_step\n    from (\n    select __auto_cdc_locator from shop.\"customers__auto_cdc_gone_c0ffee000002\"\n    ) as gone(place) where place is not null\n    union all\n    select\n        cast(row_born.\"id\" as integer) as \"id\",\n        cast(row_born.\"name\" as varchar) as \"name\",\n        cast(row_born.\"note\" as varchar) as \"note\",\n        cast(row_born.\"operation\" as varchar) as \"operation\",\n        cast(row_born.\"changed_at\" as timestamp(6)) as \"changed_at\",\n        coalesce(cast(length(cast(row_born.\"id\" as varchar)) as varchar) || '':'' || cast(row_born.\"id\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\"name\" as varchar)) as varchar) || '':'' || cast(row_born.\"name\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\"note\" as varchar)) as varchar) || '':'' || cast(row_born.\"note\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\"operation\" as varchar)) as varchar) || '':'' || cast(row_born.\"operation\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\"changed_at\" as varchar)) as varchar) || '':'' || cast(row_born.\"changed_at\" as varchar), ''-'') as __auto_cdc_locator,\n        cast(''born'' as varchar) as __auto_cdc_action,\n        1 as __auto_cdc_step\n    from (\n    select\n        born.\"id\",\n        born.\"name\",\n        born.\"note\",\n        born.\"operation\",\n        born.\"changed_at\"\n    from (\n    select \"id\", \"name\", \"note\", \"operation\", \"changed_at\"\n    from shop.\"customers__auto_cdc_stage_c0ffee000002\"\n    where __auto_cdc_is_new\n    ) as born(\"id\", \"name\", \"note\", \"operation\", \"changed_at\")\n    ) as row_born\n) as changes\nwhere __auto_cdc_action in (''gone'', ''born'')\ngroup by __auto_cdc_locator\n) as going\nunion all\nselect \"id\", \"name\", \"note\", \"operation\", \"changed_at\", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action\nfrom (\n    select\n        cast(null as integer) as \"id\",\n        cast(null as varchar) as \"name\",\n        cast(null as varchar) as \"note\",\n        cast(null as varchar) as \"operation\",\n        cast(null as timestamp(6)) as \"changed_at\",\n        place as __auto_cdc_locator,\n        cast(''gone'' as varchar) as __auto_cdc_action,\n        0 as __auto_cdc_step\n    from (\n    select __auto_cdc_locator from shop.\"customers__auto_cdc_gone_c0ffee000002\"\n    ) as gone(place) where place is not null\n    union all\n    select\n        cast(row_born.\"id\" as integer) as \"id\",\n        cast(row_born.\"name\" as varchar) as \"name\",\n        cast(row_born.\"note\" as varchar) as \"note\",\n        cast(row_born.\"operation\" as varchar) as \"operation\",\n        cast(row_born.\"changed_at\" as timestamp(6)) as \"changed_at\",\n        coalesce(cast(length(cast(row_born.\"id\" as varchar)) as varchar) || '':'' || cast(row_born.\"id\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\"name\" as varchar)) as varchar) || '':'' || cast(row_born.\"name\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\"note\" as varchar)) as varchar) || '':'' || cast(row_born.\"note\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\"operation\" as varchar)) as varchar) || '':'' || cast(row_born.\"operation\" as varchar), ''-'') || coalesce(cast(length(cast(row_born.\"changed_at\" as varchar)) as varchar) || '':'' || cast(row_born.\"changed_at\" as varchar), ''-'') as __auto_cdc_locator,\n        cast(''born'' as varchar) as __auto_cdc_action,\n        1 as __auto_cdc_step\n    from (\n    select\n        born.\"id\",\n        born.\"name\",\n        born.\"note\",\n        born.\"operation\",\n        born.\"changed_at\"\n    from (\n    select \"id\", \"name\", \"note\", \"operation\", \"changed_at\"\n    from shop.\"customers__auto_cdc_stage_c0ffee000002\"\n    where __auto_cdc_is_new\n    ) as born(\"id\", \"name\", \"note\", \"operation\", \"changed_at\")\n    ) as row_born\n) as changes\nwhere __auto_cdc_action = ''born''\n) as src\non coalesce(cast(length(cast(tgt.\"id\" as varchar)) as varchar) || '':'' || cast(tgt.\"id\" as varchar), ''-'') || coalesce(cast(length(cast(tgt.\"name\" as varchar)) as varchar) || '':'' || cast(tgt.\"name\" as varchar), ''-'') || coalesce(cast(length(cast(tgt.\"note\" as varchar)) as varchar) || '':'' || cast(tgt.\"note\" as varchar), ''-'') || coalesce(cast(length(cast(tgt.\"operation\" as varchar)) as varchar) || '':'' || cast(tgt.\"operation\" as varchar), ''-'') || coalesce(cast(length(cast(tgt.\"changed_at\" as varchar)) as varchar) || '':'' || cast(tgt.\"changed_at\" as varchar), ''-'') = src.__auto_cdc_locator\nwhen matched and src.__auto_cdc_action = ''gone'' then delete\nwhen not matched and src.__auto_cdc_action = ''born'' then insert (\"id\", \"name\", \"note\", \"operation\", \"changed_at\") values (src.\"id\", src.\"name\", src.\"note\", src.\"operation\", src.\"changed_at\")"], ["note that all is written", "update shop.customers__auto_cdc set __auto_cdc_control = ''c0ffee000002 {\"to_do\": [], \"frees\": \"drop table if exists shop.\\\"customers__auto_cdc_stage_c0ffee000002\\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\\"customers__auto_cdc_gone_c0ffee000002\\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\\"customers__auto_cdc_events_c0ffee000002\\\"\", \"asks\": \"\", \"otherwise\": [], \"appends\": false}''\nwhere __auto_cdc_kind = ''journal'' and substr(__auto_cdc_control, 1, 13) = ''c0ffee000002 ''"]], "frees": "drop table if exists shop.\"customers__auto_cdc_stage_c0ffee000002\"\n-- auto_cdc: next statement\ndrop table if exists shop.\"customers__auto_cdc_gone_c0ffee000002\"\n-- auto_cdc: next statement\ndrop table if exists shop.\"customers__auto_cdc_events_c0ffee000002\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_differing_rows)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_differing_rows)
merge into shop.customers as tgt using (
select
    cast(null as integer) as "id",
    cast(null as varchar) as "name",
    cast(null as varchar) as "note",
    cast(null as varchar) as "operation",
    cast(null as timestamp(6)) as "changed_at",
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(null as integer) as "id",
        cast(null as varchar) as "name",
        cast(null as varchar) as "note",
        cast(null as varchar) as "operation",
        cast(null as timestamp(6)) as "changed_at",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select __auto_cdc_locator from shop."customers__auto_cdc_gone_c0ffee000002"
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born."id" as integer) as "id",
        cast(row_born."name" as varchar) as "name",
        cast(row_born."note" as varchar) as "note",
        cast(row_born."operation" as varchar) as "operation",
        cast(row_born."changed_at" as timestamp(6)) as "changed_at",
        coalesce(cast(length(cast(row_born."id" as varchar)) as varchar) || ':' || cast(row_born."id" as varchar), '-') || coalesce(cast(length(cast(row_born."name" as varchar)) as varchar) || ':' || cast(row_born."name" as varchar), '-') || coalesce(cast(length(cast(row_born."note" as varchar)) as varchar) || ':' || cast(row_born."note" as varchar), '-') || coalesce(cast(length(cast(row_born."operation" as varchar)) as varchar) || ':' || cast(row_born."operation" as varchar), '-') || coalesce(cast(length(cast(row_born."changed_at" as varchar)) as varchar) || ':' || cast(row_born."changed_at" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
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
    ) as row_born
) as changes
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select "id", "name", "note", "operation", "changed_at", cast(null as varchar) as __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as integer) as "id",
        cast(null as varchar) as "name",
        cast(null as varchar) as "note",
        cast(null as varchar) as "operation",
        cast(null as timestamp(6)) as "changed_at",
        place as __auto_cdc_locator,
        cast('gone' as varchar) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select __auto_cdc_locator from shop."customers__auto_cdc_gone_c0ffee000002"
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born."id" as integer) as "id",
        cast(row_born."name" as varchar) as "name",
        cast(row_born."note" as varchar) as "note",
        cast(row_born."operation" as varchar) as "operation",
        cast(row_born."changed_at" as timestamp(6)) as "changed_at",
        coalesce(cast(length(cast(row_born."id" as varchar)) as varchar) || ':' || cast(row_born."id" as varchar), '-') || coalesce(cast(length(cast(row_born."name" as varchar)) as varchar) || ':' || cast(row_born."name" as varchar), '-') || coalesce(cast(length(cast(row_born."note" as varchar)) as varchar) || ':' || cast(row_born."note" as varchar), '-') || coalesce(cast(length(cast(row_born."operation" as varchar)) as varchar) || ':' || cast(row_born."operation" as varchar), '-') || coalesce(cast(length(cast(row_born."changed_at" as varchar)) as varchar) || ':' || cast(row_born."changed_at" as varchar), '-') as __auto_cdc_locator,
        cast('born' as varchar) as __auto_cdc_action,
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
    ) as row_born
) as changes
where __auto_cdc_action = 'born'
) as src
on coalesce(cast(length(cast(tgt."id" as varchar)) as varchar) || ':' || cast(tgt."id" as varchar), '-') || coalesce(cast(length(cast(tgt."name" as varchar)) as varchar) || ':' || cast(tgt."name" as varchar), '-') || coalesce(cast(length(cast(tgt."note" as varchar)) as varchar) || ':' || cast(tgt."note" as varchar), '-') || coalesce(cast(length(cast(tgt."operation" as varchar)) as varchar) || ':' || cast(tgt."operation" as varchar), '-') || coalesce(cast(length(cast(tgt."changed_at" as varchar)) as varchar) || ':' || cast(tgt."changed_at" as varchar), '-') = src.__auto_cdc_locator
when matched and src.__auto_cdc_action = 'gone' then delete
when not matched and src.__auto_cdc_action = 'born' then insert ("id", "name", "note", "operation", "changed_at") values (src."id", src."name", src."note", src."operation", src."changed_at");

-- note that all is written  (only if num_differing_rows)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.\"customers__auto_cdc_stage_c0ffee000002\"\n-- auto_cdc: next statement\ndrop table if exists shop.\"customers__auto_cdc_gone_c0ffee000002\"\n-- auto_cdc: next statement\ndrop table if exists shop.\"customers__auto_cdc_events_c0ffee000002\"", "asks": "", "otherwise": [], "appends": false}'
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

-- drop what told the columns
drop table if exists shop."customers__auto_cdc_described";
