"""SCD type 1 under partial updates: each part of a key's row has the value of the latest event that sent it.

The companion keeps, beside a key's greatest sequence, the last delete below its row and the sequence that wrote each
part that events may leave out.

Not here: what partial updates leave as it is (`scd1`).
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.plan import Step
from dbt_auto_cdc.resolve import Part
from dbt_auto_cdc.scd import changes, check, scd1, writes
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.sql import Query, all_of, any_of, comma


def authors(job: Job) -> dict[str, Part]:
    """Return the companion's columns that hold which sequence wrote a part, with the parts that may be left out."""
    limit = job.engine.identifier_limit
    return {
        job.engine.quote(names.of_part(names.AUTHOR, part.called, limit)): part
        for part in job.layout.parts
        if part.partial
    }


def read(job: Job) -> tuple[Step, ...]:
    """Bring the feed into checked new events, and merge those of a key with what it has."""
    kept = (scd1.events(job, _memory(job)),) if job.keeps_events else ()
    won = job.working(names.WINNERS)
    checked = check.check(job, changes.repeated(job), winners=won, more="" if job.builds else _deleted(job))
    if job.builds:
        return (changes.stage(job), *kept, _sums(job), _merged(job), checked)
    return (_stage(job), *kept, _sums(job), _places(job), _merged(job), checked)


def _memory(job: Job) -> dict[str, str]:
    """What the companion, cmp, knows of a key: the last upsert of a living row, the last delete, and who wrote what."""
    live, sequence = f"cmp.{names.KIND} = 'upsert'", f"cmp.{names.SEQUENCE}"
    return {
        names.LATEST: f"case when {live} then {sequence} end",
        names.FLOOR: f"case when {live} then cmp.{names.FLOOR} else {sequence} end",
        **{author: f"cmp.{author}" for author in authors(job)},
    }


def _stage(job: Job) -> Step:
    """Evaluate the user's SQL; an event that can change no part of what its key has is known, or too late."""
    sequence, stored = f"src.{names.SEQUENCE}", f"cmp.{names.SEQUENCE}"
    writes = [
        f"({job.is_sent(part, 'src')} and (cmp.{author} is null or {sequence} > cmp.{author}))"
        for author, part in authors(job).items()
    ]
    is_other = all_of(f"(cmp.{author} is null or {sequence} <> cmp.{author})" for author in authors(job))
    within = [
        f"cmp.{names.KIND} = 'upsert'",
        f"(cmp.{names.FLOOR} is null or {sequence} > cmp.{names.FLOOR})",
        f"case when src.{names.KIND} = 'upsert' then {any_of(writes)} else {sequence} < {stored} and {is_other} end",
    ]
    is_new = any_of(
        [f"{stored} is null", f"{sequence} is null", f"{sequence} > {stored}", f"({all_of(within)})"]
    )
    return changes.stage(
        job,
        changes.Known(
            join=f"left join {job.companion} as cmp on {job.same_key('src', 'cmp')}",
            is_new=f"({is_new})",
            is_late=f"coalesce({sequence} < {stored}, false)",
            locator=job.at_remembered("cmp"),
            more=_memory(job),
        ),
    )


def _sums(job: Job) -> Step:
    """Bring the new events of a key together. Out: one row per touched key, with each part's latest value."""
    kind, sequence = f"evt.{names.KIND}", f"evt.{names.SEQUENCE}"

    def greatest(of_kind: str) -> str:
        return job.extreme("max", f"case when {kind} = '{of_kind}' then {sequence} end")

    columns = [*of("evt", job.keys)]
    if not job.builds:
        columns.append(f"max(evt.{names.HIDDEN}) as {names.HIDDEN}")
        columns += [f"{job.extreme('max', f'evt.{name}')} as {name}" for name in _memory(job)]
    columns += [
        f"{greatest('upsert')} as {names.GREATEST}",
        f"{greatest('delete')} as {names.DELETED}",
    ]
    for part in job.written_parts:
        name, is_sent = job.engine.quote(part.name), job.is_sent(part, "evt")
        if part.marked or not part.partial:
            is_sent = f"{kind} = 'upsert' and {is_sent}"
        by_sequence = changes.by_sequence(job, part)
        latest = job.engine.latest(f"evt.{name}", part.type, order=by_sequence, where=is_sent)
        columns.append(f"{latest} as {name}")
        if part.partial:
            fresh = job.extreme("max", f"case when {is_sent} then {sequence} end")
            columns.append(f"{fresh} as {job.of_part(names.FRESH, part)}")
    group = ", ".join(of("evt", job.keys))
    query = scd1.with_truncation(job) if _reaches_untouched(job) else Query()
    query = query.then("sent", _sent(job)).then(
        "sums", f"select\n    {comma(columns)}\nfrom sent as evt\ngroup by {group}"
    )
    return Step(
        "bring the events of a key together", job.engine.create_working(job.working(names.SUMS), query)
    )


