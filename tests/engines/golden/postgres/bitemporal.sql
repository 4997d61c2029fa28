-- auto_cdc: model customers: build the target

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
select
    src."id" as "id",
    src."name" as "name",
    src."note" as "note",
    src."changed_at" as __auto_cdc_sequence,
    src."known_at" as __auto_cdc_system_sequence,
    case when (
    operation = 'D'
) then 'delete' else 'upsert' end as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at, known_at
    from shop.customer_changes
) as src;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    execute 'analyze pg_temp."customers__auto_cdc_stage" (' || (
        select string_agg(quote_ident(attname), ', ') from pg_attribute
        where attrelid = 'pg_temp."customers__auto_cdc_stage"'::regclass and attnum > 0
            and (attname = any (array['id']) or starts_with(attname, '__auto_cdc_'))
    ) || ')';
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- check the events
with counted as (
    select
        count(*) as num_read_rows,
        0 as num_late_rows
    from pg_temp."customers__auto_cdc_stage" as stg
),
found as (
    select
        count(*) as num_new_events,
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar), 'null') end) as null_sequence_example,
        count(case when evt.__auto_cdc_system_sequence is null then 1 end) as null_system_sequence,
        min(case when evt.__auto_cdc_system_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar), 'null') end) as null_system_sequence_example,
        count(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
    from pg_temp."customers__auto_cdc_stage" as evt
),
repeated as (
    select "id", __auto_cdc_sequence, __auto_cdc_system_sequence from pg_temp."customers__auto_cdc_stage" as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
),
variants as (
    select
        evt."id",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_system_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt."name" collate "C" end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt."note" collate "C" end as __auto_cdc_written_1,
        count(*) as __auto_cdc_copies
    from pg_temp."customers__auto_cdc_stage" as evt
    join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
    group by 1, 2, 3, 4, 5, 6
),
places as (
    select var."id", var.__auto_cdc_sequence, var.__auto_cdc_system_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, true as __auto_cdc_decides
    from variants as var group by var."id", var.__auto_cdc_sequence, var.__auto_cdc_system_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places."id" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) || ', known at ' || cast(places.__auto_cdc_system_sequence as varchar) end) as num_tied_rows_example
    from places
)
select *
from counted
cross join found
cross join ties;

-- number the touched keys
create temporary table pg_temp."customers__auto_cdc_touched" on commit drop as
select "id", min(__auto_cdc_system_sequence) as __auto_cdc_first, row_number() over (order by "id") as __auto_cdc_owner
from pg_temp."customers__auto_cdc_stage" group by "id";
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_touched";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- place the events on both axes
create temporary table pg_temp."customers__auto_cdc_placed" on commit drop as
with repeated as (
    select "id", __auto_cdc_sequence, __auto_cdc_system_sequence from pg_temp."customers__auto_cdc_stage" as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
),
copies as (
    select locator from (
        select evt.ctid as locator,
            row_number() over (partition by evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_system_sequence order by evt.ctid) as place
        from pg_temp."customers__auto_cdc_stage" as evt
        join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
    ) as ranked where place > 1
),
lined as (
    select evt.ctid as event, touched.__auto_cdc_owner as line, evt.__auto_cdc_kind as kind,
        evt.__auto_cdc_sequence as sequence, evt.__auto_cdc_system_sequence as system_at, false as is_base, false as starts
    from pg_temp."customers__auto_cdc_stage" as evt
    join pg_temp."customers__auto_cdc_touched" as touched on touched."id" = evt."id"
    where evt.ctid not in (select locator from copies)
),
counted as (
    select *, count(*) over (partition by line) = 1 as is_lone from lined
),
ranked as (
    select *, dense_rank() over (partition by line order by sequence) as place,
        case when is_base then 0 else dense_rank() over (partition by line, is_base order by system_at) end as moment
    from counted where not is_lone
),
numbered as (
    select *, row_number() over (partition by line order by place, moment) as number,
        1 + max(moment) over (partition by line) as moments,
        lead(moment) over (partition by line, place order by moment) as replaced
    from ranked
),
places as (
    select line, place, max(number) as last_number, max(moment) as last_moment, min(moment) as first_moment
    from numbered group by line, place
),
facing as (
    select line, place,
        lag(last_number) over (partition by line order by place) as number_before, lag(last_moment) over (partition by line order by place) as moment_before,
        lead(last_number) over (partition by line order by place) as number_after, lead(last_moment) over (partition by line order by place) as moment_after,
        min(first_moment) over (partition by line order by place rows between 1 following and unbounded following) as first_after
    from places
)
select event, evt.line, kind, sequence, system_at, is_base, starts, is_lone, evt.place, moment, number, moments,
    coalesce(replaced, moments) as until, number_before as before,
    case when moment_after <= moment then number_after end as after,
    not (number_before is null or moment_before <= moment) as seeks_before,
    not (number_after is null or moment_after <= moment or first_after > moment) as seeks_after
