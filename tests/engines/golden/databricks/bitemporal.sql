-- auto_cdc: model customers: build the target

-- stage the model's rows
create or replace table shop.`customers__auto_cdc_stage_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
select
    src.`id` as `id`,
    src.`name` as `name`,
    src.`note` as `note`,
    src.`changed_at` as __auto_cdc_sequence,
    src.`known_at` as __auto_cdc_system_sequence,
    case when (
    operation = 'D'
) then 'delete' else 'upsert' end as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at, known_at
    from shop.customer_changes
) as src
) as src;

-- check the events
with counted as (
    select
        count(*) as num_read_rows,
        0 as num_late_rows
    from shop.`customers__auto_cdc_stage_c0ffee000002` as stg
),
found as (
    select
        count(*) as num_new_events,
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt.`id` as string), 'null') end) as null_sequence_example,
        count(case when evt.__auto_cdc_system_sequence is null then 1 end) as null_system_sequence,
        min(case when evt.__auto_cdc_system_sequence is null then 'id=' || coalesce(cast(evt.`id` as string), 'null') end) as null_system_sequence_example,
        count(case when evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as string) end) as null_key_0_example
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
),
repeated as (
    select `id`, __auto_cdc_sequence, __auto_cdc_system_sequence from shop.`customers__auto_cdc_stage_c0ffee000002` as evt where __auto_cdc_kind <> 'truncate' group by `id`, __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
),
variants as (
    select
        evt.`id`,
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_system_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`name` end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`note` end as __auto_cdc_written_1,
        count(*) as __auto_cdc_copies
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
    join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
    group by 1, 2, 3, 4, 5, 6
),
places as (
    select var.`id`, var.__auto_cdc_sequence, var.__auto_cdc_system_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, true as __auto_cdc_decides
    from variants as var group by var.`id`, var.__auto_cdc_sequence, var.__auto_cdc_system_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places.`id` as string), 'null') || ' at ' || cast(places.__auto_cdc_sequence as string) || ', known at ' || cast(places.__auto_cdc_system_sequence as string) end) as num_tied_rows_example
    from places
)
select *
from counted
cross join found
cross join ties;

-- number the touched keys
create or replace table shop.`customers__auto_cdc_touched_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
select `id`, min(__auto_cdc_system_sequence) as __auto_cdc_first, row_number() over (order by `id`) as __auto_cdc_owner
from shop.`customers__auto_cdc_stage_c0ffee000002` group by `id`
) as src;

-- place the events on both axes
create or replace table shop.`customers__auto_cdc_placed_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with repeated as (
    select `id`, __auto_cdc_sequence, __auto_cdc_system_sequence from shop.`customers__auto_cdc_stage_c0ffee000002` as evt where __auto_cdc_kind <> 'truncate' group by `id`, __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
),
copies as (
    select locator from (
        select evt.__auto_cdc_row as locator,
            row_number() over (partition by evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_system_sequence order by evt.__auto_cdc_row) as place
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
        join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
    ) as ranked where place > 1
),
lined as (
    select evt.__auto_cdc_row as event, touched.__auto_cdc_owner as line, evt.__auto_cdc_kind as kind,
        evt.__auto_cdc_sequence as sequence, evt.__auto_cdc_system_sequence as system_at, false as is_base, false as starts
    from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
    join shop.`customers__auto_cdc_touched_c0ffee000002` as touched on touched.`id` = evt.`id`
    where evt.__auto_cdc_row not in (select locator from copies)
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
from counted where is_lone
) as src;

-- list events by blocks of time
create or replace table shop.`customers__auto_cdc_event_blocks_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
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
    select line, number, place, level, shiftright(moment + size - 1, level) as low, shiftright(until, level) as high
    from (
    select line, number, place, moment, until from shop.`customers__auto_cdc_placed_c0ffee000002` where line in (select line from shop.`customers__auto_cdc_placed_c0ffee000002` where seeks_before or seeks_after)
    ) as spans join sizes on size <= until
)
select line, level, low as block, place, number, 1 as is_span from halved where low < high and low % 2 = 1
union all
select line, level, high - 1, place, number, 1 from halved where low < high and high % 2 = 1
union all
select line, level, shiftright(moment, level), place, number, 0 from (
select line, number, place, moment, moments from shop.`customers__auto_cdc_placed_c0ffee000002` where seeks_before or seeks_after
) as points join sizes on size <= moments
) as src;

-- find the events beside each event
create or replace table shop.`customers__auto_cdc_arrivals_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with seen as (
    select line, number, is_span,
        max(case when is_span = 1 then number end) over (partition by line, level, block order by place, is_span rows between unbounded preceding and current row) as before,
        min(case when is_span = 1 then number end) over (partition by line, level, block order by place desc, is_span rows between unbounded preceding and current row) as after
    from shop.`customers__auto_cdc_event_blocks_c0ffee000002`
),
nearest as (
    select line, number, max(before) as before, min(after) as after
    from seen where is_span = 0 group by line, number
),
beside as (
    select evt.line, evt.number, evt.place, evt.moment,
        case when evt.seeks_before then nearest.before else evt.before end as before,
        case when evt.seeks_after then nearest.after else evt.after end as after
    from shop.`customers__auto_cdc_placed_c0ffee000002` as evt
    left join nearest on nearest.line = evt.line and nearest.number = evt.number
    where not evt.is_lone
)
select beside.*, coalesce(next.place, 2147483647) as after_place
from beside
left join shop.`customers__auto_cdc_placed_c0ffee000002` as next on next.line = beside.line and next.number = beside.after
) as src;

-- find where versions start and end
create or replace table shop.`customers__auto_cdc_turns_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with meeting as (
    select distinct line, place, moment, previous, present from (
        select line, place, moment, before as previous, number as present from shop.`customers__auto_cdc_arrivals_c0ffee000002`
        union all
        select line, after_place, moment, number, after from shop.`customers__auto_cdc_arrivals_c0ffee000002`
    ) as every_row
),
pairs as (
    select met.line, met.place, met.moment, previous.event as previous_event, present.event as present_event,
        previous.kind as previous_kind, present.kind as present_kind,
        coalesce(previous.is_base and present.is_base, false) as is_base, coalesce(present.starts, false) as starts
    from meeting as met
    left join shop.`customers__auto_cdc_placed_c0ffee000002` as previous on previous.line = met.line and previous.number = met.previous
    left join shop.`customers__auto_cdc_placed_c0ffee000002` as present on present.line = met.line and present.number = met.present
),
differing as (
    select pair.previous_event, pair.present_event
    from (
        select distinct previous_event, present_event from pairs where previous_kind = 'upsert' and present_kind = 'upsert' and not is_base
    ) as pair
    join (select __auto_cdc_row as __auto_cdc_locator, `name`, `note` from shop.`customers__auto_cdc_stage_c0ffee000002`) as previous on previous.__auto_cdc_locator = pair.previous_event
    left join (select __auto_cdc_row as __auto_cdc_locator, `name`, `note` from shop.`customers__auto_cdc_stage_c0ffee000002`) as present on present.__auto_cdc_locator = pair.present_event
    where not (previous.`name` <=> present.`name`) or not (previous.`note` <=> present.`note`)
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
from marked
) as src;

-- look for the walls beside each event
create or replace table shop.`customers__auto_cdc_sights_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with places as (
    select line, place, max(case when is_wall then number end) as wall from shop.`customers__auto_cdc_turns_c0ffee000002` group by line, place
),
facing as (
    select line, place, max(wall) over (partition by line order by place rows between unbounded preceding and 1 preceding) as before,
        min(wall) over (partition by line order by place rows between 1 following and unbounded following) as after
    from places
)
select evt.line, evt.moment, own.number as own, next.number as next, own.place as own_place, next.place as next_place,
    lefts.before as left_wall, lefts.before is not null and not (wall_left.moment <= evt.moment and evt.moment < wall_left.until) as seeks_left,
    rights.after as right_wall, rights.after is not null and not (wall_right.moment <= evt.moment and evt.moment < wall_right.until) as seeks_right
from shop.`customers__auto_cdc_arrivals_c0ffee000002` as evt
join shop.`customers__auto_cdc_turns_c0ffee000002` as own on own.line = evt.line and own.place = evt.place and own.moment = evt.moment
join shop.`customers__auto_cdc_turns_c0ffee000002` as next on next.line = evt.line and next.place = evt.after_place and next.moment = evt.moment
join facing as lefts on lefts.line = evt.line and lefts.place = evt.place
join facing as rights on rights.line = evt.line and rights.place = evt.after_place
left join shop.`customers__auto_cdc_turns_c0ffee000002` as wall_left on wall_left.line = evt.line and wall_left.number = lefts.before
left join shop.`customers__auto_cdc_turns_c0ffee000002` as wall_right on wall_right.line = evt.line and wall_right.number = rights.after
where own.is_wall or own.was_wall or next.is_wall or next.was_wall
) as src;

-- list walls by blocks of time
create or replace table shop.`customers__auto_cdc_wall_blocks_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
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
    select line, number, place, level, shiftright(moment + size - 1, level) as low, shiftright(until, level) as high
    from (
    select line, number, place, moment, until from shop.`customers__auto_cdc_turns_c0ffee000002`
    where is_wall and line in (select line from shop.`customers__auto_cdc_sights_c0ffee000002` where seeks_left or seeks_right)
    ) as spans join sizes on size <= until
)
select line, level, low as block, place, number, 1 as is_span from halved where low < high and low % 2 = 1
union all
select line, level, high - 1, place, number, 1 from halved where low < high and high % 2 = 1
union all
select line, level, shiftright(moment, level), place, number, 0 from (
select turn.line, turn.number, turn.place, turn.moment, turn.moments
from (select *, max(until) over (partition by line) as moments from shop.`customers__auto_cdc_turns_c0ffee000002`) as turn
join (
    select distinct line, number from (
        select line, own as number from shop.`customers__auto_cdc_sights_c0ffee000002` where seeks_left
        union all
        select line, next from shop.`customers__auto_cdc_sights_c0ffee000002` where seeks_right
    ) as every_row
) as seeking on seeking.line = turn.line and seeking.number = turn.number
) as points join sizes on size <= moments
) as src;