def _sent(job: Job) -> str:
    """The new events without what deletes carry, so that there null alone says that a part was not sent."""
    known = () if job.builds else (names.HIDDEN, *_memory(job))
    unmarked = {job.engine.quote(part.name) for part in job.layout.parts if part.partial and not part.marked}
    columns = [
        f"case when evt.{names.KIND} = 'upsert' then evt.{name} end as {name}"
        if name in unmarked
        else f"evt.{name}"
        for name in (*job.staged, *changes.EVENT, *known)
    ]
    source = f"({_with_truncated_parts(job)})" if _reaches_untouched(job) else job.events
    return f"select\n    {comma(columns)}\nfrom {source} as evt"


def _reaches_untouched(job: Job) -> bool:
    """Whether rows may have to change without an event of their key: a truncate takes what lies below it."""
    return job.truncates and not job.builds


def _with_truncated_parts(job: Job) -> str:
    """The new events, and a row without kind or sequence for each row that the latest truncate takes parts of."""
    known = {
        **{key: f"cmp.{key}" for key in job.keys},
        names.HIDDEN: job.at_companion("cmp"),
        **_memory(job),
    }
    columns = [*job.staged, *changes.EVENT, names.HIDDEN, *_memory(job)]
    below = any_of(f"cmp.{author} < {scd1.TRUNCATION}.sequence" for author in authors(job))
    return f"""
    select {", ".join(columns)} from {job.events}
    union all
    select {", ".join(known.get(name, "null") for name in columns)}
    from {job.companion} as cmp cross join {scd1.TRUNCATION}
    where cmp.{names.KIND} = 'upsert' and cmp.{names.SEQUENCE} >= {scd1.TRUNCATION}.sequence and ({below})
"""


def _places(job: Job) -> Step:
    """Find the target's rows of the touched keys, narrowly. Out: one row per such row."""
    query = Query().then(
        "places",
        f"select {', '.join(of('tgt', job.keys))}, {job.at('tgt')} as {names.LOCATOR}\n"
        f"from {job.target} as tgt\njoin {job.working(names.SUMS)} as evt on {job.same_key('evt', 'tgt')}",
    )
    return Step(
        "find the rows of the touched keys", job.engine.create_working(job.working(names.GONE), query)
    )


def _merged(job: Job) -> Step:
    """Set what the events bring over what the keys have.

    Out: one row per touched key: its values, who wrote them, the last delete below them, and whether its row changes.
    """
    query = scd1.with_truncation(job).then("bounded", _bounded(job)).then("judged", _judged(job))
    if not job.builds:
        query = query.then("place", _place(job)).then("held", _held(job))
    query = query.then("merged", _chosen(job))
    return Step(
        "merge the events of a key with what it has",
        job.engine.create_working(job.working(names.WINNERS), query),
    )


def _greater(first: str, second: str) -> str:
    """The greater of two sequences, of which either may be null."""
    return f"case when {first} is null or {second} > {first} then {second} else {first} end"


def _bounded(job: Job) -> str:
    """Add the last delete, NEXT, the last upsert, LAST, and the latest truncate, FIRST, that there are by now."""
    floor, last = f"evt.{names.DELETED}", f"evt.{names.GREATEST}"
    if not job.builds:
        floor, last = _greater(floor, f"evt.{names.FLOOR}"), _greater(last, f"evt.{names.LATEST}")
    columns = ["evt.*", f"{last} as {names.LAST}", f"{floor} as {names.NEXT}"]
    truncation = f"\ncross join {scd1.TRUNCATION}" if job.truncates else ""
    columns += [f"{scd1.TRUNCATION}.sequence as {names.FIRST}"] if job.truncates else []
    return f"select {', '.join(columns)}\nfrom {job.working(names.SUMS)} as evt{truncation}"


