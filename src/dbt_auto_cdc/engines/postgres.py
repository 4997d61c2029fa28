"""PostgreSQL: what is peculiar about it.

Not here: Redshift and other databases that speak its language but do not keep its promises.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.sql import Query, indented, named, text

_TEXTS = ("text", "character varying", "character", "name")
_NUMBERS = ("smallint", "integer", "bigint", "numeric", "real", "double precision")
_TIMES = ("date", "time", "timestamp", "interval")
# Types with an order, whose greatest value every release can tell, but for times, which have more words than one.
_ORDERED = (*_TEXTS, "bpchar", *_NUMBERS, "money", "oid", "inet", "cidr", "pg_lsn")
# No equality at all, or one by size (box) or by anything but the value.
_INCOMPARABLE = ("xml", "point", "line", "lseg", "box", "path", "polygon", "circle")
_UNLIMITED = {
    "text": {"character varying", "json", "jsonb"},
    "character varying": {"text", "json", "jsonb"},
    "numeric": {"numeric", "smallint", "integer", "bigint"},
    "real": {"smallint"},
    "double precision": {"real", "smallint", "integer"},
    "timestamp without time zone": {"date"},
}
# Each statement of a run has to see what others have committed, above all the one behind the lock that waited for them:
# the role's own level is taken back before a query fixes what is seen. Where the text of floats has few digits, two
# values have one text, and a value that is carried as text is another one.
_BEGIN = """begin isolation level read committed;
set local extra_float_digits = 1"""
_TABLE_LOCK = """    if exists (select from pg_class where oid = to_regclass({text}) and relkind in ('r', 'p')) then
        lock table {name} in share row exclusive mode;
    end if;"""
# A look at 900 rows: the usual 30,000 of a wide table would take longer than many a step. Of one that is found by its
# keys, a look at all columns would too.
_ANALYZE = """do {tag}
declare
    usual text := current_setting('default_statistics_target');
begin
    perform set_config('default_statistics_target', '3', true);
    {analyze};
    perform set_config('default_statistics_target', usual, true);
end
{tag}"""
_BY_KEYS = """execute {analyze} || (
        select string_agg(quote_ident(attname), ', ') from pg_attribute
        where attrelid = {as_text}::regclass and attnum > 0
            and (attname = any (array[{keys}]) or starts_with(attname, {prefix}))
    ) || ')'"""
# Each place is looked up once: to remember what was found there only costs.
_BY_PLACES = """do {tag}
declare
    {usual} text := current_setting('enable_memoize');
begin
    perform set_config('enable_memoize', 'off', true);
    {sql};
    perform set_config('enable_memoize', {usual}, true);
end
{tag}"""
# What two rows may have only one after the other, or what no statement but these two takes: a rule, a second row of a
# key that was put in by hand.
_OVERWRITTEN = """do {tag}
declare
    {written} bigint;
begin
    merge into {relation} as tgt using (
{query}
    ) as won on {same_key}
    when matched then update set {values}
    when not matched then insert ({columns}) values ({won});
    get diagnostics {written} = row_count;
    if {written} > (select count(*) from (
{query}
    ) as won) then
        raise cardinality_violation;
    end if;
exception when unique_violation or exclusion_violation or cardinality_violation or feature_not_supported then
    delete from {relation} as tgt using (
{query}
    ) as won where {same_key};
    insert into {relation} ({columns})
{query};
end
{tag}"""
_VERSION_TYPES = (
    *("integer", "bigint", "numeric", "text", "date"),
    *("timestamp without time zone", "timestamp with time zone"),
)
_EMPTY_VIEW = """do {tag}
declare
    candidate text;
    fitting text := 'text';
    found text;
begin
    foreach candidate in array array[{types}] loop
        begin
            execute {made} || candidate || {called};
            execute {filled};
            select format_type(atttypid, atttypmod) into found
            from pg_attribute where attrelid = {asked_as_text}::regclass and attnum = 1;
            drop table {asked};
            if found = candidate then
                return;
            end if;
            fitting := candidate;
            raise exception 'of another type';
        exception when others then
            null;
        end;
    end loop;
    execute {made} || fitting || {called};
end
{tag}"""
# All at once, and each alone where that fails. The answers are a setting of the transaction: a table would cost more
# than all that is asked.
_TRIED = """drop table if exists {asked};
do {tag}
declare
    tried text;
    found text;
    said text;
    answers jsonb := '[]';