-- find the walls beside each wall
create or replace table shop.`customers__auto_cdc_wall_neighbours_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with seen as (
    select line, number, is_span,
        max(case when is_span = 1 then number end) over (partition by line, level, block order by place, is_span rows between unbounded preceding and current row) as before,
        min(case when is_span = 1 then number end) over (partition by line, level, block order by place desc, is_span rows between unbounded preceding and current row) as after
    from shop.`customers__auto_cdc_wall_blocks_c0ffee000002`
)
select line, number, max(before) as before, min(after) as after
from seen where is_span = 0 group by line, number
) as src;

-- cut into versions
create or replace table shop.`customers__auto_cdc_timeline_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with beheld as (
    select evt.line, evt.moment, evt.own, evt.next, evt.own_place, evt.next_place,
        own.opens as own_opens, next.opens as next_opens, own.is_wall as own_is_wall, next.is_wall as next_is_wall,
        case when evt.seeks_left then lefts.before else evt.left_wall end as left_wall,
        case when evt.seeks_right then rights.after else evt.right_wall end as right_wall
    from shop.`customers__auto_cdc_sights_c0ffee000002` as evt
    join shop.`customers__auto_cdc_turns_c0ffee000002` as own on own.line = evt.line and own.number = evt.own
    join shop.`customers__auto_cdc_turns_c0ffee000002` as next on next.line = evt.line and next.number = evt.next
    left join shop.`customers__auto_cdc_wall_neighbours_c0ffee000002` as lefts on lefts.line = evt.line and lefts.number = evt.own
    left join shop.`customers__auto_cdc_wall_neighbours_c0ffee000002` as rights on rights.line = evt.line and rights.number = evt.next
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
        from beheld as evt join shop.`customers__auto_cdc_turns_c0ffee000002` as wall on wall.line = evt.line and wall.number = evt.left_wall
        where wall.opens
        union all
        select line, place, moment, null from shop.`customers__auto_cdc_turns_c0ffee000002` where did_open and not opens
    ) as every_row
),
bordered as (
    select pieces.line, pieces.place, pieces.moment, wall.place as end_place, wall.previous_event as event,
        lag(wall.place) over (partition by pieces.line, pieces.place order by pieces.moment) as end_place_before,
        lag(wall.previous_event) over (partition by pieces.line, pieces.place order by pieces.moment) as event_before
    from pieces
    left join shop.`customers__auto_cdc_turns_c0ffee000002` as wall on wall.line = pieces.line and wall.number = pieces.wall
),
changed as (
    select pair.previous_event, pair.present_event
    from (
        select distinct event_before as previous_event, event as present_event from bordered where end_place = end_place_before and event <> event_before
    ) as pair
    join (select __auto_cdc_row as __auto_cdc_locator, `name`, `note` from shop.`customers__auto_cdc_stage_c0ffee000002`) as previous on previous.__auto_cdc_locator = pair.previous_event
    left join (select __auto_cdc_row as __auto_cdc_locator, `name`, `note` from shop.`customers__auto_cdc_stage_c0ffee000002`) as present on present.__auto_cdc_locator = pair.present_event
    where not (previous.`name` <=> present.`name`) or not (previous.`note` <=> present.`note`)
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
    select line, place, min(sequence) as sequence from shop.`customers__auto_cdc_placed_c0ffee000002` group by line, place
),
moments as (
    select line, moment, min(system_at) as system_at from shop.`customers__auto_cdc_placed_c0ffee000002` where moment > 0 group by line, moment
),
lone as (
    select *, cast(null as timestamp) as no_end, cast(null as timestamp) as no_system_end from shop.`customers__auto_cdc_placed_c0ffee000002` where is_lone and kind = 'upsert'
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
where spanning.event is not null
) as src;

-- create the companion
create table shop.customers__auto_cdc using delta cluster by (`id`) as
select
    cast(added.`id` as int) as `id`,
    cast(added.__auto_cdc_sequence as timestamp) as __auto_cdc_sequence,
    cast(added.__auto_cdc_system_sequence as timestamp) as __auto_cdc_system_sequence,
    cast(added.__auto_cdc_kind as string) as __auto_cdc_kind,
    cast(added.`name` as string) as `name`,
    cast(added.`note` as string) as `note`,
    cast(added.__auto_cdc_control as string) as __auto_cdc_control
from (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    cast(null as timestamp) as __auto_cdc_system_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as string) as `name`,
    cast(null as string) as `note`,
    'c0ffee000002' as __auto_cdc_control
) as added(`id`, __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, `name`, `note`, __auto_cdc_control);

-- create the target
create or replace table shop.customers using delta cluster by (id) as
select
    cast(added.`id` as int) as `id`,
    cast(added.`name` as string) as `name`,
    cast(added.`note` as string) as `note`,
    cast(added.`__START_AT` as timestamp) as `__START_AT`,
    cast(added.`__END_AT` as timestamp) as `__END_AT`,
    cast(added.`__SYSTEM_START_AT` as timestamp) as `__SYSTEM_START_AT`,
    cast(added.`__SYSTEM_END_AT` as timestamp) as `__SYSTEM_END_AT`
from (
with written as (
    select event, start_at, end_at, system_start_at, system_end_at
    from shop.`customers__auto_cdc_timeline_c0ffee000002`
    where event is not null
)
select evt.`id`, evt.`name`, evt.`note`, run.start_at as `__START_AT`, run.end_at as `__END_AT`, run.system_start_at as `__SYSTEM_START_AT`, run.system_end_at as `__SYSTEM_END_AT`
from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
join written as run on run.event = evt.__auto_cdc_row
) as added(`id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`);

-- count the rows
select count(*) as num_upserted_rows from shop.customers;