def _counts(job: Job, sequence: str) -> str:
    """The condition that what was written at a sequence still counts: no delete or truncate came after it."""
    above = f"(evt.{names.NEXT} is null or {sequence} > evt.{names.NEXT})"
    if not job.truncates:
        return above
    return f"{above} and (evt.{names.FIRST} is null or {sequence} >= evt.{names.FIRST})"


def _wins(job: Job, part: Part) -> str:
    return f"{names.OPENS}_{job.layout.parts.index(part)}"


def _stays(job: Job, part: Part) -> str:
    return f"{names.STARTED}_{job.layout.parts.index(part)}"


def _judged(job: Job) -> str:
    """Tell of each part whether a new event wrote it last, or else whether the stored value stays.

    LAST becomes null where no row is left.
    """
    last = f"evt.{names.LAST}"
    columns = ["evt.*", f"case when {_counts(job, last)} then {last} end as {names.SHOWS}"]
    for part in job.written_parts:
        fresh, author = f"evt.{names.GREATEST}", f"evt.{names.LATEST}"
        if part.partial:
            fresh, author = f"evt.{job.of_part(names.FRESH, part)}", f"evt.{_author(job, part)}"
        newer = f" and ({author} is null or {fresh} > {author})" if not job.builds else ""
        columns.append(f"{fresh} is not null and {_counts(job, fresh)}{newer} as {_wins(job, part)}")
        if not job.builds:
            by_hand = _stays_by_hand(job) if part.partial else "true"
            stays = f"case when {author} is null then {by_hand} else {_counts(job, author)} end"
            columns.append(f"{stays} as {_stays(job, part)}")
    return f"select\n    {comma(columns)}\nfrom bounded as evt"


def _stays_by_hand(job: Job) -> str:
    """The condition that a value nobody sent stays: it is older than any event, and so than any delete."""
    unknown, known = f"evt.{names.NEXT} is null", f"evt.{names.LATEST} is not null"
    if job.truncates:
        unknown += f" and evt.{names.FIRST} is null"
        known += f" and (evt.{names.FIRST} is null or evt.{names.LATEST} >= evt.{names.FIRST})"
    return f"evt.{names.DELETED} is null and case when evt.{names.HIDDEN} is null then {unknown} else {known} end"


def _place(job: Job) -> str:
    """Where the row of each touched key stands in the target; of several, put in by hand, the first."""
    keys = ", ".join(job.keys)
    return f"select {keys}, min({names.LOCATOR}) as {names.LOCATOR}\nfrom {job.working(names.GONE)} group by {keys}"


def _held(job: Job) -> str:
    """The stored values, of rows that keep any of them: whole events overwrite them without reading them."""
    values = [
        f"{changes.stored_part(job, part, 'tgt')} as {job.of_part(names.WAS, part)}"
        for part in job.written_parts
    ]
    keeps = any_of(f"(evt.{_stays(job, part)} and not evt.{_wins(job, part)})" for part in job.written_parts)
    return f"""
select
    {comma([*of("tgt", job.keys), *values])}
from {job.target} as tgt
join (
    select place.{names.LOCATOR}
    from judged as evt
    join place on {job.same_key("place", "evt")}
    where evt.{names.SHOWS} is not null and ({keeps})
) as kept on kept.{names.LOCATOR} = {job.at("tgt")}"""


def _chosen(job: Job) -> str:
    shows, floor = f"evt.{names.SHOWS}", f"evt.{names.NEXT}"
    columns = [
        *of("evt", job.keys),
        f"coalesce({shows}, {floor}) as {names.SEQUENCE}",
        f"case when {shows} is null then 'delete' else 'upsert' end as {names.KIND}",
        f"case when {shows} is not null then {floor} end as {names.FLOOR}",
    ]
    newer = (
        ""
        if job.builds
        else f" and (evt.{names.LATEST} is null or evt.{names.GREATEST} > evt.{names.LATEST})"
    )
    changed = [f"(evt.{names.GREATEST} is not null{newer})"]
    joins = ""
    if not job.builds:
        columns.append(f"evt.{names.HIDDEN}")
        changed.append(f"(place.{names.LOCATOR} is not null and ({any_of(_gives_way(job))}))")
        joins = f"\nleft join place on {job.same_key('place', 'evt')}\nleft join held on {job.same_key('held', 'evt')}"
    for part in job.written_parts:
        columns += _chosen_part(job, part)
    columns.append(f"{shows} is not null and ({any_of(changed)}) as {names.WRITES}")
    return f"select\n    {comma(columns)}\nfrom judged as evt{joins}"