begin
    begin
        execute {together};
        select jsonb_agg(jsonb_build_array({kind}, null) order by attnum) into answers
        from (
            select * from pg_attribute where attrelid = {asked_text}::regclass order by attnum desc limit {count}
        ) as of_the_options;
        drop table {asked};
    exception when others then
        answers := '[]';
        foreach tried in array array[{alone}] loop
            found := null;
            said := null;
            begin
                execute tried;
                select {kind} into found
                from pg_attribute where attrelid = {asked_text}::regclass order by attnum desc limit 1;
                drop table {asked};
            exception when others then
                get stacked diagnostics said = message_text;
            end;
            answers := answers || jsonb_build_array(jsonb_build_array(found, said));
        end loop;
    end;
    perform set_config({answers}, answers::text, true);
end
{tag};
select number - 1 as number, answer ->> 0 as kind, answer ->> 1 as refusal
from jsonb_array_elements(cast(current_setting({answers}) as jsonb)) with ordinality as told (answer, number)
order by number"""
# Behind a domain, or an array of one, stands in a comment what it is in the end.
_TYPE = """format_type({of}atttypid, {of}atttypmod) || coalesce((
    with recursive inside (kind, modifier, list, step, is_domain) as (
        select {of}atttypid, {of}atttypmod, '', 0, false
        union all
        select
            case when typtype = 'd' then typbasetype else typelem end,
            case when typtype = 'd' then typtypmod else modifier end,
            case when typtype = 'd' then list else '[]' end,
            step + 1,
            is_domain or typtype = 'd'
        from inside
        join pg_type on pg_type.oid = kind
        where typtype = 'd' or (typcategory = 'A' and typlen = -1 and typelem <> 0)
    )
    select ' /* ' || replace(format_type(kind, modifier), '*', '') || list || ' */'
    from inside where is_domain order by step desc limit 1
), '')"""
_OF_A_DOMAIN = re.compile(r".* /\* (?P<base>.*) \*/", re.DOTALL)
# A text that is ordered by bytes is told as one of collation C, whatever it is called.
_STORED = """select '=' || att.attname, case
    when typ.typtype = 'c' then (
        select 'row(' || string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum) || ')'
        from pg_attribute where attrelid = typ.typrelid and attnum > 0 and not attisdropped
    )
    else {kind} || case
        when case coll.collname when 'default' then db.datcollate else coll.collname end
            in ('C', 'POSIX', 'ucs_basic', 'C.utf8', 'C.UTF-8') then ' collate "C"'
        else ''
    end
