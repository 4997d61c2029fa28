-- auto_cdc: model customers: build the target

-- stage the model's rows
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
select
    src."id" as "id",
    src."name" as "name",
    src."note" as "note",
    src."operation" as "operation",
    src."changed_at" as "changed_at",
    src."changed_at" as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src
) as src;

-- find the newest rows of each key
drop table if exists shop."customers__auto_cdc_winners_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_winners_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
select
    stg."id",
    max(stg.__auto_cdc_sequence) as __auto_cdc_latest,
    true as __auto_cdc_is_new,
    false as __auto_cdc_same,
    0 as __auto_cdc_copies
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
group by stg."id"
) as src;

-- check the rows
with read as (
    select
        count(*) as num_read_rows,
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when stg.__auto_cdc_sequence is null then 'id=' || coalesce(cast(stg."id" as varchar(65535)), 'null') end) as null_sequence_example
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
    "id" integer,
    __auto_cdc_sequence timestamp without time zone,
    __auto_cdc_kind varchar(65535),
    __auto_cdc_control varchar(65535)
) compound sortkey ("id");

-- create the companion
insert into shop.customers__auto_cdc ("id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select whose."id", whose.__auto_cdc_sequence, whose.__auto_cdc_kind, whose.__auto_cdc_control from (
select
    cast(null as integer) as "id",
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
select stg."id", stg."name", stg."note", stg."operation", stg."changed_at"
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
join shop."customers__auto_cdc_winners_c0ffee000002" as won on coalesce(cast(length(cast(won."id" as varchar(65535))) as varchar(65535)) || ':' || cast(won."id" as varchar(65535)), '-') = coalesce(cast(length(cast(stg."id" as varchar(65535))) as varchar(65535)) || ':' || cast(stg."id" as varchar(65535)), '-') and won.__auto_cdc_latest = stg.__auto_cdc_sequence
where won.__auto_cdc_is_new;

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
insert into shop.customers__auto_cdc ("id", __auto_cdc_sequence, __auto_cdc_kind, __auto_cdc_control)
select told."id", told.__auto_cdc_sequence, told.__auto_cdc_kind, told.__auto_cdc_control from (
select
    cast(null as integer) as "id",
    cast(null as timestamp without time zone) as __auto_cdc_sequence,
    'control' as __auto_cdc_kind,
    '{"change_data_feed": false, "engine": "Redshift", "format": 1, "key_types": ["integer"], "keys": ["id"], "materialized": "replace_using", "once": [], "scd_type": "1", "sequence_type": "timestamp without time zone", "system_type": "", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn;

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- free the working tables
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
drop table if exists shop."customers__auto_cdc_winners_c0ffee000002";

-- auto_cdc: model customers: replace the rows of the incoming keys

-- stage the model's rows
drop table if exists shop."customers__auto_cdc_stage_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_stage_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
select
    src."id" as "id",
    src."name" as "name",
    src."note" as "note",
    src."operation" as "operation",
    src."changed_at" as "changed_at",
    src."changed_at" as __auto_cdc_sequence,
    'upsert' as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at
    from shop.customer_changes
) as src
) as src;

-- find the rows of the keys
drop table if exists shop."customers__auto_cdc_stored_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_stored_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
with incoming as (
    select distinct "id" from shop."customers__auto_cdc_stage_c0ffee000002"
)
select tgt."id", tgt."changed_at" as __auto_cdc_sequence, coalesce(cast(length(cast(tgt."id" as varchar(65535))) as varchar(65535)) || ':' || cast(tgt."id" as varchar(65535)), '-') as __auto_cdc_locator
from shop.customers as tgt join incoming as inc on coalesce(cast(length(cast(inc."id" as varchar(65535))) as varchar(65535)) || ':' || cast(inc."id" as varchar(65535)), '-') = coalesce(cast(length(cast(tgt."id" as varchar(65535))) as varchar(65535)) || ':' || cast(tgt."id" as varchar(65535)), '-')
) as src;

-- find the newest rows of each key
drop table if exists shop."customers__auto_cdc_winners_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_winners_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
with stored as (
    select "id", max(__auto_cdc_sequence) as __auto_cdc_latest
    from shop."customers__auto_cdc_stored_c0ffee000002" group by "id"
)
select
    stg."id",
    max(stg.__auto_cdc_sequence) as __auto_cdc_latest,
    (max(stored.__auto_cdc_latest) is null or max(stg.__auto_cdc_sequence) > max(stored.__auto_cdc_latest)) as __auto_cdc_is_new,
    coalesce(max(stg.__auto_cdc_sequence) = max(stored.__auto_cdc_latest), false) as __auto_cdc_same,
    count(case when stg.__auto_cdc_sequence < stored.__auto_cdc_latest then 1 end) as __auto_cdc_copies
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
left join stored on coalesce(cast(length(cast(stored."id" as varchar(65535))) as varchar(65535)) || ':' || cast(stored."id" as varchar(65535)), '-') = coalesce(cast(length(cast(stg."id" as varchar(65535))) as varchar(65535)) || ':' || cast(stg."id" as varchar(65535)), '-')
group by stg."id"
) as src;

