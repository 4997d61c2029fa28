"""Every name the project reserves: hidden columns, companion and working tables.

Not here: the names of configuration options (`spec`) and of public macros (`macros/`).
"""

from __future__ import annotations

import hashlib
import re

PREFIX = "__auto_cdc_"

# The visible bounds, in Lakeflow's spelling.
START_AT = "__START_AT"
END_AT = "__END_AT"
SYSTEM_START_AT = "__SYSTEM_START_AT"
SYSTEM_END_AT = "__SYSTEM_END_AT"
# Those that a target has, by its SCD type.
BOUNDS = {
    "2": (START_AT, END_AT),
    "bitemporal": (START_AT, END_AT, SYSTEM_START_AT, SYSTEM_END_AT),
}

# Columns of the stage and of the companion.
SEQUENCE = PREFIX + "sequence"
SYSTEM_SEQUENCE = PREFIX + "system_sequence"
KIND = PREFIX + "kind"
RUN_START = PREFIX + "run_start"
CONTROL = PREFIX + "control"
# Of an append_flow target: the number of the run that appended a row.
RUN = PREFIX + "run"

# Under partial updates: the last delete below a row, and of every part (a column, or a leaf of a struct) who wrote it.
FLOOR = PREFIX + "floor"
AUTHOR = PREFIX + "author_"
SENT = PREFIX + "sent_"
SELECTED = PREFIX + "selected_"
LISTED = PREFIX + "listed"
AUTHORSHIP = (FLOOR, AUTHOR, SENT)
PART = PREFIX + "part_"

# Columns of the working tables of one run.
LOCATOR = PREFIX + "locator"
HIDDEN = PREFIX + "hidden"
IS_NEW = PREFIX + "is_new"
IS_LATE = PREFIX + "is_late"
IS_READ = PREFIX + "is_read"
IS_GREATEST = PREFIX + "is_greatest"
IS_REPEATED = PREFIX + "is_repeated"
CONTINUES = PREFIX + "continues"
VALUES = PREFIX + "values"
WEIGHT = PREFIX + "weight"
RUN_END = PREFIX + "run_end"
OLD_END = PREFIX + "old_end"
EVENT = PREFIX + "event"
PREVIOUS = PREFIX + "previous"
PREVIOUS_EVENT = PREFIX + "previous_event"
PREVIOUS_SEQUENCE = PREFIX + "previous_sequence"
OPENS = PREFIX + "opens"
CLOSES = PREFIX + "closes"
LAST = PREFIX + "last"
NEXT = PREFIX + "next"
STARTED = PREFIX + "started"
SHOWS = PREFIX + "shows"
WAS_IN = PREFIX + "was_in"
HIDES = PREFIX + "hides"
REPLACES = PREFIX + "replaces"
SAME = PREFIX + "same"
MOVED = PREFIX + "moved"
FIRST = PREFIX + "first"
LATEST = PREFIX + "latest"
PLACE = PREFIX + "place"
COPIES = PREFIX + "copies"
WAYS = PREFIX + "ways"
DECIDES = PREFIX + "decides"
GREATEST = PREFIX + "greatest"
DELETED = PREFIX + "deleted"
WRITES = PREFIX + "writes"
FRESH = PREFIX + "fresh_"
WAS = PREFIX + "was_"
CHANGED = PREFIX + "changed"
INHERITS = PREFIX + "inherits"
UNKNOWN = PREFIX + "unknown"
OWNER = PREFIX + "owner"
LINE_NUMBER = PREFIX + "line"
IS_BASE = PREFIX + "is_base"
MOMENT = PREFIX + "moment"
SECTION = PREFIX + "section"
UNTIL = PREFIX + "until"

# The alias of a relation whose columns are asked for in a sub-query: of any other name some engines (Spark, BigQuery)
# would first look for a column there, and take the rest for one of its fields.
AROUND = PREFIX + "around"

# The setting of a transaction that holds what an engine said of the options.
TRIED = PREFIX.strip("_") + ".tried"

# Where rows have no places of their own: the number of a row of a working table; and, of what a run is going to write,
# what becomes of a row and which step says so.
ROW = PREFIX + "row"
ACTION = PREFIX + "action"
STEP = PREFIX + "step"
# The kind of the companion's row that says which run was the last to write, and what it has yet to write.
JOURNAL = "journal"
# The kind of a row with the number of a run whose rows were taken back, and may come all the same.
LOST = "lost"
# The kind of that which holds how many runs wrote beside its files.
LAYERS = "layers"

# What the expectations said of a row: of each by its number, and whether one of them drops it.
EXPECTED = PREFIX + "expected_"
PASSES = PREFIX + "passes_"
DROPPED = PREFIX + "dropped"

# Where a model's flows are noted while dbt renders it, and the option that carries them to the parse hook.
FLOWS = "auto_cdc_flows"
# The same for the reads in its SQL.
READS = "auto_cdc_reads"
# What the one flow of a model without blocks is called in the record of what was read once.
ONLY = "snapshot"