def _gives_way(job: Job) -> list[str]:
    """The conditions under which a row that is there changes: a part is written, or taken by a delete."""
    return [
        f"evt.{_wins(job, part)} or (evt.{author} is not null and not evt.{_stays(job, part)})"
        for author, part in authors(job).items()
    ]


def _author(job: Job, part: Part) -> str:
    return next(author for author, found in authors(job).items() if found == part)


def _chosen_part(job: Job, part: Part) -> list[str]:
    """A part's value, which new event wrote it, and who wrote it at all."""
    name, wins = job.engine.quote(part.name), f"evt.{_wins(job, part)}"
    fresh = f"evt.{job.of_part(names.FRESH, part) if part.partial else names.GREATEST}"
    stays = "" if job.builds else f" when evt.{_stays(job, part)} then held.{job.of_part(names.WAS, part)}"
    columns = [
        f"case when {wins} then evt.{name}{stays} end as {name}",
        f"case when {wins} then {fresh} end as {job.of_part(names.FRESH, part)}",
    ]
    if part.partial:
        author = _author(job, part)
        stays = "" if job.builds else f" when evt.{_stays(job, part)} then evt.{author}"
        columns.append(f"case when {wins} then {fresh}{stays} end as {author}")
    return columns


# what is written


def _deleted(job: Job) -> str:
    """Count the rows that go for good."""
    deleted = _gone_with(job, f"won.{names.KIND} = 'delete'")
    return f"select count(*) as num_deleted_rows\nfrom {deleted}"


def _gone_with(job: Job, condition: str) -> str:
    return (
        f"{job.working(names.GONE)} as gone\n"
        f"join {job.working(names.WINNERS)} as won on {job.same_key('won', 'gone')} and {condition}"
    )


def rows(job: Job) -> Query:
    """Return the rows to be written to the target."""
    columns, source = ", ".join(changes.whole(job, "won")), job.working(names.WINNERS)
    return Query().then("rows", f"select {columns}\nfrom {source} as won\nwhere won.{names.WRITES}")


def remembered_columns(job: Job) -> list[str]:
    """Return the companion's columns of a key."""
    return [*job.keys, *changes.EVENT, names.FLOOR, *authors(job)]


def remembered(job: Job) -> Query:
    """Return the companion's rows for the touched keys."""
    columns = ", ".join(remembered_columns(job))
    return Query().then("remembered", f"select {columns} from {job.working(names.WINNERS)}")


def truncation(job: Job) -> Query:
    """Return the companion's row for the latest truncate, in the columns of a key; no row if there was none."""
    more = [f"{job.engine.null(job.layout.sequence_type)} as {name}" for name in (names.FLOOR, *authors(job))]
    latest = scd1.truncation(job)
    return latest.then("padded", f"select {', '.join(['latest.*', *more])}\nfrom latest")


def presumed_author(job: Job, part: Part) -> Query:
    """Return, for each row whose authors nobody remembered, its place in the companion and its last sequence."""
    return Query().then(
        "presumed",
        f"select {job.at_companion('cmp')} as locator, cmp.{names.SEQUENCE} as value\n"
        f"from {job.companion} as cmp\njoin {job.target} as tgt on {job.same_key('tgt', 'cmp')}\n"
        f"where cmp.{names.KIND} = 'upsert' and {changes.stored_part(job, part, 'tgt')} is not null",
    )


def apply(job: Job) -> tuple[Step, ...]:
    """Write the rows that change, and remember who wrote what."""
    won = job.working(names.WINNERS)
    new = (check.NEW, check.TRUNCATED) if job.truncates else (check.NEW,)
    goes = f"(won.{names.WRITES} or won.{names.KIND} = 'delete')"
    gone = Query().then("gone", f"select gone.{names.LOCATOR}\nfrom {_gone_with(job, goes)}")
    known = Query().then("known", f"select {names.HIDDEN} from {won} where {names.HIDDEN} is not null")
    columns = remembered_columns(job)
    return (
        *scd1.truncate(job),
        writes.delete(job, "delete the rows that change", gone, only_if=new),
        writes.insert(job, "insert the rows", rows(job), only_if=new, counts="num_upserted_rows"),
        writes.forget(job, "forget what is known of the keys", known, only_if=new),
        writes.remember(job, "remember the keys", columns, remembered(job), only_if=new),
    )