-- fill the companion
merge into shop.customers__auto_cdc as tgt using (
select told.`id`, told.__auto_cdc_sequence, told.__auto_cdc_system_sequence, told.__auto_cdc_kind, told.`name`, told.`note`, told.__auto_cdc_control from (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    cast(null as timestamp) as __auto_cdc_system_sequence,
    'control' as __auto_cdc_kind,
    cast(null as string) as `name`,
    cast(null as string) as `note`,
    '{"change_data_feed": false, "engine": "Databricks", "format": 1, "key_types": ["int"], "keys": ["id"], "materialized": "auto_cdc", "once": [], "scd_type": "bitemporal", "sequence_type": "timestamp", "system_type": "timestamp", "track_history": ["all"], "truncates": false}' as __auto_cdc_control
union all
select more.*, null as __auto_cdc_control from (
with repeated as (
    select `id`, __auto_cdc_sequence, __auto_cdc_system_sequence from shop.`customers__auto_cdc_stage_c0ffee000002` as evt where __auto_cdc_kind <> 'truncate' group by `id`, __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
),
copies as (
    select locator from (
        select evt.__auto_cdc_row as locator,
            row_number() over (partition by evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_system_sequence order by evt.__auto_cdc_row) as place
        from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
        join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
    ) as ranked where place > 1
)
select
    evt.`id`,
    evt.__auto_cdc_sequence,
    evt.__auto_cdc_system_sequence,
    evt.__auto_cdc_kind,
    case when evt.__auto_cdc_kind = 'upsert' then evt.`name` end as `name`,
    case when evt.__auto_cdc_kind = 'upsert' then evt.`note` end as `note`
from shop.`customers__auto_cdc_stage_c0ffee000002` as evt
where evt.__auto_cdc_row not in (select locator from copies)
) as more
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
union all
select told.`id`, told.__auto_cdc_sequence, told.__auto_cdc_system_sequence, told.__auto_cdc_kind, told.`name`, told.`note`, told.__auto_cdc_control from (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    cast(null as timestamp) as __auto_cdc_system_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as string) as `name`,
    cast(null as string) as `note`,
    'c0ffee000002' as __auto_cdc_control
) as told
cross join (select 1 as one from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002') as turn
) as src
on tgt.__auto_cdc_kind = src.__auto_cdc_kind
when matched then update set __auto_cdc_control = src.__auto_cdc_control
when not matched then insert (`id`, __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, `name`, `note`, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_system_sequence, src.__auto_cdc_kind, src.`name`, src.`note`, src.__auto_cdc_control);

-- see whose turn it is
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'control' and exists (select 1 from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000002');

-- free the working tables
drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_touched_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_placed_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_event_blocks_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_arrivals_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_turns_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_sights_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_wall_blocks_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_wall_neighbours_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_timeline_c0ffee000002`;

-- auto_cdc: model customers: apply the new events

-- stage the model's rows
create or replace table shop.`customers__auto_cdc_stage_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
select
    src.`id` as `id`,
    src.`name` as `name`,
    src.`note` as `note`,
    src.`changed_at` as __auto_cdc_sequence,
    src.`known_at` as __auto_cdc_system_sequence,
    case when (
    operation = 'D'
) then 'delete' else 'upsert' end as __auto_cdc_kind
from (
    select id, name, note, operation, changed_at, known_at
    from shop.customer_changes
) as src
) as src;

-- keep the events that are new
create or replace table shop.`customers__auto_cdc_events_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
select
    __auto_cdc_around.`id`,
    __auto_cdc_around.`name`,
    __auto_cdc_around.`note`,
    __auto_cdc_around.__auto_cdc_sequence,
    __auto_cdc_around.__auto_cdc_system_sequence,
    __auto_cdc_around.__auto_cdc_kind
from shop.`customers__auto_cdc_stage_c0ffee000002` as __auto_cdc_around
where not exists (select 1 from shop.customers__auto_cdc as known where known.`id` = __auto_cdc_around.`id` and known.__auto_cdc_sequence = __auto_cdc_around.__auto_cdc_sequence and known.__auto_cdc_system_sequence = __auto_cdc_around.__auto_cdc_system_sequence)
) as src;

-- check the events
with counted as (
    select
        count(*) as num_read_rows
    from shop.`customers__auto_cdc_stage_c0ffee000002` as stg
),
found as (
    select
        count(*) as num_new_events,
        count(case when evt.__auto_cdc_sequence is null then 1 end) as null_sequence,
        min(case when evt.__auto_cdc_sequence is null then 'id=' || coalesce(cast(evt.`id` as string), 'null') end) as null_sequence_example,
        count(case when evt.__auto_cdc_system_sequence is null then 1 end) as null_system_sequence,
        min(case when evt.__auto_cdc_system_sequence is null then 'id=' || coalesce(cast(evt.`id` as string), 'null') end) as null_system_sequence_example,
        count(case when evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then 1 end) as null_key_0,
        min(case when evt.`id` is null and evt.__auto_cdc_kind <> 'truncate' then cast(evt.__auto_cdc_sequence as string) end) as null_key_0_example
    from shop.`customers__auto_cdc_events_c0ffee000002` as evt
),
repeated as (
    select `id`, __auto_cdc_sequence, __auto_cdc_system_sequence from shop.`customers__auto_cdc_events_c0ffee000002` as evt where __auto_cdc_kind <> 'truncate' group by `id`, __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
),
variants as (
    select
        evt.`id`,
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_system_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`name` end as __auto_cdc_written_0,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`note` end as __auto_cdc_written_1,
        count(*) as __auto_cdc_copies
    from shop.`customers__auto_cdc_events_c0ffee000002` as evt
    join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
    group by 1, 2, 3, 4, 5, 6
),
places as (
    select var.`id`, var.__auto_cdc_sequence, var.__auto_cdc_system_sequence, sum(var.__auto_cdc_copies) as __auto_cdc_copies, count(*) as __auto_cdc_ways, true as __auto_cdc_decides
    from variants as var group by var.`id`, var.__auto_cdc_sequence, var.__auto_cdc_system_sequence
),
ties as (
    select
        coalesce(sum(__auto_cdc_copies - __auto_cdc_ways), 0) as num_duplicate_rows,
        count(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 1 end) as num_tied_rows,
        min(case when __auto_cdc_ways > 1 and __auto_cdc_decides then 'id=' || coalesce(cast(places.`id` as string), 'null') || ' at ' || cast(places.__auto_cdc_sequence as string) || ', known at ' || cast(places.__auto_cdc_system_sequence as string) end) as num_tied_rows_example
    from places
),
late as (
    select (
    select count(*) from shop.`customers__auto_cdc_events_c0ffee000002` as evt
    join (
        select cmp.`id`, max(cmp.__auto_cdc_sequence) as __auto_cdc_latest
        from shop.customers__auto_cdc as cmp
        join (select distinct `id` from shop.`customers__auto_cdc_events_c0ffee000002`) as evt on evt.`id` = cmp.`id`
        group by cmp.`id`
    ) as head on head.`id` = evt.`id` and evt.__auto_cdc_sequence < head.__auto_cdc_latest) as num_late_rows
)
select *
from counted
cross join found
cross join ties
cross join late;

-- number the touched keys  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_touched_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
select `id`, min(__auto_cdc_system_sequence) as __auto_cdc_first, row_number() over (order by `id`) as __auto_cdc_owner
from shop.`customers__auto_cdc_events_c0ffee000002` group by `id`
) as src;

-- find the versions of the keys  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_stored_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
select
    touched.__auto_cdc_owner as owner,
    tgt.`__START_AT` as start_at,
    tgt.`__END_AT` as end_at,
    tgt.`__SYSTEM_START_AT` as system_start_at,
    tgt.`__SYSTEM_END_AT` as system_end_at,
    named_struct('at_0', tgt.`id`, 'at_1', tgt.`__START_AT`, 'at_2', tgt.`__END_AT`, 'at_3', tgt.`__SYSTEM_START_AT`, 'at_4', tgt.`__SYSTEM_END_AT`) as locator,
    tgt.`__SYSTEM_START_AT` < touched.__auto_cdc_first as is_base
from shop.customers as tgt
join shop.`customers__auto_cdc_touched_c0ffee000002` as touched on touched.`id` = tgt.`id`
where tgt.`__SYSTEM_END_AT` is null or tgt.`__SYSTEM_END_AT` >= touched.__auto_cdc_first
) as src;

-- find what the new events can change  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_parts_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with versions as (
    select owner, start_at, end_at, is_base, locator as tie from shop.`customers__auto_cdc_stored_c0ffee000002`
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
        select distinct touched.__auto_cdc_owner, evt.__auto_cdc_sequence, cast(null as timestamp), 0, 0
        from shop.`customers__auto_cdc_events_c0ffee000002` as evt
        join shop.`customers__auto_cdc_touched_c0ffee000002` as touched on touched.`id` = evt.`id`
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
from meeting group by owner, number_of
) as src;

-- line up the events of the touched parts  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_line_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with repeated as (
    select `id`, __auto_cdc_sequence, __auto_cdc_system_sequence from shop.`customers__auto_cdc_events_c0ffee000002` as evt where __auto_cdc_kind <> 'truncate' group by `id`, __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
),
copies as (
    select locator from (
        select evt.__auto_cdc_row as locator,
            row_number() over (partition by evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_system_sequence order by evt.__auto_cdc_row) as place
        from shop.`customers__auto_cdc_events_c0ffee000002` as evt
        join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
    ) as ranked where place > 1
),
arrived as (
    select evt.__auto_cdc_row as locator, part.line, evt.__auto_cdc_sequence as sequence,
        evt.__auto_cdc_system_sequence as system_at
    from shop.`customers__auto_cdc_events_c0ffee000002` as evt
    join shop.`customers__auto_cdc_touched_c0ffee000002` as touched on touched.`id` = evt.`id`
    join shop.`customers__auto_cdc_parts_c0ffee000002` as part on part.owner = touched.__auto_cdc_owner
        and evt.__auto_cdc_sequence >= part.start_at
        and (part.end_at is null or evt.__auto_cdc_sequence <= part.end_at)
    where evt.__auto_cdc_row not in (select locator from copies)
),
known as (
    select named_struct('at_0', cmp.`id`, 'at_1', cmp.__auto_cdc_sequence, 'at_2', cmp.__auto_cdc_system_sequence, 'at_3', cmp.__auto_cdc_kind) as locator, part.line, touched.__auto_cdc_first as first, cmp.__auto_cdc_kind as kind,
        cmp.__auto_cdc_sequence as sequence, cmp.__auto_cdc_system_sequence as system_at,
        lead(cmp.__auto_cdc_system_sequence) over (
            partition by part.line, cmp.__auto_cdc_sequence order by cmp.__auto_cdc_system_sequence
        ) as next_system,
        base.start_at is not null as starts
    from shop.customers__auto_cdc as cmp
    join shop.`customers__auto_cdc_touched_c0ffee000002` as touched on touched.`id` = cmp.`id`
    join shop.`customers__auto_cdc_parts_c0ffee000002` as part on part.owner = touched.__auto_cdc_owner
        and cmp.__auto_cdc_sequence >= part.start_at
        and (part.end_at is null or cmp.__auto_cdc_sequence <= part.end_at)
    left join shop.`customers__auto_cdc_stored_c0ffee000002` as base on base.owner = touched.__auto_cdc_owner and base.is_base
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
    evt.`id`,
    evt.`name`,
    evt.`note`,
    evt.__auto_cdc_sequence,
    evt.__auto_cdc_system_sequence,
    evt.__auto_cdc_kind,
    arrived.line as __auto_cdc_line, false as __auto_cdc_is_base
from shop.`customers__auto_cdc_events_c0ffee000002` as evt
join arrived on arrived.locator = evt.__auto_cdc_row
union all
select
    cmp.`id`,
    cmp.`name`,
    cmp.`note`,
    cmp.__auto_cdc_sequence,
    cmp.__auto_cdc_system_sequence,
    cmp.__auto_cdc_kind,
    kept.line, kept.is_base
from shop.customers__auto_cdc as cmp
join kept on kept.locator = named_struct('at_0', cmp.`id`, 'at_1', cmp.__auto_cdc_sequence, 'at_2', cmp.__auto_cdc_system_sequence, 'at_3', cmp.__auto_cdc_kind)
) as src;

-- place the events on both axes  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_placed_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with lined as (
    select evt.__auto_cdc_row as event, evt.__auto_cdc_line as line, evt.__auto_cdc_kind as kind,
        evt.__auto_cdc_sequence as sequence, evt.__auto_cdc_system_sequence as system_at, evt.__auto_cdc_is_base as is_base,
        base.start_at is not null as starts
    from shop.`customers__auto_cdc_line_c0ffee000002` as evt
    join shop.`customers__auto_cdc_parts_c0ffee000002` as part on part.line = evt.__auto_cdc_line
    left join shop.`customers__auto_cdc_stored_c0ffee000002` as base on base.owner = part.owner and base.is_base
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
from counted where is_lone
) as src;

-- list events by blocks of time  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_event_blocks_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
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
    select line, number, place, level, shiftright(moment + size - 1, level) as low, shiftright(until, level) as high
    from (
    select line, number, place, moment, until from shop.`customers__auto_cdc_placed_c0ffee000002` where line in (select line from shop.`customers__auto_cdc_placed_c0ffee000002` where seeks_before or seeks_after)
    ) as spans join sizes on size <= until
)
select line, level, low as block, place, number, 1 as is_span from halved where low < high and low % 2 = 1
union all
select line, level, high - 1, place, number, 1 from halved where low < high and high % 2 = 1
union all
select line, level, shiftright(moment, level), place, number, 0 from (
select line, number, place, moment, moments from shop.`customers__auto_cdc_placed_c0ffee000002` where seeks_before or seeks_after
) as points join sizes on size <= moments
) as src;

-- find the events beside each event  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_arrivals_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with seen as (
    select line, number, is_span,
        max(case when is_span = 1 then number end) over (partition by line, level, block order by place, is_span rows between unbounded preceding and current row) as before,
        min(case when is_span = 1 then number end) over (partition by line, level, block order by place desc, is_span rows between unbounded preceding and current row) as after
    from shop.`customers__auto_cdc_event_blocks_c0ffee000002`
),
nearest as (
    select line, number, max(before) as before, min(after) as after
    from seen where is_span = 0 group by line, number
),
beside as (
    select evt.line, evt.number, evt.place, evt.moment,
        case when evt.seeks_before then nearest.before else evt.before end as before,
        case when evt.seeks_after then nearest.after else evt.after end as after
    from shop.`customers__auto_cdc_placed_c0ffee000002` as evt
    left join nearest on nearest.line = evt.line and nearest.number = evt.number
    where not evt.is_lone
)
select beside.*, coalesce(next.place, 2147483647) as after_place
from beside
left join shop.`customers__auto_cdc_placed_c0ffee000002` as next on next.line = beside.line and next.number = beside.after
) as src;

-- find where versions start and end  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_turns_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with meeting as (
    select distinct line, place, moment, previous, present from (
        select line, place, moment, before as previous, number as present from shop.`customers__auto_cdc_arrivals_c0ffee000002`
        union all
        select line, after_place, moment, number, after from shop.`customers__auto_cdc_arrivals_c0ffee000002`
    ) as every_row
),
pairs as (
    select met.line, met.place, met.moment, previous.event as previous_event, present.event as present_event,
        previous.kind as previous_kind, present.kind as present_kind,
        coalesce(previous.is_base and present.is_base, false) as is_base, coalesce(present.starts, false) as starts
    from meeting as met
    left join shop.`customers__auto_cdc_placed_c0ffee000002` as previous on previous.line = met.line and previous.number = met.previous
    left join shop.`customers__auto_cdc_placed_c0ffee000002` as present on present.line = met.line and present.number = met.present
),
differing as (
    select pair.previous_event, pair.present_event
    from (
        select distinct previous_event, present_event from pairs where previous_kind = 'upsert' and present_kind = 'upsert' and not is_base
    ) as pair
    join (select __auto_cdc_row as __auto_cdc_locator, `name`, `note` from shop.`customers__auto_cdc_line_c0ffee000002`) as previous on previous.__auto_cdc_locator = pair.previous_event
    left join (select __auto_cdc_row as __auto_cdc_locator, `name`, `note` from shop.`customers__auto_cdc_line_c0ffee000002`) as present on present.__auto_cdc_locator = pair.present_event
    where not (previous.`name` <=> present.`name`) or not (previous.`note` <=> present.`note`)
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
from marked
) as src;

-- look for the walls beside each event  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_sights_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with places as (
    select line, place, max(case when is_wall then number end) as wall from shop.`customers__auto_cdc_turns_c0ffee000002` group by line, place
),
facing as (
    select line, place, max(wall) over (partition by line order by place rows between unbounded preceding and 1 preceding) as before,
        min(wall) over (partition by line order by place rows between 1 following and unbounded following) as after
    from places
)
select evt.line, evt.moment, own.number as own, next.number as next, own.place as own_place, next.place as next_place,
    lefts.before as left_wall, lefts.before is not null and not (wall_left.moment <= evt.moment and evt.moment < wall_left.until) as seeks_left,
    rights.after as right_wall, rights.after is not null and not (wall_right.moment <= evt.moment and evt.moment < wall_right.until) as seeks_right
from shop.`customers__auto_cdc_arrivals_c0ffee000002` as evt
join shop.`customers__auto_cdc_turns_c0ffee000002` as own on own.line = evt.line and own.place = evt.place and own.moment = evt.moment
join shop.`customers__auto_cdc_turns_c0ffee000002` as next on next.line = evt.line and next.place = evt.after_place and next.moment = evt.moment
join facing as lefts on lefts.line = evt.line and lefts.place = evt.place
join facing as rights on rights.line = evt.line and rights.place = evt.after_place
left join shop.`customers__auto_cdc_turns_c0ffee000002` as wall_left on wall_left.line = evt.line and wall_left.number = lefts.before
left join shop.`customers__auto_cdc_turns_c0ffee000002` as wall_right on wall_right.line = evt.line and wall_right.number = rights.after
where own.is_wall or own.was_wall or next.is_wall or next.was_wall
) as src;

-- list walls by blocks of time  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_wall_blocks_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
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
    select line, number, place, level, shiftright(moment + size - 1, level) as low, shiftright(until, level) as high
    from (
    select line, number, place, moment, until from shop.`customers__auto_cdc_turns_c0ffee000002`
    where is_wall and line in (select line from shop.`customers__auto_cdc_sights_c0ffee000002` where seeks_left or seeks_right)
    ) as spans join sizes on size <= until
)
select line, level, low as block, place, number, 1 as is_span from halved where low < high and low % 2 = 1
union all
select line, level, high - 1, place, number, 1 from halved where low < high and high % 2 = 1
union all
select line, level, shiftright(moment, level), place, number, 0 from (
select turn.line, turn.number, turn.place, turn.moment, turn.moments
from (select *, max(until) over (partition by line) as moments from shop.`customers__auto_cdc_turns_c0ffee000002`) as turn
join (
    select distinct line, number from (
        select line, own as number from shop.`customers__auto_cdc_sights_c0ffee000002` where seeks_left
        union all
        select line, next from shop.`customers__auto_cdc_sights_c0ffee000002` where seeks_right
    ) as every_row
) as seeking on seeking.line = turn.line and seeking.number = turn.number
) as points join sizes on size <= moments
) as src;

-- find the walls beside each wall  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_wall_neighbours_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with seen as (
    select line, number, is_span,
        max(case when is_span = 1 then number end) over (partition by line, level, block order by place, is_span rows between unbounded preceding and current row) as before,
        min(case when is_span = 1 then number end) over (partition by line, level, block order by place desc, is_span rows between unbounded preceding and current row) as after
    from shop.`customers__auto_cdc_wall_blocks_c0ffee000002`
)
select line, number, max(before) as before, min(after) as after
from seen where is_span = 0 group by line, number
) as src;

-- cut into versions  (only if num_new_events)
create or replace table shop.`customers__auto_cdc_timeline_c0ffee000002` using delta as
select src.*, monotonically_increasing_id() as __auto_cdc_row
from (
with beheld as (
    select evt.line, evt.moment, evt.own, evt.next, evt.own_place, evt.next_place,
        own.opens as own_opens, next.opens as next_opens, own.is_wall as own_is_wall, next.is_wall as next_is_wall,
        case when evt.seeks_left then lefts.before else evt.left_wall end as left_wall,
        case when evt.seeks_right then rights.after else evt.right_wall end as right_wall
    from shop.`customers__auto_cdc_sights_c0ffee000002` as evt
    join shop.`customers__auto_cdc_turns_c0ffee000002` as own on own.line = evt.line and own.number = evt.own
    join shop.`customers__auto_cdc_turns_c0ffee000002` as next on next.line = evt.line and next.number = evt.next
    left join shop.`customers__auto_cdc_wall_neighbours_c0ffee000002` as lefts on lefts.line = evt.line and lefts.number = evt.own
    left join shop.`customers__auto_cdc_wall_neighbours_c0ffee000002` as rights on rights.line = evt.line and rights.number = evt.next
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
        from beheld as evt join shop.`customers__auto_cdc_turns_c0ffee000002` as wall on wall.line = evt.line and wall.number = evt.left_wall
        where wall.opens
        union all
        select line, place, moment, null from shop.`customers__auto_cdc_turns_c0ffee000002` where did_open and not opens
    ) as every_row
),
bordered as (
    select pieces.line, pieces.place, pieces.moment, wall.place as end_place, wall.previous_event as event,
        lag(wall.place) over (partition by pieces.line, pieces.place order by pieces.moment) as end_place_before,
        lag(wall.previous_event) over (partition by pieces.line, pieces.place order by pieces.moment) as event_before
    from pieces
    left join shop.`customers__auto_cdc_turns_c0ffee000002` as wall on wall.line = pieces.line and wall.number = pieces.wall
),
changed as (
    select pair.previous_event, pair.present_event
    from (
        select distinct event_before as previous_event, event as present_event from bordered where end_place = end_place_before and event <> event_before
    ) as pair
    join (select __auto_cdc_row as __auto_cdc_locator, `name`, `note` from shop.`customers__auto_cdc_line_c0ffee000002`) as previous on previous.__auto_cdc_locator = pair.previous_event
    left join (select __auto_cdc_row as __auto_cdc_locator, `name`, `note` from shop.`customers__auto_cdc_line_c0ffee000002`) as present on present.__auto_cdc_locator = pair.present_event
    where not (previous.`name` <=> present.`name`) or not (previous.`note` <=> present.`note`)
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
    select line, place, min(sequence) as sequence from shop.`customers__auto_cdc_placed_c0ffee000002` group by line, place
),
moments as (
    select line, moment, min(system_at) as system_at from shop.`customers__auto_cdc_placed_c0ffee000002` where moment > 0 group by line, moment
),
lone as (
    select *, cast(null as timestamp) as no_end, cast(null as timestamp) as no_system_end from shop.`customers__auto_cdc_placed_c0ffee000002` where is_lone and kind = 'upsert'
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
    from shop.`customers__auto_cdc_stored_c0ffee000002` as src
    join shop.`customers__auto_cdc_parts_c0ffee000002` as part on part.owner = src.owner and src.start_at >= part.start_at
        and (part.end_at is null or src.start_at < part.end_at)
),
now as (
    select bounded.line, bounded.event, bounded.start_at, bounded.end_at, bounded.system_end_at,
        case when bounded.moment = 0 then base.system_start_at else bounded.system_start_at end as system_start_at,
        bounded.moment = 0 as is_base, part.owner
    from bounded
    join shop.`customers__auto_cdc_parts_c0ffee000002` as part on part.line = bounded.line
    left join there as base on base.is_base and base.line = bounded.line
        and base.start_at = case when bounded.moment = 0 then bounded.start_at end
    where part.end_at is null or bounded.start_at < part.end_at
),
beside as (
    select now.event, now.start_at, now.end_at, now.system_start_at, now.system_end_at, there.locator,
        coalesce(now.owner, there.owner) as owner,
        coalesce(now.is_base, false) or coalesce(there.is_base, false) as is_base,
        coalesce(not (there.end_at <=> now.end_at), true) as has_other_end,
        coalesce(not (there.system_end_at <=> now.system_end_at), true) as is_moved
    from now full join there on there.line = now.line and there.start_at = now.start_at
        and there.system_start_at = now.system_start_at
),
unlike as (
    select beside.locator
    from beside
    join (select __auto_cdc_row as __auto_cdc_locator, `name`, `note` from shop.`customers__auto_cdc_line_c0ffee000002`) as src on src.__auto_cdc_locator = beside.event
    join (select named_struct('at_0', shown.`id`, 'at_1', shown.`__START_AT`, 'at_2', shown.`__END_AT`, 'at_3', shown.`__SYSTEM_START_AT`, 'at_4', shown.`__SYSTEM_END_AT`) as __auto_cdc_locator, shown.`name`, shown.`note` from shop.customers as shown) as tgt on tgt.__auto_cdc_locator = beside.locator
    where not beside.has_other_end and (not (src.`name` <=> tgt.`name`) or not (src.`note` <=> tgt.`note`))
)
select beside.event, beside.start_at, beside.end_at, beside.system_start_at, beside.system_end_at, beside.locator,
    beside.owner, beside.is_base,
    beside.event is not null and beside.locator is not null and not beside.has_other_end
        and unlike.locator is null as is_same,
    beside.is_moved
from beside left join unlike on unlike.locator = beside.locator
) as src;

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
    select evt.*, 'id=' || coalesce(cast(touched.`id` as string), 'null') as shown
    from shop.`customers__auto_cdc_timeline_c0ffee000002` as evt
    join shop.`customers__auto_cdc_touched_c0ffee000002` as touched on touched.__auto_cdc_owner = evt.owner
) as evt;

-- write down what is left to do  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_new_events)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002 {"to_do": [["change shop.customers", "merge into shop.customers as tgt using (\\nselect\\n    cast(null as int) as `id`,\\n    cast(null as string) as `name`,\\n    cast(null as string) as `note`,\\n    cast(null as timestamp) as `__START_AT`,\\n    cast(null as timestamp) as `__END_AT`,\\n    cast(null as timestamp) as `__SYSTEM_START_AT`,\\n    cast(null as timestamp) as `__SYSTEM_END_AT`,\\n    __auto_cdc_locator, \'gone\' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `__START_AT`,\\n        cast(null as timestamp) as `__END_AT`,\\n        cast(null as timestamp) as `__SYSTEM_START_AT`,\\n        cast(value_0 as timestamp) as `__SYSTEM_END_AT`,\\n        place as __auto_cdc_locator,\\n        cast(\'ended\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select locator, system_end_at as value from shop.`customers__auto_cdc_timeline_c0ffee000002` where is_same and is_moved\\n    ) as ended(place, value_0)\\n    union all\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `__START_AT`,\\n        cast(null as timestamp) as `__END_AT`,\\n        cast(null as timestamp) as `__SYSTEM_START_AT`,\\n        cast(null as timestamp) as `__SYSTEM_END_AT`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select locator from shop.`customers__auto_cdc_timeline_c0ffee000002` where locator is not null and not is_same\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`__START_AT` as timestamp) as `__START_AT`,\\n        cast(row_born.`__END_AT` as timestamp) as `__END_AT`,\\n        cast(row_born.`__SYSTEM_START_AT` as timestamp) as `__SYSTEM_START_AT`,\\n        cast(row_born.`__SYSTEM_END_AT` as timestamp) as `__SYSTEM_END_AT`,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.`__START_AT`, \'at_2\', row_born.`__END_AT`, \'at_3\', row_born.`__SYSTEM_START_AT`, \'at_4\', row_born.`__SYSTEM_END_AT`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`__START_AT`,\\n        born.`__END_AT`,\\n        born.`__SYSTEM_START_AT`,\\n        born.`__SYSTEM_END_AT`\\n    from (\\n    with written as (\\n        select event, start_at, end_at, system_start_at, system_end_at\\n        from shop.`customers__auto_cdc_timeline_c0ffee000002`\\n        where event is not null and (not is_same or false)\\n    )\\n    select evt.`id`, evt.`name`, evt.`note`, run.start_at as `__START_AT`, run.end_at as `__END_AT`, run.system_start_at as `__SYSTEM_START_AT`, run.system_end_at as `__SYSTEM_END_AT`\\n    from shop.`customers__auto_cdc_line_c0ffee000002` as evt\\n    join written as run on run.event = evt.__auto_cdc_row\\n    ) as born(`id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action in (\'gone\', \'born\')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect `id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`, cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp, at_3: timestamp, at_4: timestamp>) as __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `__START_AT`,\\n        cast(null as timestamp) as `__END_AT`,\\n        cast(null as timestamp) as `__SYSTEM_START_AT`,\\n        cast(value_0 as timestamp) as `__SYSTEM_END_AT`,\\n        place as __auto_cdc_locator,\\n        cast(\'ended\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select locator, system_end_at as value from shop.`customers__auto_cdc_timeline_c0ffee000002` where is_same and is_moved\\n    ) as ended(place, value_0)\\n    union all\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `__START_AT`,\\n        cast(null as timestamp) as `__END_AT`,\\n        cast(null as timestamp) as `__SYSTEM_START_AT`,\\n        cast(null as timestamp) as `__SYSTEM_END_AT`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select locator from shop.`customers__auto_cdc_timeline_c0ffee000002` where locator is not null and not is_same\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`__START_AT` as timestamp) as `__START_AT`,\\n        cast(row_born.`__END_AT` as timestamp) as `__END_AT`,\\n        cast(row_born.`__SYSTEM_START_AT` as timestamp) as `__SYSTEM_START_AT`,\\n        cast(row_born.`__SYSTEM_END_AT` as timestamp) as `__SYSTEM_END_AT`,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.`__START_AT`, \'at_2\', row_born.`__END_AT`, \'at_3\', row_born.`__SYSTEM_START_AT`, \'at_4\', row_born.`__SYSTEM_END_AT`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`__START_AT`,\\n        born.`__END_AT`,\\n        born.`__SYSTEM_START_AT`,\\n        born.`__SYSTEM_END_AT`\\n    from (\\n    with written as (\\n        select event, start_at, end_at, system_start_at, system_end_at\\n        from shop.`customers__auto_cdc_timeline_c0ffee000002`\\n        where event is not null and (not is_same or false)\\n    )\\n    select evt.`id`, evt.`name`, evt.`note`, run.start_at as `__START_AT`, run.end_at as `__END_AT`, run.system_start_at as `__SYSTEM_START_AT`, run.system_end_at as `__SYSTEM_END_AT`\\n    from shop.`customers__auto_cdc_line_c0ffee000002` as evt\\n    join written as run on run.event = evt.__auto_cdc_row\\n    ) as born(`id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = \'born\'\\nunion all\\nselect `id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`, __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `__START_AT`,\\n        cast(null as timestamp) as `__END_AT`,\\n        cast(null as timestamp) as `__SYSTEM_START_AT`,\\n        cast(value_0 as timestamp) as `__SYSTEM_END_AT`,\\n        place as __auto_cdc_locator,\\n        cast(\'ended\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select locator, system_end_at as value from shop.`customers__auto_cdc_timeline_c0ffee000002` where is_same and is_moved\\n    ) as ended(place, value_0)\\n    union all\\n    select\\n        cast(null as int) as `id`,\\n        cast(null as string) as `name`,\\n        cast(null as string) as `note`,\\n        cast(null as timestamp) as `__START_AT`,\\n        cast(null as timestamp) as `__END_AT`,\\n        cast(null as timestamp) as `__SYSTEM_START_AT`,\\n        cast(null as timestamp) as `__SYSTEM_END_AT`,\\n        place as __auto_cdc_locator,\\n        cast(\'gone\' as string) as __auto_cdc_action,\\n        1 as __auto_cdc_step\\n    from (\\n    select locator from shop.`customers__auto_cdc_timeline_c0ffee000002` where locator is not null and not is_same\\n    ) as gone(place) where place is not null\\n    union all\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.`__START_AT` as timestamp) as `__START_AT`,\\n        cast(row_born.`__END_AT` as timestamp) as `__END_AT`,\\n        cast(row_born.`__SYSTEM_START_AT` as timestamp) as `__SYSTEM_START_AT`,\\n        cast(row_born.`__SYSTEM_END_AT` as timestamp) as `__SYSTEM_END_AT`,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.`__START_AT`, \'at_2\', row_born.`__END_AT`, \'at_3\', row_born.`__SYSTEM_START_AT`, \'at_4\', row_born.`__SYSTEM_END_AT`) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        2 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.`name`,\\n        born.`note`,\\n        born.`__START_AT`,\\n        born.`__END_AT`,\\n        born.`__SYSTEM_START_AT`,\\n        born.`__SYSTEM_END_AT`\\n    from (\\n    with written as (\\n        select event, start_at, end_at, system_start_at, system_end_at\\n        from shop.`customers__auto_cdc_timeline_c0ffee000002`\\n        where event is not null and (not is_same or false)\\n    )\\n    select evt.`id`, evt.`name`, evt.`note`, run.start_at as `__START_AT`, run.end_at as `__END_AT`, run.system_start_at as `__SYSTEM_START_AT`, run.system_end_at as `__SYSTEM_END_AT`\\n    from shop.`customers__auto_cdc_line_c0ffee000002` as evt\\n    join written as run on run.event = evt.__auto_cdc_row\\n    ) as born(`id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = \'ended\'\\n) as src\\non src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0 and tgt.`__START_AT` <=> src.__auto_cdc_locator.at_1 and tgt.`__END_AT` <=> src.__auto_cdc_locator.at_2 and tgt.`__SYSTEM_START_AT` <=> src.__auto_cdc_locator.at_3 and tgt.`__SYSTEM_END_AT` <=> src.__auto_cdc_locator.at_4\\nwhen matched and src.__auto_cdc_action = \'gone\' then delete\\nwhen matched and src.__auto_cdc_action = \'ended\' then update set `__SYSTEM_END_AT` = src.`__SYSTEM_END_AT`\\nwhen not matched and src.__auto_cdc_action = \'born\' then insert (`id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`) values (src.`id`, src.`name`, src.`note`, src.`__START_AT`, src.`__END_AT`, src.`__SYSTEM_START_AT`, src.`__SYSTEM_END_AT`)"], ["change shop.customers__auto_cdc", "merge into shop.customers__auto_cdc as tgt using (\\nselect\\n    cast(null as int) as `id`,\\n    cast(null as timestamp) as __auto_cdc_sequence,\\n    cast(null as timestamp) as __auto_cdc_system_sequence,\\n    cast(null as string) as __auto_cdc_kind,\\n    cast(null as string) as `name`,\\n    cast(null as string) as `note`,\\n    cast(null as string) as __auto_cdc_control,\\n    __auto_cdc_locator, \'gone\' as __auto_cdc_action\\nfrom (\\nselect __auto_cdc_locator from (\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.__auto_cdc_sequence as timestamp) as __auto_cdc_sequence,\\n        cast(row_born.__auto_cdc_system_sequence as timestamp) as __auto_cdc_system_sequence,\\n        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.__auto_cdc_sequence, \'at_2\', row_born.__auto_cdc_system_sequence, \'at_3\', row_born.__auto_cdc_kind) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.__auto_cdc_sequence,\\n        born.__auto_cdc_system_sequence,\\n        born.__auto_cdc_kind,\\n        born.`name`,\\n        born.`note`,\\n        cast(null as string) as __auto_cdc_control\\n    from (\\n    with repeated as (\\n        select `id`, __auto_cdc_sequence, __auto_cdc_system_sequence from shop.`customers__auto_cdc_events_c0ffee000002` as evt where __auto_cdc_kind <> \'truncate\' group by `id`, __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1\\n    ),\\n    copies as (\\n        select locator from (\\n            select evt.__auto_cdc_row as locator,\\n                row_number() over (partition by evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_system_sequence order by evt.__auto_cdc_row) as place\\n            from shop.`customers__auto_cdc_events_c0ffee000002` as evt\\n            join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence\\n        ) as ranked where place > 1\\n    )\\n    select\\n        evt.`id`,\\n        evt.__auto_cdc_sequence,\\n        evt.__auto_cdc_system_sequence,\\n        evt.__auto_cdc_kind,\\n        case when evt.__auto_cdc_kind = \'upsert\' then evt.`name` end as `name`,\\n        case when evt.__auto_cdc_kind = \'upsert\' then evt.`note` end as `note`\\n    from shop.`customers__auto_cdc_events_c0ffee000002` as evt\\n    where evt.__auto_cdc_row not in (select locator from copies)\\n    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, `name`, `note`)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action in (\'gone\', \'born\')\\ngroup by __auto_cdc_locator\\n) as going\\nunion all\\nselect `id`, __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, `name`, `note`, __auto_cdc_control, cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp, at_3: string>) as __auto_cdc_locator, __auto_cdc_action\\nfrom (\\n    select\\n        cast(row_born.`id` as int) as `id`,\\n        cast(row_born.__auto_cdc_sequence as timestamp) as __auto_cdc_sequence,\\n        cast(row_born.__auto_cdc_system_sequence as timestamp) as __auto_cdc_system_sequence,\\n        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,\\n        cast(row_born.`name` as string) as `name`,\\n        cast(row_born.`note` as string) as `note`,\\n        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,\\n        named_struct(\'at_0\', row_born.`id`, \'at_1\', row_born.__auto_cdc_sequence, \'at_2\', row_born.__auto_cdc_system_sequence, \'at_3\', row_born.__auto_cdc_kind) as __auto_cdc_locator,\\n        cast(\'born\' as string) as __auto_cdc_action,\\n        0 as __auto_cdc_step\\n    from (\\n    select\\n        born.`id`,\\n        born.__auto_cdc_sequence,\\n        born.__auto_cdc_system_sequence,\\n        born.__auto_cdc_kind,\\n        born.`name`,\\n        born.`note`,\\n        cast(null as string) as __auto_cdc_control\\n    from (\\n    with repeated as (\\n        select `id`, __auto_cdc_sequence, __auto_cdc_system_sequence from shop.`customers__auto_cdc_events_c0ffee000002` as evt where __auto_cdc_kind <> \'truncate\' group by `id`, __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1\\n    ),\\n    copies as (\\n        select locator from (\\n            select evt.__auto_cdc_row as locator,\\n                row_number() over (partition by evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_system_sequence order by evt.__auto_cdc_row) as place\\n            from shop.`customers__auto_cdc_events_c0ffee000002` as evt\\n            join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence\\n        ) as ranked where place > 1\\n    )\\n    select\\n        evt.`id`,\\n        evt.__auto_cdc_sequence,\\n        evt.__auto_cdc_system_sequence,\\n        evt.__auto_cdc_kind,\\n        case when evt.__auto_cdc_kind = \'upsert\' then evt.`name` end as `name`,\\n        case when evt.__auto_cdc_kind = \'upsert\' then evt.`note` end as `note`\\n    from shop.`customers__auto_cdc_events_c0ffee000002` as evt\\n    where evt.__auto_cdc_row not in (select locator from copies)\\n    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, `name`, `note`)\\n    ) as row_born\\n) as changes\\nwhere __auto_cdc_action = \'born\'\\nunion all\\nselect `id`, __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, `name`, `note`, __auto_cdc_control, named_struct(\'at_0\', own.`id`, \'at_1\', own.__auto_cdc_sequence, \'at_2\', own.__auto_cdc_system_sequence, \'at_3\', own.__auto_cdc_kind), \'done\' as __auto_cdc_action\\nfrom (\\nselect\\n    cast(null as int) as `id`,\\n    cast(null as timestamp) as __auto_cdc_sequence,\\n    cast(null as timestamp) as __auto_cdc_system_sequence,\\n    \'journal\' as __auto_cdc_kind,\\n    cast(null as string) as `name`,\\n    cast(null as string) as `note`,\\n    \'c0ffee000002 {\\"to_do\\": [], \\"frees\\": \\"drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_events_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_touched_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_stored_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_parts_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_line_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_placed_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_event_blocks_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_arrivals_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_turns_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_sights_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_wall_blocks_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_wall_neighbours_c0ffee000002`\\\\\\\\n-- auto_cdc: next statement\\\\\\\\ndrop table if exists shop.`customers__auto_cdc_timeline_c0ffee000002`\\", \\"asks\\": \\"\\", \\"otherwise\\": [], \\"appends\\": false}\' as __auto_cdc_control\\n) as own\\n) as src\\non src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0 and tgt.__auto_cdc_sequence <=> src.__auto_cdc_locator.at_1 and tgt.__auto_cdc_system_sequence <=> src.__auto_cdc_locator.at_2 and tgt.__auto_cdc_kind <=> src.__auto_cdc_locator.at_3\\nwhen matched and src.__auto_cdc_action = \'gone\' then delete\\nwhen matched and src.__auto_cdc_action = \'done\' and tgt.__auto_cdc_kind = \'journal\' and substr(tgt.__auto_cdc_control, 1, 13) = \'c0ffee000002 \' then update set __auto_cdc_control = src.__auto_cdc_control\\nwhen not matched and src.__auto_cdc_action = \'born\' then insert (`id`, __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, `name`, `note`, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_system_sequence, src.__auto_cdc_kind, src.`name`, src.`note`, src.__auto_cdc_control)"]], "frees": "drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_events_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_touched_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_stored_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_parts_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_line_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_placed_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_event_blocks_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_arrivals_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_turns_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_sights_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_wall_blocks_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_wall_neighbours_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_timeline_c0ffee000002`", "asks": "", "otherwise": [], "appends": false}'
where __auto_cdc_kind = 'journal' and __auto_cdc_control = 'c0ffee000001';

-- see whose turn it is  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_new_events)
select case when count(*) = 0 then 1 else 0 end as lost_turn
from shop.customers__auto_cdc where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';

-- change shop.customers  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_new_events)
merge into shop.customers as tgt using (
select
    cast(null as int) as `id`,
    cast(null as string) as `name`,
    cast(null as string) as `note`,
    cast(null as timestamp) as `__START_AT`,
    cast(null as timestamp) as `__END_AT`,
    cast(null as timestamp) as `__SYSTEM_START_AT`,
    cast(null as timestamp) as `__SYSTEM_END_AT`,
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `__START_AT`,
        cast(null as timestamp) as `__END_AT`,
        cast(null as timestamp) as `__SYSTEM_START_AT`,
        cast(value_0 as timestamp) as `__SYSTEM_END_AT`,
        place as __auto_cdc_locator,
        cast('ended' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select locator, system_end_at as value from shop.`customers__auto_cdc_timeline_c0ffee000002` where is_same and is_moved
    ) as ended(place, value_0)
    union all
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `__START_AT`,
        cast(null as timestamp) as `__END_AT`,
        cast(null as timestamp) as `__SYSTEM_START_AT`,
        cast(null as timestamp) as `__SYSTEM_END_AT`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select locator from shop.`customers__auto_cdc_timeline_c0ffee000002` where locator is not null and not is_same
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`__START_AT` as timestamp) as `__START_AT`,
        cast(row_born.`__END_AT` as timestamp) as `__END_AT`,
        cast(row_born.`__SYSTEM_START_AT` as timestamp) as `__SYSTEM_START_AT`,
        cast(row_born.`__SYSTEM_END_AT` as timestamp) as `__SYSTEM_END_AT`,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.`__START_AT`, 'at_2', row_born.`__END_AT`, 'at_3', row_born.`__SYSTEM_START_AT`, 'at_4', row_born.`__SYSTEM_END_AT`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`__START_AT`,
        born.`__END_AT`,
        born.`__SYSTEM_START_AT`,
        born.`__SYSTEM_END_AT`
    from (
    with written as (
        select event, start_at, end_at, system_start_at, system_end_at
        from shop.`customers__auto_cdc_timeline_c0ffee000002`
        where event is not null and (not is_same or false)
    )
    select evt.`id`, evt.`name`, evt.`note`, run.start_at as `__START_AT`, run.end_at as `__END_AT`, run.system_start_at as `__SYSTEM_START_AT`, run.system_end_at as `__SYSTEM_END_AT`
    from shop.`customers__auto_cdc_line_c0ffee000002` as evt
    join written as run on run.event = evt.__auto_cdc_row
    ) as born(`id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`)
    ) as row_born
) as changes
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select `id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`, cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp, at_3: timestamp, at_4: timestamp>) as __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `__START_AT`,
        cast(null as timestamp) as `__END_AT`,
        cast(null as timestamp) as `__SYSTEM_START_AT`,
        cast(value_0 as timestamp) as `__SYSTEM_END_AT`,
        place as __auto_cdc_locator,
        cast('ended' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select locator, system_end_at as value from shop.`customers__auto_cdc_timeline_c0ffee000002` where is_same and is_moved
    ) as ended(place, value_0)
    union all
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `__START_AT`,
        cast(null as timestamp) as `__END_AT`,
        cast(null as timestamp) as `__SYSTEM_START_AT`,
        cast(null as timestamp) as `__SYSTEM_END_AT`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select locator from shop.`customers__auto_cdc_timeline_c0ffee000002` where locator is not null and not is_same
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`__START_AT` as timestamp) as `__START_AT`,
        cast(row_born.`__END_AT` as timestamp) as `__END_AT`,
        cast(row_born.`__SYSTEM_START_AT` as timestamp) as `__SYSTEM_START_AT`,
        cast(row_born.`__SYSTEM_END_AT` as timestamp) as `__SYSTEM_END_AT`,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.`__START_AT`, 'at_2', row_born.`__END_AT`, 'at_3', row_born.`__SYSTEM_START_AT`, 'at_4', row_born.`__SYSTEM_END_AT`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`__START_AT`,
        born.`__END_AT`,
        born.`__SYSTEM_START_AT`,
        born.`__SYSTEM_END_AT`
    from (
    with written as (
        select event, start_at, end_at, system_start_at, system_end_at
        from shop.`customers__auto_cdc_timeline_c0ffee000002`
        where event is not null and (not is_same or false)
    )
    select evt.`id`, evt.`name`, evt.`note`, run.start_at as `__START_AT`, run.end_at as `__END_AT`, run.system_start_at as `__SYSTEM_START_AT`, run.system_end_at as `__SYSTEM_END_AT`
    from shop.`customers__auto_cdc_line_c0ffee000002` as evt
    join written as run on run.event = evt.__auto_cdc_row
    ) as born(`id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`)
    ) as row_born
) as changes
where __auto_cdc_action = 'born'
union all
select `id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`, __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `__START_AT`,
        cast(null as timestamp) as `__END_AT`,
        cast(null as timestamp) as `__SYSTEM_START_AT`,
        cast(value_0 as timestamp) as `__SYSTEM_END_AT`,
        place as __auto_cdc_locator,
        cast('ended' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select locator, system_end_at as value from shop.`customers__auto_cdc_timeline_c0ffee000002` where is_same and is_moved
    ) as ended(place, value_0)
    union all
    select
        cast(null as int) as `id`,
        cast(null as string) as `name`,
        cast(null as string) as `note`,
        cast(null as timestamp) as `__START_AT`,
        cast(null as timestamp) as `__END_AT`,
        cast(null as timestamp) as `__SYSTEM_START_AT`,
        cast(null as timestamp) as `__SYSTEM_END_AT`,
        place as __auto_cdc_locator,
        cast('gone' as string) as __auto_cdc_action,
        1 as __auto_cdc_step
    from (
    select locator from shop.`customers__auto_cdc_timeline_c0ffee000002` where locator is not null and not is_same
    ) as gone(place) where place is not null
    union all
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.`__START_AT` as timestamp) as `__START_AT`,
        cast(row_born.`__END_AT` as timestamp) as `__END_AT`,
        cast(row_born.`__SYSTEM_START_AT` as timestamp) as `__SYSTEM_START_AT`,
        cast(row_born.`__SYSTEM_END_AT` as timestamp) as `__SYSTEM_END_AT`,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.`__START_AT`, 'at_2', row_born.`__END_AT`, 'at_3', row_born.`__SYSTEM_START_AT`, 'at_4', row_born.`__SYSTEM_END_AT`) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        2 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.`name`,
        born.`note`,
        born.`__START_AT`,
        born.`__END_AT`,
        born.`__SYSTEM_START_AT`,
        born.`__SYSTEM_END_AT`
    from (
    with written as (
        select event, start_at, end_at, system_start_at, system_end_at
        from shop.`customers__auto_cdc_timeline_c0ffee000002`
        where event is not null and (not is_same or false)
    )
    select evt.`id`, evt.`name`, evt.`note`, run.start_at as `__START_AT`, run.end_at as `__END_AT`, run.system_start_at as `__SYSTEM_START_AT`, run.system_end_at as `__SYSTEM_END_AT`
    from shop.`customers__auto_cdc_line_c0ffee000002` as evt
    join written as run on run.event = evt.__auto_cdc_row
    ) as born(`id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`)
    ) as row_born
) as changes
where __auto_cdc_action = 'ended'
) as src
on src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0 and tgt.`__START_AT` <=> src.__auto_cdc_locator.at_1 and tgt.`__END_AT` <=> src.__auto_cdc_locator.at_2 and tgt.`__SYSTEM_START_AT` <=> src.__auto_cdc_locator.at_3 and tgt.`__SYSTEM_END_AT` <=> src.__auto_cdc_locator.at_4
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'ended' then update set `__SYSTEM_END_AT` = src.`__SYSTEM_END_AT`
when not matched and src.__auto_cdc_action = 'born' then insert (`id`, `name`, `note`, `__START_AT`, `__END_AT`, `__SYSTEM_START_AT`, `__SYSTEM_END_AT`) values (src.`id`, src.`name`, src.`note`, src.`__START_AT`, src.`__END_AT`, src.`__SYSTEM_START_AT`, src.`__SYSTEM_END_AT`);

