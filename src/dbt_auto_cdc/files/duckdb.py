"""How DuckDB lists and reads files: statements, each sent while a run is prepared or a part of its model's SQL.

The files of a run are kept in a variable of the session, so that neither their number nor their names make a statement
long, and that all of a run speaks of the same files.

Not here: what becomes of what a file has (`values`), and what a run makes of it (`reading`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.duckdb import patterns_of
from dbt_auto_cdc.files import values
from dbt_auto_cdc.files.options import Options
from dbt_auto_cdc.sql import all_of, indented, text

FILE = names.PREFIX + "file"
TEXTS = names.PREFIX + "texts"
# Up to so many bytes all new files are looked through for fields and types; of more, files that are spread evenly and
# have about so many bytes together.
_LOOKED_THROUGH = 16 * 1024 * 1024
_SAMPLED = 4 * 1024 * 1024
_MOST_RECORDS = 200_000
_TYPED_RECORDS = 10_240
# A folder whose name is a value, as in `day=*/`.
_FOLDER_VALUE = re.compile(r"[^/\\]=[^/\\]*[/\\]")
_TABS = re.compile(r"\.tsv(\.\w+)?$")
_READERS = {"csv": "read_csv", "parquet": "read_parquet", "avro": "read_avro"}
# The table of the files that were read.
REGISTRY_COLUMNS = {
    "name": "varchar",
    "path": "varchar",
    "size": "bigint",
    "modification_time": "timestamptz",
    "state": "varchar",
    "recorded_at": "timestamptz",
}
# What DuckDB says where a file cannot be read, or is gone.
FAULTS = (
    r"Malformed JSON|JSON transform error|maximum_object_size|CSV Error|Error when sniffing|Parquet|parquet|magic bytes"
    r"|[Aa]vro|schema mismatch|No files found|Cannot open file|No such file|auto_cdc: file |HTTP"
)
MISSING = r"No files found|Cannot open file|No such file"
# What DuckDB says of anything but what a file holds.
NOT_CORRUPT = (
    rf"{MISSING}|HTTP|Permission denied|establish connection|[Ee]xtension|[Mm]emory"
    r"|\b(Binder|Parser|Catalog|INTERNAL|INTERRUPT|TransactionContext) Error"
)
# The same for as long as a transaction goes on.
TRANSACTION = "select epoch_us(now())"


def is_remote(path: str) -> bool:
    """Whether a path is none of this machine's: there a look at one file costs as much as one at many."""
    return "://" in path and not path.lower().startswith("file://")


# Has a row where a reader can be told to go on without a file.
CAN_MISS_FILES = (
    "select 1 from duckdb_functions() where function_name = 'read_json_objects'"
    " and list_contains(parameters, 'allow_empty')"
)


# Has a row where a path is not what it is for this process: DuckDB looks in other folders, or may not look at ours.
LOOKS_ELSEWHERE = (
    "select 1 where current_setting('file_search_path') <> ''"
    " or not cast(current_setting('enable_external_access') as boolean)"
)


