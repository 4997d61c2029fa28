"""The query behind the data test `no_overlapping_rectangles`: versions of a key that meet on both axes of time.

Not here: the other data tests, which are short enough for their macros. The SQL is plain, for any engine.

The versions of a key are compared in pairs, which is the cheapest where there are few. Where there are many, pairs
would be quadratic. So there the key's business bounds are numbered 0, 1, 2, ... (places), and the places are put into
cells of one, two, four, ... of them, as in a tree of halves:

    places   0 1 2 3 4 5 6 7
    size 2  |0  |1  |2  |3  |        a version from 1 to 7 fills place 1, cells 1 and 2 of size 2, and place 6;
    size 4  |0      |1      |        beside those it touches the cells in which it begins and ends, of every size

A version fills at most two cells of a size, and two versions meet in business time exactly where one fills a cell that
the other touches. Within a cell, sorted by where they start in system time, it is enough to know how far the earlier
ones reach. So the work is that of sorting each version up to 4 log2(versions of its key) times.
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.sql import Query, all_of, comma

_BOUNDS = names.BOUNDS["bitemporal"]
# These stand beside the user's key columns.
_VERSION, _KEY, _VERSIONS, _BROKEN = (
    names.PREFIX + name for name in ("version", "key", "versions", "is_broken")
)
# More bounds than 2 ** 40 a key no table has.
_SIZES = "\nunion all ".join(f"select {2**power} as cell_size" for power in range(41))


def overlapping_rectangles(*, relation: str, keys: str, in_pairs: int = 1000) -> str:
    """Return the query for all versions that overlap an earlier one of their key, and those with broken bounds.

    `keys` are columns as SQL, separated by commas. Earlier is what was believed first. Keys with up to `in_pairs`
    versions are compared in pairs.
    """
    query = Query()
    for name, select in (
        ("counted", _counted(relation, keys)),
        ("versions", _versions(keys)),
        ("paired", _paired(in_pairs)),
        ("bounds", _bounds(in_pairs)),
        ("places", _places()),
        ("sizes", _SIZES),
        ("spans", _spans()),
        ("cells", _cells()),
        ("reaches", _reaches()),
        ("found", _found(keys)),
    ):
        query = query.then(name, select)
    return query.render()


def _counted(relation: str, keys: str) -> str:
    """All versions with how many the key has; broken are those without a start, and those that end by their start."""
    start, end, system_start, system_end = _BOUNDS
    broken = (
        f"{start} is null or {system_start} is null or {end} <= {start} or {system_end} <= {system_start}"
    )
    columns = [
        keys,
        *_BOUNDS,
        f"case when {broken} then 1 else 0 end as {_BROKEN}",
        f"count(*) over (partition by {keys}) as {_VERSIONS}",
    ]
    return f"select\n    {comma(columns)}\nfrom {relation}"


def _versions(keys: str) -> str:
    """The sound versions that others of their key may overlap, numbered as they are believed one after the other."""
    start, end, system_start, system_end = _BOUNDS
    columns = [
        keys,
        *_BOUNDS,
        _VERSIONS,
        # By all columns, for an engine may evaluate this step anew wherever it is read.
        f"row_number() over (order by {keys}, {system_start}, {start}, {end}, {system_end}) as {_VERSION}",
        f"dense_rank() over (order by {keys}) as {_KEY}",
    ]
    return f"select\n    {comma(columns)}\nfrom counted\nwhere {_BROKEN} = 0 and {_VERSIONS} > 1"


def _paired(in_pairs: int) -> str:
    """One row for each pair that overlaps, of the keys with few versions."""
    pair = (("earlier", "later"), ("later", "earlier"))
    overlap = [
        f"({one}.{end} is null or {other}.{start} < {one}.{end})"
        for start, end in (_BOUNDS[:2], _BOUNDS[2:])
        for one, other in pair
    ]
    return f"""