from numbered as evt join facing on facing.line = evt.line and facing.place = evt.place
union all
select event, line, kind, sequence, system_at, is_base, starts, is_lone, 1, 1, 1, 2, 2, null, null, false, false
from counted where is_lone;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_placed";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- list events by blocks of time
create temporary table pg_temp."customers__auto_cdc_event_blocks" on commit drop as
with sizes as (
    select 0 as level, 1 as size
    union all select 1, 2
    union all select 2, 4
    union all select 3, 8
    union all select 4, 16
    union all select 5, 32
    union all select 6, 64
    union all select 7, 128
    union all select 8, 256
    union all select 9, 512
    union all select 10, 1024
    union all select 11, 2048
    union all select 12, 4096
    union all select 13, 8192
    union all select 14, 16384
    union all select 15, 32768
    union all select 16, 65536
    union all select 17, 131072
    union all select 18, 262144
    union all select 19, 524288
    union all select 20, 1048576
    union all select 21, 2097152
    union all select 22, 4194304
    union all select 23, 8388608
    union all select 24, 16777216
    union all select 25, 33554432
    union all select 26, 67108864
    union all select 27, 134217728
    union all select 28, 268435456
    union all select 29, 536870912
    union all select 30, 1073741824
    union all select 31, 2147483648
),
halved as (
    select line, number, place, level, (moment + size - 1) >> level as low, (until) >> level as high
    from (
    select line, number, place, moment, until from pg_temp."customers__auto_cdc_placed" where line in (select line from pg_temp."customers__auto_cdc_placed" where seeks_before or seeks_after)
    ) as spans join sizes on size <= until
)
select line, level, low as block, place, number, 1 as is_span from halved where low < high and low % 2 = 1
union all
select line, level, high - 1, place, number, 1 from halved where low < high and high % 2 = 1
union all
select line, level, (moment) >> level, place, number, 0 from (
select line, number, place, moment, moments from pg_temp."customers__auto_cdc_placed" where seeks_before or seeks_after
) as points join sizes on size <= moments;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_event_blocks";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- find the events beside each event
create temporary table pg_temp."customers__auto_cdc_arrivals" on commit drop as
with seen as (
    select line, number, is_span,
        max(case when is_span = 1 then number end) over (partition by line, level, block order by place, is_span rows between unbounded preceding and current row) as before,
        min(case when is_span = 1 then number end) over (partition by line, level, block order by place desc, is_span rows between unbounded preceding and current row) as after
    from pg_temp."customers__auto_cdc_event_blocks"
),
nearest as (
    select line, number, max(before) as before, min(after) as after
    from seen where is_span = 0 group by line, number
),
beside as (
    select evt.line, evt.number, evt.place, evt.moment,
        case when evt.seeks_before then nearest.before else evt.before end as before,
        case when evt.seeks_after then nearest.after else evt.after end as after
    from pg_temp."customers__auto_cdc_placed" as evt
    left join nearest on nearest.line = evt.line and nearest.number = evt.number
    where not evt.is_lone
)
select beside.*, coalesce(next.place, 2147483647) as after_place
from beside
left join pg_temp."customers__auto_cdc_placed" as next on next.line = beside.line and next.number = beside.after;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_arrivals";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- find where versions start and end
create temporary table pg_temp."customers__auto_cdc_turns" on commit drop as
with meeting as (
    select distinct line, place, moment, previous, present from (
        select line, place, moment, before as previous, number as present from pg_temp."customers__auto_cdc_arrivals"
        union all
        select line, after_place, moment, number, after from pg_temp."customers__auto_cdc_arrivals"
    ) as every_row
),
pairs as (
    select met.line, met.place, met.moment, previous.event as previous_event, present.event as present_event,
        previous.kind as previous_kind, present.kind as present_kind,
        coalesce(previous.is_base and present.is_base, false) as is_base, coalesce(present.starts, false) as starts
    from meeting as met
    left join pg_temp."customers__auto_cdc_placed" as previous on previous.line = met.line and previous.number = met.previous
    left join pg_temp."customers__auto_cdc_placed" as present on present.line = met.line and present.number = met.present
),
differing as (
    select pair.previous_event, pair.present_event
    from (
        select distinct previous_event, present_event from pairs where previous_kind = 'upsert' and present_kind = 'upsert' and not is_base
    ) as pair
    join (select ctid as __auto_cdc_locator, "name", "note" from pg_temp."customers__auto_cdc_stage") as previous on previous.__auto_cdc_locator = pair.previous_event
    left join (select ctid as __auto_cdc_locator, "name", "note" from pg_temp."customers__auto_cdc_stage") as present on present.__auto_cdc_locator = pair.present_event
    where previous."name" collate "C" is distinct from present."name" collate "C" or previous."note" collate "C" is distinct from present."note" collate "C"
),
marked as (
    select pair.*,
        coalesce(present_kind = 'upsert' and (
            previous_kind is null or previous_kind = 'delete'
            or case when is_base then starts else differing.present_event is not null end
        ), false) as opens,
        coalesce(previous_kind = 'upsert' and (present_kind is null or present_kind = 'delete'), false) as closes
    from pairs as pair
    left join differing
        on differing.previous_event = pair.previous_event and differing.present_event = pair.present_event
)
select line, place, moment, previous_event, opens, opens or closes as is_wall,
    row_number() over (partition by line order by place, moment) as number,
    coalesce(lag(opens) over (partition by line, place order by moment), false) as did_open,
    coalesce(lag(opens or closes) over (partition by line, place order by moment), false) as was_wall,
    coalesce(lead(moment) over (partition by line, place order by moment), 1 + max(moment) over (partition by line)) as until
from marked;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_turns";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- look for the walls beside each event
create temporary table pg_temp."customers__auto_cdc_sights" on commit drop as
with places as (
    select line, place, max(case when is_wall then number end) as wall from pg_temp."customers__auto_cdc_turns" group by line, place
),
facing as (
    select line, place, max(wall) over (partition by line order by place rows between unbounded preceding and 1 preceding) as before,
        min(wall) over (partition by line order by place rows between 1 following and unbounded following) as after
    from places
)
select evt.line, evt.moment, own.number as own, next.number as next, own.place as own_place, next.place as next_place,
    lefts.before as left_wall, lefts.before is not null and not (wall_left.moment <= evt.moment and evt.moment < wall_left.until) as seeks_left,
    rights.after as right_wall, rights.after is not null and not (wall_right.moment <= evt.moment and evt.moment < wall_right.until) as seeks_right