-- check the rows
with read as (
    select
        count(*) as num_read_rows,
        count(case when stg.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when stg.__auto_cdc_sequence is null then 'id=' || coalesce(cast(stg."id" as varchar(65535)), 'null') end) as null_sequence_example
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
drop table if exists shop."customers__auto_cdc_events_c0ffee000002"
-- auto_cdc: next statement
create table shop."customers__auto_cdc_events_c0ffee000002" as
select src.*, cast(row_number() over () as varchar(20)) as __auto_cdc_row
from (
with both_sides as (
    select "id", "name", "note", "operation", "changed_at", 1 as __auto_cdc_weight from (
        select stg."id", stg."name", stg."note", stg."operation", stg."changed_at"
        from shop."customers__auto_cdc_stage_c0ffee000002" as stg
        join shop."customers__auto_cdc_winners_c0ffee000002" as won on coalesce(cast(length(cast(won."id" as varchar(65535))) as varchar(65535)) || ':' || cast(won."id" as varchar(65535)), '-') = coalesce(cast(length(cast(stg."id" as varchar(65535))) as varchar(65535)) || ':' || cast(stg."id" as varchar(65535)), '-') and won.__auto_cdc_latest = stg.__auto_cdc_sequence
        where won.__auto_cdc_same
    ) as incoming
    union all
    select "id", "name", "note", "operation", "changed_at", -1 as __auto_cdc_weight from (
        select tgt."id", tgt."name", tgt."note", tgt."operation", tgt."changed_at"
        from shop.customers as tgt
        join shop."customers__auto_cdc_winners_c0ffee000002" as won on coalesce(cast(length(cast(won."id" as varchar(65535))) as varchar(65535)) || ':' || cast(won."id" as varchar(65535)), '-') = coalesce(cast(length(cast(tgt."id" as varchar(65535))) as varchar(65535)) || ':' || cast(tgt."id" as varchar(65535)), '-')
        where won.__auto_cdc_same
    ) as stored
)
select "id", sum(__auto_cdc_weight) as __auto_cdc_copies from both_sides
group by "id", "name", "note", "operation", "changed_at" having sum(__auto_cdc_weight) <> 0
) as src;

-- count the differences  (only if num_equal_keys)
select
    count(*) as num_differing_rows,
    coalesce(sum(case when __auto_cdc_copies > 0 then __auto_cdc_copies end), 0) as num_upserted_rows,
    coalesce(-sum(case when __auto_cdc_copies < 0 then __auto_cdc_copies end), 0) as num_deleted_rows
from shop."customers__auto_cdc_events_c0ffee000002";

-- write down what becomes of shop.customers  (only if num_differing_rows or num_newer_keys)
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
select past.__auto_cdc_locator
from shop."customers__auto_cdc_stored_c0ffee000002" as past
join (
    select distinct "id" from shop."customers__auto_cdc_events_c0ffee000002"
) as dif on coalesce(cast(length(cast(dif."id" as varchar(65535))) as varchar(65535)) || ':' || cast(dif."id" as varchar(65535)), '-') = coalesce(cast(length(cast(past."id" as varchar(65535))) as varchar(65535)) || ':' || cast(past."id" as varchar(65535)), '-')
) as gone(place) where place is not null
union all
-- only if num_differing_rows
select
    cast(row_born."id" as integer) as "id",
    cast(row_born."name" as character varying(200)) as "name",
    cast(row_born."note" as character varying(200)) as "note",
    cast(row_born."operation" as character varying(200)) as "operation",
    cast(row_born."changed_at" as timestamp without time zone) as "changed_at",
    coalesce(cast(length(cast(row_born."id" as varchar(65535))) as varchar(65535)) || ':' || cast(row_born."id" as varchar(65535)), '-') as __auto_cdc_locator,
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
select stg."id", stg."name", stg."note", stg."operation", stg."changed_at"
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
join shop."customers__auto_cdc_winners_c0ffee000002" as won on coalesce(cast(length(cast(won."id" as varchar(65535))) as varchar(65535)) || ':' || cast(won."id" as varchar(65535)), '-') = coalesce(cast(length(cast(stg."id" as varchar(65535))) as varchar(65535)) || ':' || cast(stg."id" as varchar(65535)), '-') and won.__auto_cdc_latest = stg.__auto_cdc_sequence
join (
    select distinct "id" from shop."customers__auto_cdc_events_c0ffee000002"
) as dif on coalesce(cast(length(cast(dif."id" as varchar(65535))) as varchar(65535)) || ':' || cast(dif."id" as varchar(65535)), '-') = coalesce(cast(length(cast(stg."id" as varchar(65535))) as varchar(65535)) || ':' || cast(stg."id" as varchar(65535)), '-')
where won.__auto_cdc_same
) as born("id", "name", "note", "operation", "changed_at")
) as row_born
union all
-- only if num_newer_keys
select
    cast(null as integer) as "id",
    cast(null as character varying(200)) as "name",
    cast(null as character varying(200)) as "note",
    cast(null as character varying(200)) as "operation",
    cast(null as timestamp without time zone) as "changed_at",
    place as __auto_cdc_locator,
    cast('gone' as varchar(65535)) as __auto_cdc_action,
    2 as __auto_cdc_step