@dataclass(frozen=True)
class Files:
    """The files of one read in one run: where they are, what is known of them, and the variables that hold them.

    `registry` is the table of those that were read, empty where there is none; `name` is the read's name there.
    """

    path: str
    options: Options
    name: str
    variable: str
    registry: str = ""

    def _of(self, what: str) -> str:
        return f"{self.variable}_{what}"

    def value(self, what: str) -> str:
        """Return one of the variables as SQL: `names`, `files`, `paths`, `sample`, `corrupt`."""
        return f"getvariable({text(self._of(what))})"

    def _set(self, what: str, query: str) -> str:
        quoted = self._of(what).replace('"', '""')
        return f'set variable "{quoted}" = (\n{indented(query)}\n)'

    # listing

    @property
    def is_looked_at(self) -> bool:
        """Whether every file is looked at in every run, and not only those with new names."""
        return self.options.allow_overwrites or is_remote(self.path)

    def list_names(self, listings: Mapping[str, str]) -> str:
        """Return the statement that puts what is new by its name into `names`; null where there is nothing.

        `listings` has, for patterns that somebody listed already, a file with the names, one on each line. Where every
        file is looked at anyway, `names` are the patterns.
        """
        if self.is_looked_at:
            return self._set("names", f"select [{', '.join(map(text, self.patterns))}]")
        found = "\nunion\n".join(self._named(pattern, listings) for pattern in self.patterns)
        which = self._wanted("found.file")
        if self.registry:
            known = f"reg.path = found.file and reg.name = {text(self.name)} and reg.state <> 'skipped'"
            which.append(f"not exists (select 1 from {self.registry} as reg where {known})")
        found = f"from (\n{indented(found)}\n) as found\nwhere {all_of(which)}"
        return self._set("names", f"select list({_escaped('found.file')})\n{found}")

    def _named(self, pattern: str, listings: Mapping[str, str]) -> str:
        if pattern not in listings:
            return f"select file from glob({text(pattern)})"
        lines = (
            f"select unnest(string_split(content, chr(10))) as file from read_text({text(listings[pattern])})"
        )
        return f"select file from ({lines}) as listed where file <> ''"

    def list_files(self) -> str:
        """Return the statement that puts the files of `names` that are to be read into `files`, with size and time."""
        which = [
            # Without a look at the size, DuckDB asks an object store for every single file.
            "(size is not null or filename is not null)",
            # An empty file may be one that somebody begins to write.
            "coalesce(size, 1) > 0",
            *self._wanted("filename"),
            *self._in_time(),
        ]
        facts = "filename as path, size, last_modified as modification_time"
        found = f"select {facts}\nfrom read_blob({self.value('names')})\nwhere {all_of(which)}"
        if self.registry:
            changed = (
                "(reg.size, reg.modification_time) is distinct from (found.size, found.modification_time)"
            )
            again = "true" if self.options.allow_overwrites else "reg.state = 'skipped'"
            found = (
                f"select found.*\nfrom (\n{indented(found)}\n) as found\n"
                f"left join {self.registry} as reg on reg.path = found.path and reg.name = {text(self.name)}\n"
                f"where reg.path is null or {again} and {changed}"
            )
        if self.options.max_files_per_trigger:
            found += f"\norder by modification_time, path\nlimit {self.options.max_files_per_trigger}"
        entry = "{'path': path, 'size': size, 'modification_time': modification_time}"
        return self._set(
            "files", f"select list({entry} order by path)\nfrom (\n{indented(found)}\n) as found"
        )

    def count_empty(self) -> str:
        """Return the query of how many files of `names` have no byte."""
        which = ["size = 0", *self._wanted("filename"), *self._in_time()]
        return f"select count(*) from read_blob({self.value('names')}) where {all_of(which)}"

    @property
    def patterns(self) -> list[str]:
        """What DuckDB has to look for."""
        return patterns_of(self.path, "**" if self.options.recursive_file_lookup else "*")

    def _wanted(self, file: str) -> list[str]:
        """The conditions on a file's name; what begins with a dot or a line below is not finished, or no data."""
        name = f"parse_filename({file})"
        conditions = [f"not starts_with({name}, '.')", f"not starts_with({name}, '_')"]
        if self.options.path_glob_filter:
            conditions.append(f"{name} glob {text(self.options.path_glob_filter)}")
        return conditions

    def _in_time(self) -> list[str]:
        after, before = self.options.modified_after, self.options.modified_before
        limits = [("> ", after), ("< ", before)]
        return [f"last_modified {sign}cast({text(when)} as timestamptz)" for sign, when in limits if when]

    def told(self) -> str:
        """Return the query of how many files there are to be read, their bytes, and one of them."""
        files = self.value("files")
        sizes = f"list_sum(list_transform({files}, lambda file: file.size))"
        return f"select coalesce(len({files}), 0), coalesce({sizes}, 0), {files}[1].path"

    def choose(self) -> tuple[str, str]:
        """Return the statements that put the paths of `files` into `paths`, and those of a sample into `sample`."""
        unnested = f"select unnest({self.value('files')}, recursive := true)"
        spread = (
            "select *, row_number() over (order by path) - 1 as place, sum(size) over () as bytes\n"
            f"from ({unnested}) as files"
        )
        every = (
            f"case when bytes <= {_LOOKED_THROUGH} then 1 else cast(ceil(bytes / {_SAMPLED}) as bigint) end"
        )
        paths = f"select list({_escaped('path')} order by path) from"
        return (
            self._set("paths", f"{paths} ({unnested}) as files"),
            self._set("sample", f"{paths} (\n{indented(spread)}\n) as spread\nwhere place % {every} = 0"),
        )

    # corrupt files

    def attempt(self, first: int, last: int) -> str:
        """Return the query that reads some of `paths` to their end, counted from 1, and fails where a run would."""
        paths = f"list_slice({self.value('paths')}, {first}, {last})"
        counted = "*" if self.options.format == "json" else "columns(*)"
        return f"select count({counted}) from {self.rows(paths, {})} as rec"

    def path_of(self, number: int) -> str:
        """Return the query of the path of one of `files`, counted from 1."""
        return f"select {self.value('files')}[{number}].path"

    def note_corrupt(self, numbers: Sequence[int]) -> str:
        """Return the statement that puts those of `files`, counted from 1, into `corrupt`."""
        path = f"{self.value('files')}[number].path"
        return self._set("corrupt", f"select list_transform({list(numbers)}, lambda number: {path})")

    def guess_corrupt(self) -> str:
        """Return the statement that puts those of `paths` into `corrupt` that look so, without failing at one.

        What it does not see stops the run.
        """
        whole = {"json": _IS_JSON, "parquet": _IS_PARQUET, "avro": _IS_AVRO}[self.options.format]
        source = f"from read_blob({self.value('paths')})\nwhere size is not null"
        return self._set(
            "corrupt",
            f"select list(filename order by filename)\n{source} and not ({whole} or {_IS_COMPRESSED})",
        )

    def part(self, what: str) -> str:
        """Return the statement that leaves in `files` what is no corrupt file, or puts those into `skipped`."""
        is_corrupt = f"list_contains({self.value('corrupt')}, file.path)"
        condition = is_corrupt if what == "skipped" else f"not coalesce({is_corrupt}, false)"
        kept = f"list_filter({self.value('files')}, lambda file: {condition})"
        return self._set(what, f"select case when len({kept}) > 0 then {kept} end")

    # what is in them

    def _reader(self, paths: str) -> str:
        """The call that reads files, with the path of the file in a column of ours."""
        given: dict[str, object] = {}
        if self.options.format == "csv":
            # Told everything, DuckDB refuses a line that is cut short, which it would otherwise find a reading for.
            comma = "\t" if _TABS.search(self.path.lower()) else ","
            given = {"all_varchar": True, "union_by_name": True, "header": True, "delim": comma}
            given |= {"quote": '"', "escape": '"', "comment": "", "skip": 0}
            # What is in the names of folders, text as everything else.
            given |= {"hive_types_autocast": False}
        elif self.options.format == "parquet":
            given = {"union_by_name": True}
        if self.options.ignore_missing_files:
            given["allow_empty"] = True
        if self.options.format in {"csv", "parquet"}:
            # Left to itself DuckDB goes by the files that are read together, which differ from run to run.
            given["hive_partitioning"] = _FOLDER_VALUE.search(self.path) is not None
        given |= self.options.reader
        name = _READERS.get(self.options.format, "read_json_objects")
        file = "true" if self.options.format == "json" else text(FILE)
        return f"{name}({paths}, filename = {file}{''.join(f', {key} = {_literal(v)}' for key, v in given.items())})"

    def fields(self) -> str:
        """Return the query of the fields in the files: as JSON, those of a first record, and all there are."""
        records = f"select json from {self._reader(self.value('sample'))} limit {_MOST_RECORDS}"
        return (
            f"with records as (\n{indented(records)}\n)\nselect\n"
            "    cast(to_json((select json_keys(json) from records limit 1)) as varchar),\n"
            "    cast(to_json((select list(distinct field order by field)"
            " from (select unnest(json_keys(json)) as field from records))) as varchar)"
        )

    def describe(self, paths: str = "") -> str:
        """Return the query whose columns are the fields of files that have columns: of all, or of some."""
        return f"select * exclude ({FILE}) from {self._reader(paths or self.value('paths'))}"

    def kinds(self, fields: Sequence[str]) -> str:
        """Return the query of what the values of fields look like: as JSON, a list of kinds for each field."""
        if self.options.format == "json":
            shown = [values.kind_of_json("json", values.pointer(field)) for field in fields]
        else:
            shown = [values.kind_of_word(_quoted(field)) for field in fields]
        columns = ",\n    ".join(f"{kind} as kind_{number}" for number, kind in enumerate(shown))
        source = f"select * from {self._reader(self.value('sample'))} limit {_TYPED_RECORDS}"
        lists = ", ".join(
            f"list(distinct kind_{number}) filter (where kind_{number} is not null)"
            for number in range(len(fields))
        )
        looked = f"select\n    {columns}\nfrom (\n{indented(source)}\n) as records"
        return f"select cast(to_json([{lists}]) as varchar)\nfrom (\n{indented(looked)}\n) as kinds"

    def rows(self, paths: str, types: Mapping[str, str]) -> str:
        """Return the SELECT of all that files have beside what `reading` makes of it, called rec.

        Of JSON `types` are those of the fields that become columns. A record that is no object ends the run.
        """
        if self.options.format != "json":
            return self._reader(paths)
        texts = f"from_json(json, {text(values.structure(types.items()))})" if types else "null"
        wrong = (
            "error('auto_cdc: file ' || filename || ' has a record that is no JSON object: ' || json[:80])"
        )
        return (
            f"(\n    select json, filename as {FILE}, {texts} as {TEXTS}\n    from {self._reader(paths)}\n"
            f"    where case when starts_with(json, '{{') then true else {wrong} end\n)"
        )

    # the registry

    def create_registry(self, registry: str) -> str:
        """Return the statement that makes the table of the files that were read, where there is none."""
        columns = ", ".join(f"{name} {kind}" for name, kind in REGISTRY_COLUMNS.items())
        return f"create table if not exists {registry} ({columns})"

    def forget(self, registry: str, variables: Sequence[str] = ()) -> str:
        """Return the statement that takes files out of the table: those of variables, or all of the read."""
        forgotten = f"delete from {registry} where name = {text(self.name)}"
        if not variables:
            return forgotten
        paths = [
            f"select unnest(list_transform({self.value(what)}, lambda file: file.path))" for what in variables
        ]
        listed = "\n    union all\n    ".join(paths)
        return f"{forgotten} and path in (\n    {listed}\n)"

    def record(self, registry: str, what: str, state: str) -> str:
        """Return the statement that puts the files of a variable into the table."""
        return (
            f"insert into {registry} (name, path, size, modification_time, state, recorded_at)\n"
            f"select {text(self.name)}, path, size, modification_time, {text(state)}, now()\n"
            f"from (select unnest({self.value(what)}, recursive := true)) as files"
        )

    def facts(self, paths: str) -> str:
        """Return a relation with path, size and time of the files of `files`, or of those that are named."""
        if paths == self.value("paths"):
            return f"(select unnest({self.value('files')}, recursive := true))"
        facts = "filename as path, size, last_modified as modification_time"
        return f"(select {facts} from read_blob({paths}) where size is not null or filename is not null)"

    def metadata(self) -> str:
        """Return the facts about a row's file as a struct, from a relation called facts."""
        return (
            "{'file_path': facts.path, 'file_name': parse_filename(facts.path), 'file_size': facts.size,"
            " 'file_modification_time': facts.modification_time}"
        )