from pg_temp."customers__auto_cdc_arrivals" as evt
join pg_temp."customers__auto_cdc_turns" as own on own.line = evt.line and own.place = evt.place and own.moment = evt.moment
join pg_temp."customers__auto_cdc_turns" as next on next.line = evt.line and next.place = evt.after_place and next.moment = evt.moment
join facing as lefts on lefts.line = evt.line and lefts.place = evt.place
join facing as rights on rights.line = evt.line and rights.place = evt.after_place
left join pg_temp."customers__auto_cdc_turns" as wall_left on wall_left.line = evt.line and wall_left.number = lefts.before
left join pg_temp."customers__auto_cdc_turns" as wall_right on wall_right.line = evt.line and wall_right.number = rights.after
where own.is_wall or own.was_wall or next.is_wall or next.was_wall;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_sights";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- list walls by blocks of time
create temporary table pg_temp."customers__auto_cdc_wall_blocks" on commit drop as
with sizes as (
    select 0 as level, 1 as size
    union all select 1, 2
    union all select 2, 4
    union all select 3, 8
    union all select 4, 16
    union all select 5, 32
    union all select 6, 64
    union all select 7, 128
    union all select 8, 256
    union all select 9, 512
    union all select 10, 1024
    union all select 11, 2048
    union all select 12, 4096
    union all select 13, 8192
    union all select 14, 16384
    union all select 15, 32768
    union all select 16, 65536
    union all select 17, 131072
    union all select 18, 262144
    union all select 19, 524288
    union all select 20, 1048576
    union all select 21, 2097152
    union all select 22, 4194304
    union all select 23, 8388608
    union all select 24, 16777216
    union all select 25, 33554432
    union all select 26, 67108864
    union all select 27, 134217728
    union all select 28, 268435456
    union all select 29, 536870912
    union all select 30, 1073741824
    union all select 31, 2147483648
),
halved as (
    select line, number, place, level, (moment + size - 1) >> level as low, (until) >> level as high
    from (
    select line, number, place, moment, until from pg_temp."customers__auto_cdc_turns"
    where is_wall and line in (select line from pg_temp."customers__auto_cdc_sights" where seeks_left or seeks_right)
    ) as spans join sizes on size <= until
)
select line, level, low as block, place, number, 1 as is_span from halved where low < high and low % 2 = 1
union all
select line, level, high - 1, place, number, 1 from halved where low < high and high % 2 = 1
union all
select line, level, (moment) >> level, place, number, 0 from (
select turn.line, turn.number, turn.place, turn.moment, turn.moments
from (select *, max(until) over (partition by line) as moments from pg_temp."customers__auto_cdc_turns") as turn
join (
    select distinct line, number from (
        select line, own as number from pg_temp."customers__auto_cdc_sights" where seeks_left
        union all
        select line, next from pg_temp."customers__auto_cdc_sights" where seeks_right
    ) as every_row
) as seeking on seeking.line = turn.line and seeking.number = turn.number
) as points join sizes on size <= moments;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_wall_blocks";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- find the walls beside each wall
create temporary table pg_temp."customers__auto_cdc_wall_neighbours" on commit drop as
with seen as (
    select line, number, is_span,
        max(case when is_span = 1 then number end) over (partition by line, level, block order by place, is_span rows between unbounded preceding and current row) as before,
        min(case when is_span = 1 then number end) over (partition by line, level, block order by place desc, is_span rows between unbounded preceding and current row) as after
    from pg_temp."customers__auto_cdc_wall_blocks"
)
select line, number, max(before) as before, min(after) as after
from seen where is_span = 0 group by line, number;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_wall_neighbours";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- cut into versions
create temporary table pg_temp."customers__auto_cdc_timeline" on commit drop as
with beheld as (
    select evt.line, evt.moment, evt.own, evt.next, evt.own_place, evt.next_place,
        own.opens as own_opens, next.opens as next_opens, own.is_wall as own_is_wall, next.is_wall as next_is_wall,
        case when evt.seeks_left then lefts.before else evt.left_wall end as left_wall,
        case when evt.seeks_right then rights.after else evt.right_wall end as right_wall
    from pg_temp."customers__auto_cdc_sights" as evt
    join pg_temp."customers__auto_cdc_turns" as own on own.line = evt.line and own.number = evt.own
    join pg_temp."customers__auto_cdc_turns" as next on next.line = evt.line and next.number = evt.next
    left join pg_temp."customers__auto_cdc_wall_neighbours" as lefts on lefts.line = evt.line and lefts.number = evt.own
    left join pg_temp."customers__auto_cdc_wall_neighbours" as rights on rights.line = evt.line and rights.number = evt.next
),
pieces as (
    select distinct line, place, moment, wall from (
        select line, own_place as place, moment, case when next_is_wall then next else right_wall end as wall
        from beheld where own_opens
        union all
        select line, next_place, moment, right_wall from beheld where next_opens
        union all
        select evt.line, wall.place, evt.moment,
            case when own_is_wall then own when next_is_wall then next else right_wall end
        from beheld as evt join pg_temp."customers__auto_cdc_turns" as wall on wall.line = evt.line and wall.number = evt.left_wall
        where wall.opens
        union all
        select line, place, moment, null from pg_temp."customers__auto_cdc_turns" where did_open and not opens
    ) as every_row
),
bordered as (
    select pieces.line, pieces.place, pieces.moment, wall.place as end_place, wall.previous_event as event,
        lag(wall.place) over (partition by pieces.line, pieces.place order by pieces.moment) as end_place_before,
        lag(wall.previous_event) over (partition by pieces.line, pieces.place order by pieces.moment) as event_before
    from pieces
    left join pg_temp."customers__auto_cdc_turns" as wall on wall.line = pieces.line and wall.number = pieces.wall
),
changed as (
    select pair.previous_event, pair.present_event
    from (
        select distinct event_before as previous_event, event as present_event from bordered where end_place = end_place_before and event <> event_before
    ) as pair
    join (select ctid as __auto_cdc_locator, "name", "note" from pg_temp."customers__auto_cdc_stage") as previous on previous.__auto_cdc_locator = pair.previous_event
    left join (select ctid as __auto_cdc_locator, "name", "note" from pg_temp."customers__auto_cdc_stage") as present on present.__auto_cdc_locator = pair.present_event
    where previous."name" collate "C" is distinct from present."name" collate "C" or previous."note" collate "C" is distinct from present."note" collate "C"
),
begun as (
    select bordered.* from bordered
    left join changed on changed.previous_event = bordered.event_before and changed.present_event = bordered.event
    where event is null or event_before is null or end_place <> end_place_before or changed.present_event is not null
),
spanning as (
    select *, lead(moment) over (partition by line, place order by moment) as until from begun
),
places as (
    select line, place, min(sequence) as sequence from pg_temp."customers__auto_cdc_placed" group by line, place
),
moments as (
    select line, moment, min(system_at) as system_at from pg_temp."customers__auto_cdc_placed" where moment > 0 group by line, moment
),
lone as (
    select *, cast(null as timestamp without time zone) as no_end, cast(null as timestamp without time zone) as no_system_end from pg_temp."customers__auto_cdc_placed" where is_lone and kind = 'upsert'
)
select line, event, 1 as moment, sequence as start_at, no_end as end_at, system_at as system_start_at,
    no_system_end as system_end_at
from lone
union all
select spanning.line, spanning.event, spanning.moment, started.sequence, ended.sequence, since.system_at, till.system_at
from spanning
join places as started on started.line = spanning.line and started.place = spanning.place
left join places as ended on ended.line = spanning.line and ended.place = spanning.end_place
left join moments as since on since.line = spanning.line and since.moment = spanning.moment
left join moments as till on till.line = spanning.line and till.moment = spanning.until
where spanning.event is not null;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_timeline";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- create the companion
create table shop.customers__auto_cdc with (fillfactor = 90) as
with rows as (
    select
        cast(null as integer) as "id",
        cast(null as timestamp without time zone) as __auto_cdc_sequence,
        cast(null as timestamp without time zone) as __auto_cdc_system_sequence,
        'control' as __auto_cdc_kind,
        cast(null as text) as "name",
        cast(null as text) as "note",
        '{"change_data_feed": false, "engine": "PostgreSQL", "format": 1, "key_types": ["integer"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "bitemporal", "sequence_type": "timestamp without time zone", "system_type": "timestamp without time zone", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
    union all
    select more.*, null as __auto_cdc_control from (
    with repeated as (
        select "id", __auto_cdc_sequence, __auto_cdc_system_sequence from pg_temp."customers__auto_cdc_stage" as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
    ),
    copies as (
        select locator from (
            select evt.ctid as locator,
                row_number() over (partition by evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_system_sequence order by evt.ctid) as place
            from pg_temp."customers__auto_cdc_stage" as evt
            join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
        ) as ranked where place > 1
    )
    select
        evt."id",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_system_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt."name" end as "name",
        case when evt.__auto_cdc_kind = 'upsert' then evt."note" end as "note"
    from pg_temp."customers__auto_cdc_stage" as evt
    where evt.ctid not in (select locator from copies)
    ) as more
)
select
    cast("id" as integer) as "id",
    cast(__auto_cdc_sequence as timestamp without time zone) as __auto_cdc_sequence,
    cast(__auto_cdc_system_sequence as timestamp without time zone) as __auto_cdc_system_sequence,
    cast(__auto_cdc_kind as varchar) as __auto_cdc_kind,
    cast("name" as text) as "name",
    cast("note" as text) as "note",
    cast(__auto_cdc_control as varchar) as __auto_cdc_control
from rows;

-- make the companion quick to read
create index on shop.customers__auto_cdc ("id");
create index on shop.customers__auto_cdc (__auto_cdc_kind) where __auto_cdc_kind not in ('upsert', 'delete');
analyze shop.customers__auto_cdc;