end
from pg_attribute as att
join pg_type as typ on typ.oid = att.atttypid
join pg_database as db on db.datname = current_database()
left join pg_collation as coll on coll.oid = att.attcollation
where att.attrelid = {relation}::regclass and att.attnum > 0 and not att.attisdropped
order by att.attnum"""
_PARAMETERS = re.compile(r"\((?P<inside>[\d, -]+)\)")


def _bare(type_name: str) -> str:
    """Return a type without its length, precision or scale: `timestamp with time zone`."""
    return _PARAMETERS.sub("", type_name.lower())


def _base(type_name: str) -> str:
    """Return the same of what a domain, and each one it is over, is in the end."""
    found = _OF_A_DOMAIN.fullmatch(type_name)
    return _bare(found["base"] if found else type_name)


def _parameters(type_name: str) -> tuple[int, ...]:
    found = _PARAMETERS.search(type_name)
    return tuple(map(int, found["inside"].split(","))) if found else ()


def _unquoted(name: str) -> str:
    return name.removeprefix('"').removesuffix('"').replace('""', '"')


def _tag(*held: str, word: str = f"{names.PREFIX}0") -> str:
    """Return a quote for a block, of a word, that none of the texts has which the block holds."""
    tags = itertools.chain([f"${word}$"], (f"${word}{number}$" for number in itertools.count(1)))
    return next(tag for tag in tags if not any(tag in sql for sql in held))


def _by_places(sql: str) -> str:
    return _BY_PLACES.format(tag=_tag(sql), usual=f"{names.PREFIX}usual", sql=sql)


# For new versions of rows beside the old ones.
_ROOM = " with (fillfactor = 90)"


class Postgres(Engine):
    """PostgreSQL 15 and later: transactions with DDL, locks, temporary tables, rows found by `ctid`.

    A `ctid` stays what it is while nobody else writes the table, and `lock` sees to that. It is compared in arrays:
    joins on it are of no use before release 14, and a list of places is read without a look at the rest of the table.
    """

    def working(self, identifier: str, target: str = "") -> str:
        """Return the name of a working table; the schema keeps a table of that name beside the target out of it."""
        del target
        return f"pg_temp.{self.quote(identifier)}"

    def folded(self, name: str) -> str:
        """Return a name as PostgreSQL takes it without quotes."""
        return name.lower()

    def is_same(self, left: str, right: str, *, type_name: str) -> str:
        """Return the condition that two values are the same: nulls in arrays are, and `=` finds rows.

        Of arrays a null would be the same as an empty one.
        """
        if _base(type_name).endswith("[]"):
            left, right = f"cast({left} as text)", f"cast({right} as text)"
        return f"array[{left}] = array[{right}]"

    def exactly(self, expression: str, type_name: str) -> str:
        """Return the expression as text that gives the same value when it is cast back, in whatever session.

        A day is written as the session's `DateStyle` has it, and read by that of another one; a zone by its
        abbreviation, of which there are several. In json it is not.
        """
        if _bare(type_name).partition(" ")[0] not in {"date", "timestamp"}:
            return super().exactly(expression, type_name)
        return f"replace(to_jsonb({expression}) #>> '{{}}', 'T', ' ')"

    def latest(self, value: str, type_name: str, *, order: list[str], where: str) -> str:
        """Return the aggregate of a group's first value by an order; arrays as text, for `array_agg` joins them."""
        if not _base(type_name).endswith("[]"):
            return super().latest(value, type_name, order=order, where=where)
        found = super().latest(f"cast({value} as text)", "text", order=order, where=where)
        return f"cast({found} as {type_name})"

    def firsts(
        self, columns: Mapping[str, str], source: str, *, groups: Sequence[str], order: Sequence[str]
    ) -> Query:
        """Return the query of each group's first row by an order, which numbers no rows."""
        head = f"select distinct on ({', '.join(groups)})\n    {', '.join(named(columns))}"
        return Query().then("firsts", f"{head}\n{source}\norder by {', '.join([*groups, *order])}")

    def each_once(self, columns: Sequence[str], source: str) -> str:
        """Return the SELECT of the values of columns, each once, in their order: so an index is read page by page."""
        return f"{super().each_once(columns, source)} order by {', '.join(columns)}"

    def carried(self, value: str, type_name: str, *, where: str, window: str) -> str:
        """Return the value of the last row for which a condition is true; arrays as text, as above."""
        if not _base(type_name).endswith("[]"):
            return super().carried(value, type_name, where=where, window=window)
        found = super().carried(f"cast({value} as text)", "text", where=where, window=window)
        return f"cast({found} as {type_name})"

    def comparable(self, expression: str, type_name: str) -> str:
        """Return the expression in a form with equality and order: json as its value, text by its bytes."""
        head = _base(type_name)
        element = head.removesuffix("[]")
        if element != head and head != _bare(type_name):
            # No array of a domain is cast to one of another type.
            expression = f"cast(cast({expression} as text) as {head})"
        if element == "json":
            return f"cast({expression} as jsonb{head[len(element) :]})"
        if element in _INCOMPARABLE:
            return f"cast({expression} as text)"
        if element == "citext":
            return f'cast({expression} as text{head[len(element) :]}) collate "C"'
        return f'{expression} collate "C"' if element in _TEXTS else expression

    def in_order(self, expression: str, type_name: str) -> str:
        """Return a sequence so that it is ordered by bytes, wherever it is stored."""
        return f'{expression} collate "C"' if _bare(type_name).removesuffix("[]") in _TEXTS else expression

    def out_of_order(self, type_name: str) -> str:
        """Return a type without a collation."""
        return type_name.removesuffix(' collate "C"')

    def utc_now(self) -> str:
        """Return the time in UTC."""
        return "(now() at time zone 'UTC')"

    def composite(self, parts: dict[str, str], type_name: str = "") -> str:
        """Return a row of the target's own type, which compares field by field."""
        return f"cast(row({', '.join(parts.values())}) as {type_name})"

    def extreme(self, function: str, expression: str, type_name: str, *, over: str = "") -> str:
        """Return the aggregate over a sequence: of rows there is none before release 18, but of arrays of them."""
        if self.is_orderable(type_name):
            return super().extreme(function, expression, type_name, over=over)
        return f"({function}(case when {expression} is not null then array[{expression}] end){over})[1]"

    # types

    def is_orderable(self, type_name: str) -> bool:
        """Whether values of a type have an order, and a greatest one can be found.

        That of `citext` is not the order of its bytes, and whoever reads bounds of that type would have the other one.
        """
        head = _bare(type_name).removesuffix("[]")
        return head in _ORDERED or head.partition(" ")[0] in _TIMES

    def has_equality(self, type_name: str) -> bool:
        """Whether values of a type can be joined by."""
        return _base(type_name).removesuffix("[]") not in ("json", *_INCOMPARABLE)

    def is_condition(self, type_name: str) -> bool:
        """Whether values of a type are true or false."""
        return super().is_condition(_base(type_name))

    def is_text_list(self, type_name: str) -> bool:
        """Whether values of a type are lists of text."""
        return super().is_text_list(_base(type_name))

    def distance_of(self, type_name: str) -> str:
        """Return what a distance between two values is."""
        head = _bare(type_name)
        if head.partition(" ")[0] in {"date", "timestamp"}:
            return "" if head.endswith("[]") else "interval"
        return "number" if head in _NUMBERS else ""

    def widens(self, stored: str, incoming: str) -> bool:
        """Whether every value of `stored` is the same value in `incoming`."""
        if stored.endswith("[]") and incoming.endswith("[]"):
            return self.widens(stored.removesuffix("[]"), incoming.removesuffix("[]"))
        narrow, wide = _bare(stored), _bare(incoming)
        if narrow == "bit":
            # Zeros would be added.
            return stored == incoming
        limits, room = _parameters(stored), _parameters(incoming)
        if stored == incoming or (narrow == wide and narrow != "numeric"):
            return not room or (bool(limits) and limits[0] <= room[0])
        if room:
            return super().widens(stored, incoming)
        return narrow in self._kept_by(wide)

    def _kept_by(self, wide: str) -> set[str]:
        """Return the types whose values are the same in a type of no limits."""
        if wide in _UNLIMITED:
            return _UNLIMITED[wide]
        return {name for name, bits in self.integers.items() if bits <= self.integers.get(wide, 0)}

    # statements

    def lock(self, target: str, companion: str) -> str:
        """Return the statements that let one run of a model wait for another, and keep the rows in their places.

        The advisory lock is for tables that do not exist yet. Reading goes on. The transaction is open already but for
        that of a later turn.
        """
        there = "\n".join(_TABLE_LOCK.format(name=name, text=text(name)) for name in (target, companion))
        tag = _tag(there, word="lock")
        return (
            f"{_BEGIN};\nselect pg_advisory_xact_lock(hashtextextended({text(target)}, 0));\n"
            f"do {tag}\nbegin\n{there}\nend\n{tag}"
        )

    def lock_log(self, relation: str) -> str:
        """Return the statement that lets one process make the event log while others wait."""
        return f"select pg_advisory_xact_lock(hashtextextended({text(relation)}, 0))"

    def list_tables(self, *relations: str) -> str:
        """Return the query of the names, behind a `=`, of those relations that exist, and whether each is a view."""
        listed = ", ".join(f"to_regclass({text(name)})" for name in relations)
        return f"select '=' || relname, relkind = 'v'\nfrom pg_class\nwhere oid in ({listed})"

    def describe(self, query: str) -> str:
        """Return the statements that tell a query's columns: those of a table that it would fill."""
        name = self.working(names.DESCRIBED)
        return f"""drop table if exists {name};
create temporary table {name} on commit drop as
{query}
with no data;
{self.describe_relation(name)}"""

    def describe_relation(self, relation: str) -> str:
        """Return the query of the columns of a relation."""
        return f"""select '=' || attname, {_TYPE.format(of="")}
from pg_attribute
where attrelid = {text(relation)}::regclass and attnum > 0 and not attisdropped
order by attnum"""

    def describe_stored(self, relation: str) -> str:
        """Return the query of the columns of a table: whether text is ordered by bytes, and the fields of rows."""
        return _STORED.format(relation=text(relation), kind=_TYPE.format(of="att."))

    def expect(self, query: str) -> str:
        """Return the statement that shows how a query would be read, with how many rows are expected of it."""
        return f"explain {query}"

    def try_columns(self, together: str, alone: list[str]) -> str:
        """Return the statements that try queries in a block that catches what fails: as the tables they would fill."""
        asked = self.working(names.DESCRIBED)

        def filled(query: str) -> str:
            return text(f"create temporary table {asked} on commit drop as\n{query}\nwith no data")

        return _TRIED.format(
            answers=text(names.TRIED),
            asked=asked,
            asked_text=text(asked),
            kind=_TYPE.format(of=""),
            together=filled(together),
            alone=", ".join(map(filled, alone)),
            count=len(alone),
            tag=_tag(asked, together, *alone),
        )

    def create_working(self, name: str, query: Query, *, keys: Sequence[str] = ()) -> str:
        """Return the statements that fill a working table; the next steps are planned by its statistics."""
        analyze = f"analyze {name}"
        if keys:
            listed = ", ".join(text(_unquoted(key)) for key in keys)
            own = text(names.PREFIX)
            analyze = _BY_KEYS.format(
                analyze=text(f"{analyze} ("), as_text=text(name), keys=listed, prefix=own
            )
        told = _ANALYZE.format(tag=_tag(analyze, word="analyze"), analyze=analyze)
        return f"{self.create_scanned(name, query)};\n{told}"

    def create_scanned(self, name: str, query: Query) -> str:
        """Return the statement that fills a working table; of how many rows it has the pages tell enough."""
        return f"create temporary table {name} on commit drop as\n{query.render()}"

    def create_table(self, relation: str, query: Query, *, is_overwritten: bool = False) -> str:
        """Return the statement that makes a table, with room for new versions of rows beside the old ones.

        There they need no new entry in an index.
        """
        room = _ROOM if is_overwritten else ""
        return f"create table {relation}{room} as\n{query.render()}"

    def create_view(self, name: str, query: Query) -> str:
        """Return the statement that keeps a query's rows until the commit: a view would outlive it."""
        return f"create temporary table {name} on commit drop as\n{query.render()}"

    def create_empty_view(self, name: str, column: str, query: str) -> str:
        """Return the statement that tries which type of the column gives the query a result of that type.

        A null without a type would be text, which no date and no number compares with.
        """
        types = ", ".join(map(text, _VERSION_TYPES))
        asked = self.working(names.DESCRIBED)
        return _EMPTY_VIEW.format(
            tag=_tag(name, column, query, word="version"),
            made=text(f"create temporary table {name} on commit drop as select cast(null as "),
            called=text(f") as {column} where false"),
            filled=text(f"create temporary table {asked} on commit drop as\n{query}\nwith no data"),
            types=types,
            asked=asked,
            asked_as_text=text(asked),
        )

    def free_view(self, name: str) -> str:
        """Return nothing: the commit drops it."""
        del name
        return ""

    def drop_working(self, working: list[str]) -> str:
        """Return nothing: the commit drops the working tables."""
        del working
        return ""

    def move_table(self, relation: str, there: str, identifier: str, *, schema: str) -> str:
        """Return the statements that give a table another schema and name, with its indexes and constraints.

        The name in between is one that the other schema does not have: the same as there.
        """
        old, name = relation.rpartition(".")[2], self.quote(identifier)
        renamed = f"alter table {relation} rename to {name};\n" if old != name else ""
        place = f"{relation.rpartition('.')[0]}.{name}" if "." in relation else name
        del there
        return f"{renamed}alter table {place} set schema {self.quote(schema)}"

    def move_type(self, old: str, new: str, identifier: str, *, schema: str) -> str:
        """Return the statements that give a composite type another name and schema, if there is one."""
        del new
        name = self.quote(identifier)
        place = f"{old.rpartition('.')[0]}.{name}" if "." in old else name
        renamed = f"alter type {old} rename to {name};" if old != place else ""
        moved = f"alter type {place} set schema {self.quote(schema)};" if schema else ""
        there = f"if to_regtype({text(old)}) is not null then"
        body = f"begin\n{there}\n{renamed}\n{moved}\nend if;\nend"
        tag = _tag(body, word="move")
        return f"do {tag}\n{body}\n{tag}"

    def create_type(self, name: str, fields: dict[str, str]) -> str:
        """Return the statements that make a composite type anew; text in it is ordered by bytes."""
        listed = ", ".join(
            self.in_order(f"{self.quote(field)} {kind}", kind) for field, kind in fields.items()
        )
        return f"drop type if exists {name};\ncreate type {name} as ({listed})"

    def replace_type(self, old: str, new: str, identifier: str) -> str:
        """Return the statements that drop a composite type and give its name to another."""
        renamed = f";\nalter type {new} rename to {self.quote(identifier)}" if new else ""
        return f"drop type if exists {old}{renamed}"

    def ready(self, relation: str, keys: list[str]) -> str:
        """Return the statements that make a new companion quick to read: by key, and by kind but for events."""
        if not keys:
            return f"analyze {relation}"
        own = f"{names.KIND} not in ('upsert', 'delete')"
        return (
            f"create index on {relation} ({', '.join(keys)});\n"
            f"create index on {relation} ({names.KIND}) where {own};\nanalyze {relation}"
        )

    def copy_companion(self, relation: str, original: str) -> str:
        """Return the statements that make a companion from another one, with its indexes, and count what they copy."""
        made = f"create table {relation} (like {original} including indexes){_ROOM}"
        return f"{made};\ninsert into {relation} select * from {original}"

    def is_located(self, alias: str, query: Query) -> str:
        """Return the condition that a query gives a row's locator."""
        return f"{alias}.{self.locator} = any (array(\n{indented(query.render())}\n))"

    def ready_to_stream(self, relation: str, column: str) -> str:
        """Return the statement that makes a new table quick to read from some number of a run on."""
        return f"create index on {relation} ({column})"

    def delete_located(self, relation: str, query: Query) -> str:
        """Return the statement that removes the rows whose locators a query gives."""
        return f"delete from {relation} where {self.locator} = any (array(\n{indented(query.render())}\n))"

    def delete_touched(self, relation: str, touched: str, *, same_key: str) -> str:
        """Return the statement that finds, removes and counts rows in one go."""
        return f"""with gone as (
    delete from {relation} as tgt using {touched} as won where {same_key}
    returning won.{names.KIND}
)
select count(case when {names.KIND} = 'delete' then 1 end) as num_deleted_rows
from gone"""

    def set_located(self, relation: str, column: str, query: Query) -> str:
        """Return the block that sets one column of rows by their places."""
        return _by_places(super().set_located(relation, column, query))

    def overwrite_located(self, relation: str, columns: list[str], query: Query) -> str:
        """Return the block that gives rows other values by their places."""
        return _by_places(super().overwrite_located(relation, columns, query))

    def overwrite_touched(self, relation: str, columns: list[str], query: Query, *, same_key: str) -> str:
        """Return the block that changes rows where they are; where that cannot be, they go and come anew."""
        sql = query.render()
        return _OVERWRITTEN.format(
            tag=_tag(sql, relation, same_key, *columns),
            written=f"{names.PREFIX}written",
            relation=relation,
            query=indented(sql),
            same_key=same_key,
            values=", ".join(f"{column} = won.{column}" for column in columns),
            columns=", ".join(columns),
            won=", ".join(f"won.{column}" for column in columns),
        )

    def drop_table(self, relation: str) -> str:
        """Return the statement that drops a table with the views on it, as dbt does on PostgreSQL."""
        return f"drop table if exists {relation} cascade"

    def drop_view(self, relation: str) -> str:
        """Return the statement that drops a view with the views on it, as dbt does on PostgreSQL."""
        return f"drop view {relation} cascade"


# dbt-postgres leaves BEGIN to its client, which does not notice that dbt commits by a statement of its own: what
# follows a commit, of a hook or of a turn before, would commit itself. And the client opens a transaction for any query
# of a model's Jinja, which dbt knows nothing of: its end is that of another level.
ENGINE = Postgres(
    name="PostgreSQL",
    locator="ctid",
    locator_type="tid",
    identifier_limit=63,
    comparable_structs=True,
    named_structs=True,
    begin=f"commit;\n{_BEGIN}",
    overwrites=True,
    loses_lengths=True,
    moves_tables=True,
)