-- change shop.customers__auto_cdc  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_new_events)
merge into shop.customers__auto_cdc as tgt using (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    cast(null as timestamp) as __auto_cdc_system_sequence,
    cast(null as string) as __auto_cdc_kind,
    cast(null as string) as `name`,
    cast(null as string) as `note`,
    cast(null as string) as __auto_cdc_control,
    __auto_cdc_locator, 'gone' as __auto_cdc_action
from (
select __auto_cdc_locator from (
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.__auto_cdc_sequence as timestamp) as __auto_cdc_sequence,
        cast(row_born.__auto_cdc_system_sequence as timestamp) as __auto_cdc_system_sequence,
        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.__auto_cdc_sequence, 'at_2', row_born.__auto_cdc_system_sequence, 'at_3', row_born.__auto_cdc_kind) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.__auto_cdc_sequence,
        born.__auto_cdc_system_sequence,
        born.__auto_cdc_kind,
        born.`name`,
        born.`note`,
        cast(null as string) as __auto_cdc_control
    from (
    with repeated as (
        select `id`, __auto_cdc_sequence, __auto_cdc_system_sequence from shop.`customers__auto_cdc_events_c0ffee000002` as evt where __auto_cdc_kind <> 'truncate' group by `id`, __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
    ),
    copies as (
        select locator from (
            select evt.__auto_cdc_row as locator,
                row_number() over (partition by evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_system_sequence order by evt.__auto_cdc_row) as place
            from shop.`customers__auto_cdc_events_c0ffee000002` as evt
            join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
        ) as ranked where place > 1
    )
    select
        evt.`id`,
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_system_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`name` end as `name`,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`note` end as `note`
    from shop.`customers__auto_cdc_events_c0ffee000002` as evt
    where evt.__auto_cdc_row not in (select locator from copies)
    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, `name`, `note`)
    ) as row_born
) as changes
where __auto_cdc_action in ('gone', 'born')
group by __auto_cdc_locator
) as going
union all
select `id`, __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, `name`, `note`, __auto_cdc_control, cast(null as struct<at_0: int, at_1: timestamp, at_2: timestamp, at_3: string>) as __auto_cdc_locator, __auto_cdc_action
from (
    select
        cast(row_born.`id` as int) as `id`,
        cast(row_born.__auto_cdc_sequence as timestamp) as __auto_cdc_sequence,
        cast(row_born.__auto_cdc_system_sequence as timestamp) as __auto_cdc_system_sequence,
        cast(row_born.__auto_cdc_kind as string) as __auto_cdc_kind,
        cast(row_born.`name` as string) as `name`,
        cast(row_born.`note` as string) as `note`,
        cast(row_born.__auto_cdc_control as string) as __auto_cdc_control,
        named_struct('at_0', row_born.`id`, 'at_1', row_born.__auto_cdc_sequence, 'at_2', row_born.__auto_cdc_system_sequence, 'at_3', row_born.__auto_cdc_kind) as __auto_cdc_locator,
        cast('born' as string) as __auto_cdc_action,
        0 as __auto_cdc_step
    from (
    select
        born.`id`,
        born.__auto_cdc_sequence,
        born.__auto_cdc_system_sequence,
        born.__auto_cdc_kind,
        born.`name`,
        born.`note`,
        cast(null as string) as __auto_cdc_control
    from (
    with repeated as (
        select `id`, __auto_cdc_sequence, __auto_cdc_system_sequence from shop.`customers__auto_cdc_events_c0ffee000002` as evt where __auto_cdc_kind <> 'truncate' group by `id`, __auto_cdc_sequence, __auto_cdc_system_sequence having count(*) > 1
    ),
    copies as (
        select locator from (
            select evt.__auto_cdc_row as locator,
                row_number() over (partition by evt.`id`, evt.__auto_cdc_sequence, evt.__auto_cdc_system_sequence order by evt.__auto_cdc_row) as place
            from shop.`customers__auto_cdc_events_c0ffee000002` as evt
            join repeated on evt.`id` = repeated.`id` and evt.__auto_cdc_sequence = repeated.__auto_cdc_sequence and evt.__auto_cdc_system_sequence = repeated.__auto_cdc_system_sequence
        ) as ranked where place > 1
    )
    select
        evt.`id`,
        evt.__auto_cdc_sequence,
        evt.__auto_cdc_system_sequence,
        evt.__auto_cdc_kind,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`name` end as `name`,
        case when evt.__auto_cdc_kind = 'upsert' then evt.`note` end as `note`
    from shop.`customers__auto_cdc_events_c0ffee000002` as evt
    where evt.__auto_cdc_row not in (select locator from copies)
    ) as born(`id`, __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, `name`, `note`)
    ) as row_born
) as changes
where __auto_cdc_action = 'born'
union all
select `id`, __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, `name`, `note`, __auto_cdc_control, named_struct('at_0', own.`id`, 'at_1', own.__auto_cdc_sequence, 'at_2', own.__auto_cdc_system_sequence, 'at_3', own.__auto_cdc_kind), 'done' as __auto_cdc_action
from (
select
    cast(null as int) as `id`,
    cast(null as timestamp) as __auto_cdc_sequence,
    cast(null as timestamp) as __auto_cdc_system_sequence,
    'journal' as __auto_cdc_kind,
    cast(null as string) as `name`,
    cast(null as string) as `note`,
    'c0ffee000002 {"to_do": [], "frees": "drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_events_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_touched_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_stored_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_parts_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_line_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_placed_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_event_blocks_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_arrivals_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_turns_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_sights_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_wall_blocks_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_wall_neighbours_c0ffee000002`\\n-- auto_cdc: next statement\\ndrop table if exists shop.`customers__auto_cdc_timeline_c0ffee000002`", "asks": "", "otherwise": [], "appends": false}' as __auto_cdc_control
) as own
) as src
on src.__auto_cdc_locator is not null and tgt.`id` <=> src.__auto_cdc_locator.at_0 and tgt.__auto_cdc_sequence <=> src.__auto_cdc_locator.at_1 and tgt.__auto_cdc_system_sequence <=> src.__auto_cdc_locator.at_2 and tgt.__auto_cdc_kind <=> src.__auto_cdc_locator.at_3
when matched and src.__auto_cdc_action = 'gone' then delete
when matched and src.__auto_cdc_action = 'done' and tgt.__auto_cdc_kind = 'journal' and substr(tgt.__auto_cdc_control, 1, 13) = 'c0ffee000002 ' then update set __auto_cdc_control = src.__auto_cdc_control
when not matched and src.__auto_cdc_action = 'born' then insert (`id`, __auto_cdc_sequence, __auto_cdc_system_sequence, __auto_cdc_kind, `name`, `note`, __auto_cdc_control) values (src.`id`, src.__auto_cdc_sequence, src.__auto_cdc_system_sequence, src.__auto_cdc_kind, src.`name`, src.`note`, src.__auto_cdc_control);

-- free the working tables
drop table if exists shop.`customers__auto_cdc_stage_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_events_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_touched_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_stored_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_parts_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_line_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_placed_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_event_blocks_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_arrivals_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_turns_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_sights_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_wall_blocks_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_wall_neighbours_c0ffee000002`
-- auto_cdc: next statement
drop table if exists shop.`customers__auto_cdc_timeline_c0ffee000002`;

-- cross it off  (only if num_versions_ended_and_many or num_versions_removed or num_versions_written or num_new_events)
update shop.customers__auto_cdc set __auto_cdc_control = 'c0ffee000002'
where __auto_cdc_kind = 'journal' and substr(__auto_cdc_control, 1, 13) = 'c0ffee000002 ';