-- create the target
create table shop.customers with (fillfactor = 90) as
with written as (
    select event, start_at, end_at, system_start_at, system_end_at
    from pg_temp."customers__auto_cdc_timeline"
    where event is not null
),
versions as (
    select evt."id", evt."name", evt."note", run.start_at as "__start_at", run.end_at as "__end_at", run.system_start_at as "__system_start_at", run.system_end_at as "__system_end_at"
    from pg_temp."customers__auto_cdc_stage" as evt
    join written as run on run.event = evt.ctid
)
select
    cast("id" as integer) as "id",
    cast("name" as text) as "name",
    cast("note" as text) as "note",
    cast("__start_at" as timestamp without time zone) as "__start_at",
    cast("__end_at" as timestamp without time zone) as "__end_at",
    cast("__system_start_at" as timestamp without time zone) as "__system_start_at",
    cast("__system_end_at" as timestamp without time zone) as "__system_end_at"
from versions;

-- auto_cdc: model customers: apply the new events

-- stage the model's rows
create temporary table pg_temp."customers__auto_cdc_stage" on commit drop as
select
    src."id" as "id",
    src."name" as "name",
    src."note" as "note",
    src."changed_at" as __auto_cdc_sequence,
    src."known_at" as __auto_cdc_system_sequence,
    case when (
    operation = 'D'
) then 'delete' else 'upsert' end as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at, known_at
    from shop.customer_changes
) as src;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    execute 'analyze pg_temp."customers__auto_cdc_stage" (' || (
        select string_agg(quote_ident(attname), ', ') from pg_attribute
        where attrelid = 'pg_temp."customers__auto_cdc_stage"'::regclass and attnum > 0
            and (attname = any (array['id']) or starts_with(attname, '__auto_cdc_'))
    ) || ')';
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- keep the events that are new
create temporary table pg_temp."customers__auto_cdc_events" on commit drop as
select
    __auto_cdc_around."id",
    __auto_cdc_around."name",
    __auto_cdc_around."note",
    __auto_cdc_around.__auto_cdc_sequence,
    __auto_cdc_around.__auto_cdc_system_sequence,
    __auto_cdc_around.__auto_cdc_kind
from pg_temp."customers__auto_cdc_stage" as __auto_cdc_around
where not exists (select 1 from shop.customers__auto_cdc as known where known."id" = __auto_cdc_around."id" and known.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_sequence and known.__auto_cdc_system_sequence = __auto_cdc_around.__auto_cdc_system_sequence);
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    execute 'analyze pg_temp."customers__auto_cdc_events" (' || (
        select string_agg(quote_ident(attname), ', ') from pg_attribute
        where attrelid = 'pg_temp."customers__auto_cdc_events"'::regclass and attnum > 0
            and (attname = any (array['id']) or starts_with(attname, '__auto_cdc_'))
    ) || ')';
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- check the events
with counted as (
    select
        count(*) as num_read_rows
    from pg_temp."customers__auto_cdc_stage" as stg
),
found as (
    select
        count(*) as num_new_events,
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar), 'null') end) as null_sequence_example,
        count(case when evt.__auto_cdc_system_sequence is null then 1 end) as null_system_sequence,
        min(case when evt.__auto_cdc_system_sequence is null then 'id=' || coalesce(cast(evt."id" as varchar), 'null') end) as null_system_sequence_example,
        count(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt."id" is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as varchar) end) as null_key_0_example
    from pg_temp."customers__auto_cdc_events" as evt
),
repeated as (
    select "id", __auto_cdc_sequence, __auto_cdc_system_sequence from pg_temp."customers__auto_cdc_events" as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
),
variants as (
    select
        evt."id",
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_system_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt."name" collate "C" end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt."note" collate "C" end as __auto_cdc_written_1,
        count(*) as __auto_cdc_copies
    from pg_temp."customers__auto_cdc_events" as evt
    join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
    group by 1, 2, 3, 4, 5, 6
),
places as (
    select var."id", var.__auto_cdc_sequence, var.__auto_cdc_system_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, true as __auto_cdc_decides
    from variants as var group by var."id", var.__auto_cdc_sequence, var.__auto_cdc_system_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places."id" as varchar), 'null') || ' at ' || cast(places.__auto_cdc_sequence as varchar) || ', known at ' || cast(places.__auto_cdc_system_sequence as varchar) end) as num_tied_rows_example
    from places
),
late as (
    select (
    select count(*) from pg_temp."customers__auto_cdc_events" as evt
    join (
        select cmp."id", max(cmp.__auto_cdc_sequence) as __auto_cdc_latest
        from shop.customers__auto_cdc as cmp
        join (select distinct "id" from pg_temp."customers__auto_cdc_events") as evt on evt."id" = cmp."id"
        group by cmp."id"
    ) as head on head."id" = evt."id" and evt.__auto_cdc_sequence < head.__auto_cdc_latest) as num_late_rows
)
select *
from counted
cross join found
cross join ties
cross join late;

-- number the touched keys  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_touched" on commit drop as
select "id", min(__auto_cdc_system_sequence) as __auto_cdc_first, row_number() over (order by "id") as __auto_cdc_owner
from pg_temp."customers__auto_cdc_events" group by "id";
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_touched";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- find the versions of the keys  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_stored" on commit drop as
select
    touched.__auto_cdc_owner as owner,
    tgt."__start_at" as start_at,
    tgt."__end_at" as end_at,
    tgt."__system_start_at" as system_start_at,
    tgt."__system_end_at" as system_end_at,
    tgt.ctid as locator,
    tgt."__system_start_at" < touched.__auto_cdc_first as is_base
from shop.customers as tgt
join pg_temp."customers__auto_cdc_touched" as touched on touched."id" = tgt."id"
where tgt."__system_end_at" is null or tgt."__system_end_at" >= touched.__auto_cdc_first;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_stored";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- find what the new events can change  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_parts" on commit drop as
with versions as (
    select owner, start_at, end_at, is_base, locator as tie from pg_temp."customers__auto_cdc_stored"
),
overlapping as (
    select owner, start_at, end_at, is_base,
        sum(case when earlier = 0 or (endless = 0 and start_at >= reach) then 1 else 0 end)
            over (partition by owner order by start_at, tie rows between unbounded preceding and current row) as number_of
    from (
        select *, count(*) over (partition by owner order by start_at, tie rows between unbounded preceding and 1 preceding) as earlier, max(end_at) over (partition by owner order by start_at, tie rows between unbounded preceding and 1 preceding) as reach,
            count(case when end_at is null then 1 end) over (partition by owner order by start_at, tie rows between unbounded preceding and 1 preceding) as endless
        from versions
    ) as reaching
),
blocks as (
    select owner, min(start_at) as start_at, max(case when is_base then 1 else 0 end) as is_base,
        case when count(end_at) = count(*) then max(end_at) end as end_at
    from overlapping group by owner, number_of
),
reached as (
    select owner, start_at, is_block,
        max(case when is_block = 1 then start_at end) over (partition by owner order by start_at, is_block rows between unbounded preceding and current row) as block_start_at,
        max(end_at) over (partition by owner order by start_at, is_block rows between unbounded preceding and current row) as block_end_at,
        count(case when is_block = 1 and end_at is null then 1 end) over (partition by owner order by start_at, is_block rows between unbounded preceding and current row) as endless,
        min(case when is_base = 1 then end_at end) over (partition by owner order by start_at desc, is_block rows between unbounded preceding and current row) as next_end_at
    from (
        select owner, start_at, end_at, is_base, 1 as is_block from blocks
        union all
        select distinct touched.__auto_cdc_owner, evt.__auto_cdc_sequence, cast(null as timestamp without time zone), 0, 0
        from pg_temp."customers__auto_cdc_events" as evt
        join pg_temp."customers__auto_cdc_touched" as touched on touched."id" = evt."id"
    ) as placed
),
ranges as (
    select evt.owner, evt.next_end_at as end_at, false as is_base, evt.start_at as tie,
        case when evt.block_start_at is not null and (evt.endless > 0 or evt.block_end_at >= evt.start_at)
            then evt.block_start_at else evt.start_at end as start_at
    from reached as evt where evt.is_block = 0
),
meeting as (
    select owner, start_at, end_at, is_base,
        sum(case when earlier = 0 or (endless = 0 and start_at > reach) then 1 else 0 end)
            over (partition by owner order by start_at, tie rows between unbounded preceding and current row) as number_of
    from (
        select *, count(*) over (partition by owner order by start_at, tie rows between unbounded preceding and 1 preceding) as earlier, max(end_at) over (partition by owner order by start_at, tie rows between unbounded preceding and 1 preceding) as reach,
            count(case when end_at is null then 1 end) over (partition by owner order by start_at, tie rows between unbounded preceding and 1 preceding) as endless
        from ranges
    ) as reaching
)
select owner, min(start_at) as start_at, case when count(end_at) = count(*) then max(end_at) end as end_at,
    row_number() over (order by owner, number_of) as line