select later.{_VERSION}
from versions as earlier
join versions as later on later.{_KEY} = earlier.{_KEY} and later.{_VERSION} > earlier.{_VERSION}
where earlier.{_VERSIONS} <= {in_pairs} and {all_of(overlap)}"""


def _bounds(in_pairs: int) -> str:
    """One row for each business bound of a key with many versions."""
    start, end, *_ = _BOUNDS
    return f"""
select {_KEY}, {start} as bound from versions where {_VERSIONS} > {in_pairs}
union
select {_KEY}, {end} as bound from versions where {_VERSIONS} > {in_pairs} and {end} is not null"""


def _places() -> str:
    """The same rows, numbered, with how many the key has: that is also the place of an open end."""
    return f"""
select
    {_KEY}, bound,
    row_number() over (partition by {_KEY} order by bound) - 1 as place,
    count(*) over (partition by {_KEY}) as places
from bounds"""


def _spans() -> str:
    """One row for each of their versions and size of cells, up to the size that holds all places of the key."""
    start, end, system_start, system_end = _BOUNDS

    def cell(place: str) -> str:
        # `/` divides whole numbers as such in some engines only.
        return f"cast(floor(({place}) / sizes.cell_size) as bigint)"

    end_place = "coalesce(ends.place, starts.places)"
    return f"""
select
    versions.{_VERSION}, versions.{_KEY}, sizes.cell_size,
    versions.{system_start} as system_start, versions.{system_end} as system_end,
    {cell("starts.place")} as first_touched,
    {cell(f"{end_place} - 1")} as last_touched,
    {cell("starts.place + sizes.cell_size - 1")} as first_inside,
    {cell(end_place)} as end_inside
from versions
join places as starts on starts.{_KEY} = versions.{_KEY} and starts.bound = versions.{start}
left join places as ends on ends.{_KEY} = versions.{_KEY} and ends.bound = versions.{end}
join sizes on sizes.cell_size < 2 * starts.places"""


def _cells() -> str:
    """One row for each version and cell that it fills or, at its ends, touches.

    Of the cells inside a version, those that make up a larger one inside it with their neighbour are left out.
    """
    inside = "first_inside < end_inside and mod"
    ways = (
        ("first_touched", 0, ""),
        ("last_touched", 0, " where last_touched > first_touched"),
        ("first_inside", 1, f" where {inside}(first_inside, 2) = 1"),
        ("end_inside - 1", 1, f" where {inside}(end_inside, 2) = 1"),
    )
    columns = f"{_VERSION}, {_KEY}, cell_size, system_start, system_end"
    each = "\nunion all\n".join(
        f"select {columns}, {cell} as cell, {fills} as fills from spans{where}" for cell, fills, where in ways
    )
    return f"select {columns}, cell, max(fills) as fills from (\n{each}\n) as ways\ngroup by {columns}, cell"


def _reaches() -> str:
    """The same rows, with how far in system time the earlier ones of the cell reach: all, and those that fill it."""
    earlier = (
        f"over (partition by {_KEY}, cell_size, cell order by system_start, {_VERSION}"
        " rows between unbounded preceding and 1 preceding)"
    )
    columns = (
        _VERSION,
        "fills",
        "system_start",
        f"max(system_end) {earlier} as latest_end",
        f"max(case when system_end is null then 1 else 0 end) {earlier} as has_open",
        f"max(case when fills = 1 then system_end end) {earlier} as latest_end_filling",
        f"max(case when fills = 1 and system_end is null then 1 else 0 end) {earlier} as has_open_filling",
    )
    return f"select\n    {comma(columns)}\nfrom cells"


def _found(keys: str) -> str:
    """The versions that reach into an earlier one, and the broken ones."""
    meets = (
        "latest_end_filling > system_start or has_open_filling = 1"
        " or (fills = 1 and (latest_end > system_start or has_open = 1))"
    )
    columns = f"{keys}, {', '.join(_BOUNDS)}"
    return f"""
select {columns} from counted where {_BROKEN} = 1
union all
select {columns} from versions
where {_VERSION} in (
    select {_VERSION} from paired
    union all
    select {_VERSION} from reaches where {meets}
)"""