from (
select past.__auto_cdc_locator
from shop."customers__auto_cdc_stored_c0ffee000002" as past
join shop."customers__auto_cdc_winners_c0ffee000002" as won on coalesce(cast(length(cast(won."id" as varchar(65535))) as varchar(65535)) || ':' || cast(won."id" as varchar(65535)), '-') = coalesce(cast(length(cast(past."id" as varchar(65535))) as varchar(65535)) || ':' || cast(past."id" as varchar(65535)), '-')
where won.__auto_cdc_is_new
) as gone(place) where place is not null
union all
-- only if num_newer_keys
select
    cast(row_born."id" as integer) as "id",
    cast(row_born."name" as character varying(200)) as "name",
    cast(row_born."note" as character varying(200)) as "note",
    cast(row_born."operation" as character varying(200)) as "operation",
    cast(row_born."changed_at" as timestamp without time zone) as "changed_at",
    coalesce(cast(length(cast(row_born."id" as varchar(65535))) as varchar(65535)) || ':' || cast(row_born."id" as varchar(65535)), '-') as __auto_cdc_locator,
    cast('born' as varchar(65535)) as __auto_cdc_action,
    3 as __auto_cdc_step
from (
select
    born."id",
    born."name",
    born."note",
    born."operation",
    born."changed_at"
from (
select stg."id", stg."name", stg."note", stg."operation", stg."changed_at"
from shop."customers__auto_cdc_stage_c0ffee000002" as stg
join shop."customers__auto_cdc_winners_c0ffee000002" as won on coalesce(cast(length(cast(won."id" as varchar(65535))) as varchar(65535)) || ':' || cast(won."id" as varchar(65535)), '-') = coalesce(cast(length(cast(stg."id" as varchar(65535))) as varchar(65535)) || ':' || cast(stg."id" as varchar(65535)), '-') and won.__auto_cdc_latest = stg.__auto_cdc_sequence
where won.__auto_cdc_is_new
) as born("id", "name", "note", "operation", "changed_at")
) as row_born;

-- count what is written  (only if num_differing_rows or num_newer_keys)
select
    count(case when __auto_cdc_step = 2 and __auto_cdc_action = 'gone' then 1 end) as num_deleted_rows,
    count(case when __auto_cdc_step = 3 and __auto_cdc_action = 'born' then 1 end) as num_upserted_rows
from shop."customers__auto_cdc_target_changes_c0ffee000002";

-- write down what is left to do  (only if num_differing_rows or num_newer_keys)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "delete from shop.customers where coalesce(cast(length(cast(customers.\\"id\\" as varchar(65535))) as varchar(65535)) || '':'' || cast(customers.\\"id\\" as varchar(65535)), ''-'') in (\\nselect __auto_cdc_locator from shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\" where __auto_cdc_action in (''gone'', ''born'')\\n)"], ["change shop.customers", "insert into shop.customers (\\"id\\", \\"name\\", \\"note\\", \\"operation\\", \\"changed_at\\")\\nselect \\"id\\", \\"name\\", \\"note\\", \\"operation\\", \\"changed_at\\" from shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\" where __auto_cdc_action = ''born''"], ["note that all is written", "update shop.customers__auto_cdc set __auto_cdc_control = ''c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stage_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_stored_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_winners_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_events_c0ffee000002\\\\\\\\\\"\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.\\\\\\\\\\"customers__auto_cdc_target_changes_c0ffee000002\\\\\\\\\\"\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}''\\nwhere __auto_cdc_kind = ''journal'' and substr(__auto_cdc_control, 1, 13) = ''c0ffee000002 ''"]], "frees": "drop table if exists shop.\\"customers__auto_cdc_stage_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_stored_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_winners_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_events_c0ffee000002\\"\\n-- auto_cdc: next statement\\ndrop table if exists shop.\\"customers__auto_cdc_target_changes_c0ffee000002\\"", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_differing_rows or num_newer_keys)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_differing_rows or num_newer_keys)
delete from shop.customers where coalesce(cast(length(cast(customers."id" as varchar(65535))) as varchar(65535)) || ':' || cast(customers."id" as varchar(65535)), '-') in (
select __auto_cdc_locator from shop."customers__auto_cdc_target_changes_c0ffee000002" where __auto_cdc_action in ('gone', 'born')
);

-- change shop.customers  (only if num_differing_rows or num_newer_keys)
insert into shop.customers ("id", "name", "note", "operation", "changed_at")
select "id", "name", "note", "operation", "changed_at" from shop."customers__auto_cdc_target_changes_c0ffee000002" where __auto_cdc_action = 'born';

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