from meeting group by owner, number_of;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_parts";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- line up the events of the touched parts  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_line" on commit drop as
with repeated as (
    select "id", __auto_cdc_sequence, __auto_cdc_system_sequence from pg_temp."customers__auto_cdc_events" as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
),
copies as (
    select locator from (
        select evt.ctid as locator,
            row_number() over (partition by evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_system_sequence order by evt.ctid) as place
        from pg_temp."customers__auto_cdc_events" as evt
        join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
    ) as ranked where place > 1
),
arrived as (
    select evt.ctid as locator, part.line, evt.__auto_cdc_sequence as sequence,
        evt.__auto_cdc_system_sequence as system_at
    from pg_temp."customers__auto_cdc_events" as evt
    join pg_temp."customers__auto_cdc_touched" as touched on touched."id" = evt."id"
    join pg_temp."customers__auto_cdc_parts" as part on part.owner = touched.__auto_cdc_owner
        and evt.__auto_cdc_sequence >= part.start_at
        and (part.end_at is null or evt.__auto_cdc_sequence <= part.end_at)
    where evt.ctid not in (select locator from copies)
),
known as (
    select cmp.ctid as locator, part.line, touched.__auto_cdc_first as first, cmp.__auto_cdc_kind as kind,
        cmp.__auto_cdc_sequence as sequence, cmp.__auto_cdc_system_sequence as system_at,
        lead(cmp.__auto_cdc_system_sequence) over (
            partition by part.line, cmp.__auto_cdc_sequence order by cmp.__auto_cdc_system_sequence
        ) as next_system,
        base.start_at is not null as starts
    from shop.customers__auto_cdc as cmp
    join pg_temp."customers__auto_cdc_touched" as touched on touched."id" = cmp."id"
    join pg_temp."customers__auto_cdc_parts" as part on part.owner = touched.__auto_cdc_owner
        and cmp.__auto_cdc_sequence >= part.start_at
        and (part.end_at is null or cmp.__auto_cdc_sequence <= part.end_at)
    left join pg_temp."customers__auto_cdc_stored" as base on base.owner = touched.__auto_cdc_owner and base.is_base
        and base.start_at = cmp.__auto_cdc_sequence
),
mixed as (
    select *, lag(is_quiet) over (partition by line order by sequence, system_at) as after_quiet,
        lead(is_quiet and not starts) over (partition by line order by sequence, system_at) as before_inner
    from (
        select *, is_base and kind = 'upsert' and count(*) over (partition by line, sequence) = 1 as is_quiet
        from (
            select locator, line, sequence, system_at, kind, starts, system_at < first as is_base, false as is_new
            from known
            where system_at >= first or next_system is null or next_system >= first
            union all
            select null, line, sequence, system_at, null, false, false, true from arrived
        ) as seen
    ) as told
),
kept as (
    select locator, line, is_base from mixed
    where not is_new
        and not (is_quiet and not starts and coalesce(after_quiet, false) and coalesce(before_inner, false))
)
select
    evt."id",
    evt."name",
    evt."note",
    evt.__auto_cdc_sequence,
    evt.__auto_cdc_system_sequence,
    evt.__auto_cdc_kind,
    arrived.line as __auto_cdc_line, false as __auto_cdc_is_base
from pg_temp."customers__auto_cdc_events" as evt
join arrived on arrived.locator = evt.ctid
union all
select
    cmp."id",
    cmp."name",
    cmp."note",
    cmp.__auto_cdc_sequence,
    cmp.__auto_cdc_system_sequence,
    cmp.__auto_cdc_kind,
    kept.line, kept.is_base
from shop.customers__auto_cdc as cmp
join kept on kept.locator = cmp.ctid;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_line";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- place the events on both axes  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_placed" on commit drop as
with lined as (
    select evt.ctid as event, evt.__auto_cdc_line as line, evt.__auto_cdc_kind as kind,
        evt.__auto_cdc_sequence as sequence, evt.__auto_cdc_system_sequence as system_at, evt.__auto_cdc_is_base as is_base,
        base.start_at is not null as starts
    from pg_temp."customers__auto_cdc_line" as evt
    join pg_temp."customers__auto_cdc_parts" as part on part.line = evt.__auto_cdc_line
    left join pg_temp."customers__auto_cdc_stored" as base on base.owner = part.owner and base.is_base
        and base.start_at = evt.__auto_cdc_sequence
),
counted as (
    select *, count(*) over (partition by line) = 1 as is_lone from lined
),
ranked as (
    select *, dense_rank() over (partition by line order by sequence) as place,
        case when is_base then 0 else dense_rank() over (partition by line, is_base order by system_at) end as moment
    from counted where not is_lone
),
numbered as (
    select *, row_number() over (partition by line order by place, moment) as number,
        1 + max(moment) over (partition by line) as moments,
        lead(moment) over (partition by line, place order by moment) as replaced
    from ranked
),
places as (
    select line, place, max(number) as last_number, max(moment) as last_moment, min(moment) as first_moment
    from numbered group by line, place
),
facing as (
    select line, place,
        lag(last_number) over (partition by line order by place) as number_before, lag(last_moment) over (partition by line order by place) as moment_before,
        lead(last_number) over (partition by line order by place) as number_after, lead(last_moment) over (partition by line order by place) as moment_after,
        min(first_moment) over (partition by line order by place rows between 1 following and unbounded following) as first_after
    from places
)
select event, evt.line, kind, sequence, system_at, is_base, starts, is_lone, evt.place, moment, number, moments,
    coalesce(replaced, moments) as until, number_before as before,
    case when moment_after <= moment then number_after end as after,
    not (number_before is null or moment_before <= moment) as seeks_before,
    not (number_after is null or moment_after <= moment or first_after > moment) as seeks_after