# The columns of a change feed beside the target's, in the spelling of Delta's.
CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"
COMMIT_TIMESTAMP = "_commit_timestamp"
FEED_COLUMNS = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)
# The kind of the companion's row that holds the last version of the change feed.
FEED = "feed"
# The columns of a quarantine beside those of the source.
FAILED_EXPECTATIONS = "_failed_expectations"
RUN_ID = "_run_id"
QUARANTINED_AT = "_quarantined_at"
QUARANTINE_COLUMNS = (FAILED_EXPECTATIONS, RUN_ID, QUARANTINED_AT)

# The table of a schema that has a row for each run; for users to read, and so without the prefix.
EVENT_LOG = "auto_cdc_event_log"

COMPANION = "__auto_cdc"
# What else may stand beside a target: the changes of its rows, rows that expectations dropped, files that were read.
CHANGES = COMPANION + "_changes"
QUARANTINE = COMPANION + "_quarantine"
FILES = COMPANION + "_files"
BESIDE = (COMPANION, CHANGES, QUARANTINE, FILES)
STAGE = COMPANION + "_stage"
CHECKED = COMPANION + "_checked"
EVENTS = COMPANION + "_events"
GONE = COMPANION + "_gone"
WINNERS = COMPANION + "_winners"
VERSIONS = COMPANION + "_versions"
DUMP = COMPANION + "_dump"
MOVING = COMPANION + "_moving"
STORED = COMPANION + "_stored"
LINE = COMPANION + "_line"
TIMELINE = COMPANION + "_timeline"
SUMS = COMPANION + "_sums"
GIVEN = COMPANION + "_given"
DESCRIBED = COMPANION + "_described"
STRUCT = COMPANION + "_sequence"
REACH = COMPANION + "_reach"
AS_IT_IS = COMPANION + "_as_it_is"
REBUILT = COMPANION + "_rebuilt"
NEXT_VERSION = COMPANION + "_next_version"
LAST_VERSION = COMPANION + "_last_version"
TOUCHED = COMPANION + "_touched"
PARTS = COMPANION + "_parts"
PLACED = COMPANION + "_placed"
TURNS = COMPANION + "_turns"
EVENT_BLOCKS = COMPANION + "_event_blocks"
ARRIVALS = COMPANION + "_arrivals"
SIGHTS = COMPANION + "_sights"
WALL_BLOCKS = COMPANION + "_wall_blocks"
WALL_NEIGHBOURS = COMPANION + "_wall_neighbours"
WANTED = COMPANION + "_wanted"
TARGET_CHANGES = COMPANION + "_target_changes"
COMPANION_CHANGES = COMPANION + "_companion_changes"
ROWS_BEFORE = COMPANION + "_rows_before"
ROWS_AFTER = COMPANION + "_rows_after"
ROWS_CHANGED = COMPANION + "_rows_changed"

# How many bytes tell one run from all others; each is two letters of a name.
RUN_BYTES = 6
_OF_A_RUN = re.compile(rf"(?={COMPANION}_\w+_[0-9a-f]{{{2 * RUN_BYTES}}}$)")


def bounds_of(scd_type: str) -> set[str]:
    """Return the bounds that a target has by its SCD type, in lower case; none where it keeps no history."""
    return {bound.lower() for bound in BOUNDS.get(scd_type, ())}


def with_suffix(identifier: str, suffix: str, limit: int) -> str:
    """Return `identifier` + `suffix`, shortened to `limit` bytes.

    A shortened name keeps the suffix and carries eight digits of a digest of the whole identifier, so that two
    long names with one beginning stay apart.
    """
    name, written = identifier + suffix, identifier.encode()
    if len(name.encode()) <= limit:
        return name
    digest = hashlib.sha256(written).hexdigest()[:8]
    return f"{written[: limit - len(suffix) - 9].decode(errors='ignore')}_{digest}{suffix}"


def of_run(suffix: str, run: str) -> str:
    """Return the suffix of a working table that tells it from those of other runs, where one may meet them."""
    return f"{suffix}_{run}" if run else suffix


def told_by(run_id: str) -> str:
    """Return what tells a run of dbt's from others in the name of a working table."""
    return hashlib.sha256(run_id.encode()).hexdigest()[: 2 * RUN_BYTES]


def is_of_a_run(name: str, identifier: str, limit: int) -> bool:
    """Tell whether a table is a working table of some run of a target."""
    return any(
        with_suffix(identifier, name[found.start() :], limit) == name for found in _OF_A_RUN.finditer(name)
    )


def of_part(prefix: str, part: str, limit: int) -> str:
    """Return the name of the companion's column about a part of a row; long ones end with a digest."""
    name = prefix + part.lower()
    if len(name) <= limit:
        return name
    return f"{name[: limit - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def beside_column(number: int) -> str:
    """Return the name that a column which flows have beside those they write has in their common feed."""
    return f"{PREFIX}beside_{number}"


def is_reserved(column: str) -> bool:
    """Tell whether a column name begins with the reserved prefix, in any case."""
    return column.lower().startswith(PREFIX)