# A file of JSON is an array of objects, or objects one after the other: only between those does one follow on another.
_BLANK = "' ' || chr(9) || chr(10) || chr(13)"
_TXT = f"trim(try(decode(content)), {_BLANK} || chr(65279))"
_OBJECTS = f"'[' || regexp_replace({_TXT}, '}}([ \\t\\r\\n]*)\\{{', '}},\\1{{', 'g') || ']'"
_IS_JSON = (
    f"coalesce({_TXT} = '' or (starts_with({_TXT}, '{{') and json_valid({_OBJECTS}))"
    f" or (try(json_type({_TXT})) = 'ARRAY' and coalesce(list_bool_and(list_transform("
    f"try(json_extract({_TXT}, '$[*]')), lambda one: starts_with(cast(one as varchar), '{{'))), true)), false)"
)
_IS_COMPRESSED = "regexp_matches(lower(filename), '[.](gz|zst)$')"
_IS_PARQUET = "size >= 12 and content[1:4] = 'PAR1'::blob and content[size - 3:size] = 'PAR1'::blob"
_IS_AVRO = "size >= 4 and content[1:3] = 'Obj'::blob"


def _escaped(path: str) -> str:
    """A path whose marks of a pattern stand for themselves."""
    return f"regexp_replace({path}, '([*?\\[])', '[\\1]', 'g')"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{text(str(key))}: {_literal(one)}" for key, one in value.items()) + "}"
    return str(value) if isinstance(value, (int, float)) else text(str(value))