from numbered as evt join facing on facing.line = evt.line and facing.place = evt.place
union all
select event, line, kind, sequence, system_at, is_base, starts, is_lone, 1, 1, 1, 2, 2, null, null, false, false
from counted where is_lone;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_placed";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- list events by blocks of time  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_event_blocks" on commit drop as
with sizes as (
    select 0 as level, 1 as size
    union all select 1, 2
    union all select 2, 4
    union all select 3, 8
    union all select 4, 16
    union all select 5, 32
    union all select 6, 64
    union all select 7, 128
    union all select 8, 256
    union all select 9, 512
    union all select 10, 1024
    union all select 11, 2048
    union all select 12, 4096
    union all select 13, 8192
    union all select 14, 16384
    union all select 15, 32768
    union all select 16, 65536
    union all select 17, 131072
    union all select 18, 262144
    union all select 19, 524288
    union all select 20, 1048576
    union all select 21, 2097152
    union all select 22, 4194304
    union all select 23, 8388608
    union all select 24, 16777216
    union all select 25, 33554432
    union all select 26, 67108864
    union all select 27, 134217728
    union all select 28, 268435456
    union all select 29, 536870912
    union all select 30, 1073741824
    union all select 31, 2147483648
),
halved as (
    select line, number, place, level, (moment + size - 1) >> level as low, (until) >> level as high
    from (
    select line, number, place, moment, until from pg_temp."customers__auto_cdc_placed" where line in (select line from pg_temp."customers__auto_cdc_placed" where seeks_before or seeks_after)
    ) as spans join sizes on size <= until
)
select line, level, low as block, place, number, 1 as is_span from halved where low < high and low % 2 = 1
union all
select line, level, high - 1, place, number, 1 from halved where low < high and high % 2 = 1
union all
select line, level, (moment) >> level, place, number, 0 from (
select line, number, place, moment, moments from pg_temp."customers__auto_cdc_placed" where seeks_before or seeks_after
) as points join sizes on size <= moments;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_event_blocks";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- find the events beside each event  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_arrivals" on commit drop as
with seen as (
    select line, number, is_span,
        max(case when is_span = 1 then number end) over (partition by line, level, block order by place, is_span rows between unbounded preceding and current row) as before,
        min(case when is_span = 1 then number end) over (partition by line, level, block order by place desc, is_span rows between unbounded preceding and current row) as after
    from pg_temp."customers__auto_cdc_event_blocks"
),
nearest as (
    select line, number, max(before) as before, min(after) as after
    from seen where is_span = 0 group by line, number
),
beside as (
    select evt.line, evt.number, evt.place, evt.moment,
        case when evt.seeks_before then nearest.before else evt.before end as before,
        case when evt.seeks_after then nearest.after else evt.after end as after
    from pg_temp."customers__auto_cdc_placed" as evt
    left join nearest on nearest.line = evt.line and nearest.number = evt.number
    where not evt.is_lone
)
select beside.*, coalesce(next.place, 2147483647) as after_place
from beside
left join pg_temp."customers__auto_cdc_placed" as next on next.line = beside.line and next.number = beside.after;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_arrivals";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- find where versions start and end  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_turns" on commit drop as
with meeting as (
    select distinct line, place, moment, previous, present from (
        select line, place, moment, before as previous, number as present from pg_temp."customers__auto_cdc_arrivals"
        union all
        select line, after_place, moment, number, after from pg_temp."customers__auto_cdc_arrivals"
    ) as every_row
),
pairs as (
    select met.line, met.place, met.moment, previous.event as previous_event, present.event as present_event,
        previous.kind as previous_kind, present.kind as present_kind,
        coalesce(previous.is_base and present.is_base, false) as is_base, coalesce(present.starts, false) as starts
    from meeting as met
    left join pg_temp."customers__auto_cdc_placed" as previous on previous.line = met.line and previous.number = met.previous
    left join pg_temp."customers__auto_cdc_placed" as present on present.line = met.line and present.number = met.present
),
differing as (
    select pair.previous_event, pair.present_event
    from (
        select distinct previous_event, present_event from pairs where previous_kind = 'upsert' and present_kind = 'upsert' and not is_base
    ) as pair
    join (select ctid as __auto_cdc_locator, "name", "note" from pg_temp."customers__auto_cdc_line") as previous on previous.__auto_cdc_locator = pair.previous_event
    left join (select ctid as __auto_cdc_locator, "name", "note" from pg_temp."customers__auto_cdc_line") as present on present.__auto_cdc_locator = pair.present_event
    where previous."name" collate "C" is distinct from present."name" collate "C" or previous."note" collate "C" is distinct from present."note" collate "C"
),
marked as (
    select pair.*,
        coalesce(present_kind = 'upsert' and (
            previous_kind is null or previous_kind = 'delete'
            or case when is_base then starts else differing.present_event is not null end
        ), false) as opens,
        coalesce(previous_kind = 'upsert' and (present_kind is null or present_kind = 'delete'), false) as closes
    from pairs as pair
    left join differing
        on differing.previous_event = pair.previous_event and differing.present_event = pair.present_event
)
select line, place, moment, previous_event, opens, opens or closes as is_wall,
    row_number() over (partition by line order by place, moment) as number,
    coalesce(lag(opens) over (partition by line, place order by moment), false) as did_open,
    coalesce(lag(opens or closes) over (partition by line, place order by moment), false) as was_wall,
    coalesce(lead(moment) over (partition by line, place order by moment), 1 + max(moment) over (partition by line)) as until
from marked;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_turns";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- look for the walls beside each event  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_sights" on commit drop as
with places as (
    select line, place, max(case when is_wall then number end) as wall from pg_temp."customers__auto_cdc_turns" group by line, place
),
facing as (
    select line, place, max(wall) over (partition by line order by place rows between unbounded preceding and 1 preceding) as before,
        min(wall) over (partition by line order by place rows between 1 following and unbounded following) as after
    from places
)
select evt.line, evt.moment, own.number as own, next.number as next, own.place as own_place, next.place as next_place,
    lefts.before as left_wall, lefts.before is not null and not (wall_left.moment <= evt.moment and evt.moment < wall_left.until) as seeks_left,
    rights.after as right_wall, rights.after is not null and not (wall_right.moment <= evt.moment and evt.moment < wall_right.until) as seeks_right
