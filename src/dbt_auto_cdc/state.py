"""What was observed before a run: columns of the feed, of the target and of its companion, and the control record.

Not here: how it is observed (`observe`) or what follows from it (`materializations`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from dbt_auto_cdc.plan import Fault, Step

FORMAT_VERSION = 1
Rows = Sequence[Sequence[object]]
Ask = Callable[[str], Rows]
"""What gives the rows of one query: the engine, which is asked through dbt."""


@dataclass(frozen=True)
class Column:
    """A column of a relation: its name as stored and its type in the engine's words."""

    name: str
    type: str


def columns_in(told: Rows) -> tuple[Column, ...]:
    """Return the columns that an engine tells of a query or a relation: their names stand behind a `=`."""
    return tuple(Column(str(row[0]).removeprefix("="), str(row[1])) for row in told)


@dataclass(frozen=True)
class Index:
    """An index of the target: its name as SQL text, the statement that makes it, and the columns in that."""

    name: str
    create: str
    columns: str


@dataclass(frozen=True)
class Control:
    """What the last run recorded about the definition the target was built with.

    `keys` in lower case and sorted, because neither case nor order matters; `track_history` is the option as
    written; `truncates` stays true once truncates were ever applied; `once` names the flows that are not read again.
    Types are in the words of the `engine` that wrote it, which older records do not name.
    """

    scd_type: str
    keys: tuple[str, ...]
    key_types: tuple[str, ...]
    sequence_type: str
    track_history: tuple[str, ...]
    truncates: bool = False
    once: tuple[str, ...] = ()
    materialized: str = "auto_cdc"
    system_type: str = ""
    change_data_feed: bool = False
    engine: str = ""
    format: int = FORMAT_VERSION

    def to_json(self) -> str:
        """Return the record as one line of JSON, as it is kept in the companion."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Control:
        """Read a record; raises ValueError when it was written by a newer release or is damaged."""
        record = json.loads(text)
        if not isinstance(record, dict):
            raise ValueError("not a record")  # noqa: TRY004 - the text is wrong, not the call
        if record.get("format", 0) > FORMAT_VERSION:
            raise ValueError("written by a newer release")
        try:
            for name in ("keys", "key_types", "track_history"):
                record[name] = tuple(record[name])
            record["once"] = tuple(record.get("once", ()))
            return cls(**record)
        except (KeyError, TypeError) as exc:
            raise ValueError(f"damaged: {exc}") from exc


@dataclass(frozen=True)
class Copied:
    """The columns of a target and a companion that another engine wrote, with types as precise as these are told."""

    target: tuple[Column, ...]
    companion: tuple[Column, ...]


def was_fed(record: str) -> bool:
    """Tell whether the last run wrote its changes down, whatever else is wrong with its record."""
    try:
        return bool(json.loads(record).get("change_data_feed"))
    except (ValueError, AttributeError):
        return False


@dataclass(frozen=True)
class Position:
    """How far a read came, as the companion remembers it: in the type of what it goes by, with the value as text.

    `by` is what it goes by, as written, and `engine` the one whose words `type` and value are in; older records do not
    name it. `text` is the whole record: JSON on the first line, and the value behind it,
    so that SQL can write it whatever is in the value. `is_sample` marks a target that was built from a part of the
    source, `more` is for a kind of read's own, and `written` is the record as it was found.
    """

    kind: str
    name: str
    type: str = ""
    by: str = ""
    value: str = ""
    is_sample: bool = False
    more: Mapping[str, object] = field(default_factory=dict)
    engine: str = ""
    written: str = field(default="", compare=False)

    @property
    def head(self) -> str:
        """The record but for the value, which follows it."""
        head = {key: value for key, value in asdict(self).items() if key not in {"value", "written"}}
        return json.dumps(head) + "\n"

    @property
    def text(self) -> str:
        """The record."""
        return self.head + self.value

    @classmethod
    def of(cls, text: str) -> Position:
        """Return a record that was read; raises ValueError if it is none."""
        head, _, value = text.partition("\n")
        try:
            return cls(**json.loads(head), value=value, written=text)
        except TypeError as error:
            raise ValueError(f"damaged: {error}") from error


@dataclass(frozen=True)
class Reading:
    """What a run makes of a read in the model's SQL, which stands there under `header`.

    `look` is a relation of the same columns that is there before the run, and `sql` the one that is read. `first` are
    the steps before anything is read, `record` those that remember how far the run came; `working` are the working
    tables that they use. `faults` say in words what may go wrong while it is read. `told` says it to a person.
    `reached` is the query of the record, for a companion that gets it with all its other rows.
    """

    name: str
    header: str
    look: str
    sql: str
    first: tuple[Step, ...] = ()
    record: tuple[Step, ...] = ()
    reached: str = ""
    working: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    told: str = ""


@dataclass(frozen=True)
class Relations:
    """The relations of one model as SQL text, and the bare names that renaming needs.

    `changes` is the change feed, `quarantine` holds the rows that expectations dropped, `files` the files that were
    read; `beside` has the name and the relation of everything that may stand beside the target, in the order of
    `names.BESIDE`. The rebuilt ones stand there while the target is built anew. `struct` is the type of a sequence of
    several columns, on engines where such a type has a name. `cloned_from` is what `clone_companions` has to be told,
    where dbt knows: when it defers to another schema.
    """

    target: str
    companion: str
    identifier: str
    companion_identifier: str
    rebuilt_target: str
    rebuilt_companion: str
    files: str
    struct: str
    struct_identifier: str
    rebuilt_struct: str
    changes: str = ""
    changes_identifier: str = ""
    quarantine: str = ""
    quarantine_identifier: str = ""
    beside: tuple[tuple[str, str], ...] = ()
    cloned_from: str = "from_schema: <where it was cloned from>"


@dataclass(frozen=True)
class ChangeFeed:
    """What there is of a target's change feed.

    `columns` is None where there is no such table; `version` is the last one that the companion knows of, None where
    it knows none; `is_whole` tells that the last run had the option on, so that no change is missing.
    """

    columns: tuple[Column, ...] | None = None
    version: int | None = None
    is_whole: bool = False


@dataclass(frozen=True)
class State:
    """Everything a plan may depend on besides the specification.

    `target` and `companion` are None where there is no such relation; `sequence_type` is empty where it could not be
    told, and `refused` says why; `warned` is what does no harm but ought to be said; `indexes` are those in the way of
    changes to the target; `contract_sql` holds the columns and constraints of an enforced contract, else nothing;
    `partial` is the flag of dbt's under which the model reads a part of its source only; `waits` tells that a version
    query found no snapshot that is to be applied; `system_type` is the type of the system sequence, where there is one.
    `positions` are those that the companion has, `reads` what this run makes of the reads in the model's SQL, and
    `last_run` is the number of the last run that appended rows, and `layers` says how many runs wrote beside the
    companion's files since these were written anew. `changes` tells of the change feed where there is one,
    `quarantine` of the columns of a quarantine that the model has; `run_id` is dbt's name of the run. Where a run is no
    transaction, `run` tells it from all others, `turn` is what the companion says of the last run that wrote, `lost`
    are the numbers of runs whose rows were taken back, and `left_over` are working tables of other runs.
    `expected_rows` is how many rows the engine expects of the model, where a plan depends on it. `copied` has the
    columns of tables that another engine wrote, and none where this one did.
    """

    model_sql: str
    feed: tuple[Column, ...]
    sequence_type: str
    target: tuple[Column, ...] | None = None
    companion: tuple[Column, ...] | None = None
    control: Control | None = None
    refused: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    target_is_view: bool = False
    full_refresh: bool = False
    contract_sql: str = ""
    partial: str = ""
    waits: bool = False
    system_type: str = ""
    positions: tuple[Position, ...] = ()
    reads: tuple[Reading, ...] = ()
    last_run: int = 0
    layers: int = 0
    changes: ChangeFeed = ChangeFeed()
    quarantine: tuple[Column, ...] | None = None
    run_id: str = ""
    run: str = ""
    turn: str = ""
    lost: tuple[int, ...] = ()
    left_over: tuple[str, ...] = ()
    expected_rows: int | None = None
    copied: Copied | None = None