from pg_temp."customers__auto_cdc_arrivals" as evt
join pg_temp."customers__auto_cdc_turns" as own on own.line = evt.line and own.place = evt.place and own.moment = evt.moment
join pg_temp."customers__auto_cdc_turns" as next on next.line = evt.line and next.place = evt.after_place and next.moment = evt.moment
join facing as lefts on lefts.line = evt.line and lefts.place = evt.place
join facing as rights on rights.line = evt.line and rights.place = evt.after_place
left join pg_temp."customers__auto_cdc_turns" as wall_left on wall_left.line = evt.line and wall_left.number = lefts.before
left join pg_temp."customers__auto_cdc_turns" as wall_right on wall_right.line = evt.line and wall_right.number = rights.after
where own.is_wall or own.was_wall or next.is_wall or next.was_wall;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_sights";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- list walls by blocks of time  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_wall_blocks" on commit drop as
with sizes as (
    select 0 as level, 1 as size
    union all select 1, 2
    union all select 2, 4
    union all select 3, 8
    union all select 4, 16
    union all select 5, 32
    union all select 6, 64
    union all select 7, 128
    union all select 8, 256
    union all select 9, 512
    union all select 10, 1024
    union all select 11, 2048
    union all select 12, 4096
    union all select 13, 8192
    union all select 14, 16384
    union all select 15, 32768
    union all select 16, 65536
    union all select 17, 131072
    union all select 18, 262144
    union all select 19, 524288
    union all select 20, 1048576
    union all select 21, 2097152
    union all select 22, 4194304
    union all select 23, 8388608
    union all select 24, 16777216
    union all select 25, 33554432
    union all select 26, 67108864
    union all select 27, 134217728
    union all select 28, 268435456
    union all select 29, 536870912
    union all select 30, 1073741824
    union all select 31, 2147483648
),
halved as (
    select line, number, place, level, (moment + size - 1) >> level as low, (until) >> level as high
    from (
    select line, number, place, moment, until from pg_temp."customers__auto_cdc_turns"
    where is_wall and line in (select line from pg_temp."customers__auto_cdc_sights" where seeks_left or seeks_right)
    ) as spans join sizes on size <= until
)
select line, level, low as block, place, number, 1 as is_span from halved where low < high and low % 2 = 1
union all
select line, level, high - 1, place, number, 1 from halved where low < high and high % 2 = 1
union all
select line, level, (moment) >> level, place, number, 0 from (
select turn.line, turn.number, turn.place, turn.moment, turn.moments
from (select *, max(until) over (partition by line) as moments from pg_temp."customers__auto_cdc_turns") as turn
join (
    select distinct line, number from (
        select line, own as number from pg_temp."customers__auto_cdc_sights" where seeks_left
        union all
        select line, next from pg_temp."customers__auto_cdc_sights" where seeks_right
    ) as every_row
) as seeking on seeking.line = turn.line and seeking.number = turn.number
) as points join sizes on size <= moments;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_wall_blocks";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- find the walls beside each wall  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_wall_neighbours" on commit drop as
with seen as (
    select line, number, is_span,
        max(case when is_span = 1 then number end) over (partition by line, level, block order by place, is_span rows between unbounded preceding and current row) as before,
        min(case when is_span = 1 then number end) over (partition by line, level, block order by place desc, is_span rows between unbounded preceding and current row) as after
    from pg_temp."customers__auto_cdc_wall_blocks"
)
select line, number, max(before) as before, min(after) as after
from seen where is_span = 0 group by line, number;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_wall_neighbours";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- cut into versions  (only if num_new_events)
create temporary table pg_temp."customers__auto_cdc_timeline" on commit drop as
with beheld as (
    select evt.line, evt.moment, evt.own, evt.next, evt.own_place, evt.next_place,
        own.opens as own_opens, next.opens as next_opens, own.is_wall as own_is_wall, next.is_wall as next_is_wall,
        case when evt.seeks_left then lefts.before else evt.left_wall end as left_wall,
        case when evt.seeks_right then rights.after else evt.right_wall end as right_wall
    from pg_temp."customers__auto_cdc_sights" as evt
    join pg_temp."customers__auto_cdc_turns" as own on own.line = evt.line and own.number = evt.own
    join pg_temp."customers__auto_cdc_turns" as next on next.line = evt.line and next.number = evt.next
    left join pg_temp."customers__auto_cdc_wall_neighbours" as lefts on lefts.line = evt.line and lefts.number = evt.own
    left join pg_temp."customers__auto_cdc_wall_neighbours" as rights on rights.line = evt.line and rights.number = evt.next
),
pieces as (
    select distinct line, place, moment, wall from (
        select line, own_place as place, moment, case when next_is_wall then next else right_wall end as wall
        from beheld where own_opens
        union all
        select line, next_place, moment, right_wall from beheld where next_opens
        union all
        select evt.line, wall.place, evt.moment,
            case when own_is_wall then own when next_is_wall then next else right_wall end
        from beheld as evt join pg_temp."customers__auto_cdc_turns" as wall on wall.line = evt.line and wall.number = evt.left_wall
        where wall.opens
        union all
        select line, place, moment, null from pg_temp."customers__auto_cdc_turns" where did_open and not opens
    ) as every_row
),
bordered as (
    select pieces.line, pieces.place, pieces.moment, wall.place as end_place, wall.previous_event as event,
        lag(wall.place) over (partition by pieces.line, pieces.place order by pieces.moment) as end_place_before,
        lag(wall.previous_event) over (partition by pieces.line, pieces.place order by pieces.moment) as event_before
    from pieces
    left join pg_temp."customers__auto_cdc_turns" as wall on wall.line = pieces.line and wall.number = pieces.wall
),
changed as (
    select pair.previous_event, pair.present_event
    from (
        select distinct event_before as previous_event, event as present_event from bordered where end_place = end_place_before and event <> event_before
    ) as pair
    join (select ctid as __auto_cdc_locator, "name", "note" from pg_temp."customers__auto_cdc_line") as previous on previous.__auto_cdc_locator = pair.previous_event
    left join (select ctid as __auto_cdc_locator, "name", "note" from pg_temp."customers__auto_cdc_line") as present on present.__auto_cdc_locator = pair.present_event
    where previous."name" collate "C" is distinct from present."name" collate "C" or previous."note" collate "C" is distinct from present."note" collate "C"
),
begun as (
    select bordered.* from bordered
    left join changed on changed.previous_event = bordered.event_before and changed.present_event = bordered.event
    where event is null or event_before is null or end_place <> end_place_before or changed.present_event is not null
),
spanning as (
    select *, lead(moment) over (partition by line, place order by moment) as until from begun
),
places as (
    select line, place, min(sequence) as sequence from pg_temp."customers__auto_cdc_placed" group by line, place
),
moments as (
    select line, moment, min(system_at) as system_at from pg_temp."customers__auto_cdc_placed" where moment > 0 group by line, moment
),
lone as (
    select *, cast(null as timestamp without time zone) as no_end, cast(null as timestamp without time zone) as no_system_end from pg_temp."customers__auto_cdc_placed" where is_lone and kind = 'upsert'
),
bounded as (
    select line, event, 1 as moment, sequence as start_at, no_end as end_at, system_at as system_start_at,
        no_system_end as system_end_at
    from lone
    union all
    select spanning.line, spanning.event, spanning.moment, started.sequence, ended.sequence, since.system_at, till.system_at
    from spanning
    join places as started on started.line = spanning.line and started.place = spanning.place
    left join places as ended on ended.line = spanning.line and ended.place = spanning.end_place
    left join moments as since on since.line = spanning.line and since.moment = spanning.moment
    left join moments as till on till.line = spanning.line and till.moment = spanning.until
    where spanning.event is not null
),
there as (
    select part.line, src.*
    from pg_temp."customers__auto_cdc_stored" as src
    join pg_temp."customers__auto_cdc_parts" as part on part.owner = src.owner and src.start_at >= part.start_at
        and (part.end_at is null or src.start_at < part.end_at)
),
now as (
    select bounded.line, bounded.event, bounded.start_at, bounded.end_at, bounded.system_end_at,
        case when bounded.moment = 0 then base.system_start_at else bounded.system_start_at end as system_start_at,
        bounded.moment = 0 as is_base, part.owner
    from bounded
    join pg_temp."customers__auto_cdc_parts" as part on part.line = bounded.line
    left join there as base on base.is_base and base.line = bounded.line
        and base.start_at = case when bounded.moment = 0 then bounded.start_at end
    where part.end_at is null or bounded.start_at < part.end_at
),
beside as (
    select now.event, now.start_at, now.end_at, now.system_start_at, now.system_end_at, there.locator,
        coalesce(now.owner, there.owner) as owner,
        coalesce(now.is_base, false) or coalesce(there.is_base, false) as is_base,
        coalesce(there.end_at is distinct from now.end_at, true) as has_other_end,
        coalesce(there.system_end_at is distinct from now.system_end_at, true) as is_moved
    from now full join there on there.line = now.line and there.start_at = now.start_at
        and there.system_start_at = now.system_start_at
),
unlike as (
    select beside.locator
    from beside
    join (select ctid as __auto_cdc_locator, "name", "note" from pg_temp."customers__auto_cdc_line") as src on src.__auto_cdc_locator = beside.event
    join (select shown.ctid as __auto_cdc_locator, shown."name", shown."note" from shop.customers as shown) as tgt on tgt.__auto_cdc_locator = beside.locator
    where not beside.has_other_end and (src."name" collate "C" is distinct from tgt."name" collate "C" or src."note" collate "C" is distinct from tgt."note" collate "C")
)
select beside.event, beside.start_at, beside.end_at, beside.system_start_at, beside.system_end_at, beside.locator,
    beside.owner, beside.is_base,
    beside.event is not null and beside.locator is not null and not beside.has_other_end
        and unlike.locator is null as is_same,
    beside.is_moved
from beside left join unlike on unlike.locator = beside.locator;
do $analyze$
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    analyze pg_temp."customers__auto_cdc_timeline";
    perform set_config('default_statistics_target', usual, true);
end
$analyze$;

-- measure what changes  (only if num_new_events)

select
    case when false then count(case when is_same and is_moved then 1 end) else 0 end as num_versions_ended_and_few,
    case when false then 0 else count(case when is_same and is_moved then 1 end) end as num_versions_ended_and_many,
    case when count(case when is_same and is_moved then 1 end) > 0 and false then 0 else 1 end * count(case when event is not null and not is_same then 1 end) as num_versions_written,
    case when count(case when is_same and is_moved then 1 end) > 0 and false then 0 else 1 end * count(case when locator is not null and not is_same then 1 end) as num_versions_removed,
    count(case when is_same and is_moved then 1 end) + count(case when event is not null and not is_same then 1 end) as num_upserted_rows,
    count(case when locator is not null and not is_same then 1 end) - count(case when event is not null and not is_same and locator is not null then 1 end) as num_deleted_rows,
    count(case when evt.is_base and not evt.is_same then 1 end) as changed_versions,
    min(case when evt.is_base and not evt.is_same then shown end) as changed_versions_example
from (
    select evt.*, 'id=' || coalesce(cast(touched."id" as varchar), 'null') as shown
    from pg_temp."customers__auto_cdc_timeline" as evt
    join pg_temp."customers__auto_cdc_touched" as touched on touched.__auto_cdc_owner = evt.owner
) as evt;

-- delete versions, ended ones too  (only if num_versions_ended_and_few)
delete from shop.customers where ctid = any (array(
    select locator from pg_temp."customers__auto_cdc_timeline" where (locator is not null and not is_same) or (is_same and is_moved)
));

-- insert versions, ended ones too  (only if num_versions_ended_and_few)
insert into shop.customers ("id", "name", "note", "__start_at", "__end_at", "__system_start_at", "__system_end_at")
with written as (
    select event, start_at, end_at, system_start_at, system_end_at
    from pg_temp."customers__auto_cdc_timeline"
    where event is not null and (not is_same or is_moved)
)
select evt."id", evt."name", evt."note", run.start_at as "__start_at", run.end_at as "__end_at", run.system_start_at as "__system_start_at", run.system_end_at as "__system_end_at"
from pg_temp."customers__auto_cdc_line" as evt
join written as run on run.event = evt.ctid;

-- end versions in place  (only if num_versions_ended_and_many)
do $__auto_cdc_0$
declare
    __auto_cdc_usual text := current_setting('enable_memoize');
begin
    perform set_config('enable_memoize', 'off', true);
    update shop.customers as tgt set "__system_end_at" = changed.value
from (
select locator, system_end_at as value from pg_temp."customers__auto_cdc_timeline" where is_same and is_moved
) as changed
where tgt.ctid = changed.locator;
    perform set_config('enable_memoize', __auto_cdc_usual, true);
end
$__auto_cdc_0$;

-- delete versions  (only if num_versions_removed)
delete from shop.customers where ctid = any (array(
    select locator from pg_temp."customers__auto_cdc_timeline" where locator is not null and not is_same
));

-- insert versions  (only if num_versions_written)
insert into shop.customers ("id", "name", "note", "__start_at", "__end_at", "__system_start_at", "__system_end_at")
with written as (
    select event, start_at, end_at, system_start_at, system_end_at
    from pg_temp."customers__auto_cdc_timeline"
    where event is not null and (not is_same or false)
)
select evt."id", evt."name", evt."note", run.start_at as "__start_at", run.end_at as "__end_at", run.system_start_at as "__system_start_at", run.system_end_at as "__system_end_at"
from pg_temp."customers__auto_cdc_line" as evt
join written as run on run.event = evt.ctid;

-- remember the new events  (only if num_new_events)
insert into shop.customers__auto_cdc ("id", __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, "name", "note")
with repeated as (
    select "id", __auto_cdc_sequence, __auto_cdc_system_sequence from pg_temp."customers__auto_cdc_events" as evt where __auto_cdc_kind <> 'truncate' group by "id", __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
),
copies as (
    select locator from (
        select evt.ctid as locator,
            row_number() over (partition by evt."id", evt.__auto_cdc_sequence, evt.__auto_cdc_system_sequence order by evt.ctid) as place
        from pg_temp."customers__auto_cdc_events" as evt
        join repeated on evt."id" = repeated."id" and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
    ) as ranked where place > 1
)
select
    evt."id",
    evt.__auto_cdc_sequence,
    evt.__auto_cdc_system_sequence,
    evt.__auto_cdc_kind,
    case when evt.__auto_cdc_kind = 'upsert' then evt."name" end as "name",
    case when evt.__auto_cdc_kind = 'upsert' then evt."note" end as "note"
from pg_temp."customers__auto_cdc_events" as evt
where evt.ctid not in (select locator from copies);
