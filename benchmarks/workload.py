"""A deterministic change-data workload: a base table, batches of change events, a whole feed.

Writes parquet and keeps what was written beside it (`meta.json`); it knows nothing about targets or about how events are applied.

The values of a row are a pure function of its key and version number, mixed in numpy and cut into columns by DuckDB, and the plan of
changes comes from numpy's Philox generator: the same arguments give the same rows on every machine.

    python benchmarks/workload.py --out DIR --rows 1000000 --keys 10000 --batches 3
    python benchmarks/workload.py --out DIR --feed 1000000
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

Longs = npt.NDArray[np.int64]
Texts = npt.NDArray[np.str_]

COLUMNS = {
    "qty": "integer",
    "total": "bigint",
    "status": "varchar",
    "name": "varchar",
    "note": "varchar",
    "ts": "timestamp",
    "amt": "decimal(12, 2)",
    "score": "double",
}

# a, b, c are independent 64-bit mixes of (key, version)
VALUES = {
    "qty": "(a % 1000)::integer",
    "total": "((a >> 10) % 4000000000)::bigint * 37",
    "status": "(['new', 'open', 'paid', 'sent', 'lost', 'done', 'void', 'hold'])[(a >> 61)::bigint + 1]",
    "name": "'customer_' || (b % 100000)::varchar",
    "note": "'n-' || (b >> 20)::varchar || '-' || (b % 97)::varchar",
    "ts": "timestamp '2024-01-01' + to_seconds((c % 63072000)::bigint)",
    "amt": "((c >> 26) % 100000000)::decimal(12, 2) / 100",
    "score": "((c >> 20) % 1000003)::double / 1000",
}


@dataclass(frozen=True)
class Rates:
    """Shares of the workload; late, second and no_op are shares of the updates, duplicate of all delivered events."""

    insert: float = 0.20
    delete: float = 0.10
    revive: float = 0.10  # of inserts: keys that were deleted before
    late: float = 0.02
    second: float = 0.05
    no_op: float = 0.05
    duplicate: float = 0.02


@dataclass(frozen=True)
class Events:
    """Columns of a list of events, one entry an event."""

    id: Longs
    op: Texts
    seq: Longs
    ver: Longs

    def take(self, index: npt.NDArray[np.generic]) -> Events:
        return Events(self.id[index], self.op[index], self.seq[index], self.ver[index])

    def __len__(self) -> int:
        return len(self.id)


def concat(*parts: Events) -> Events:
    return Events(
        np.concatenate([part.id for part in parts]),
        np.concatenate([part.op for part in parts]),
        np.concatenate([part.seq for part in parts]),
        np.concatenate([part.ver for part in parts]),
    )


def _mix(key: Longs, version: Longs, *, salt: int) -> npt.NDArray[np.uint64]:
    """splitmix64 over (key, version, salt); wraps around on purpose."""
    x = (
        key.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        + version.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03)
        + np.uint64(salt)
    )
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _write(events: Events, path: Path, *, with_op: bool) -> None:
    """Store the events with their values, in the order given; deletes carry nulls."""
    columns = {"id": events.id, "op": events.op, "seq": events.seq}
    columns |= {name: _mix(events.id, events.ver, salt=salt) for name, salt in (("a", 1), ("b", 2), ("c", 3))}
    values = ", ".join(
        f"case when op <> 'D' then cast({value} as {COLUMNS[name]}) end as {name}"
        for name, value in VALUES.items()
    )
    con = duckdb.connect()
    con.register("planned", pa.table(columns))
    con.execute(
        f"copy (select id, {'op, ' if with_op else ''}seq, {values} from planned) to '{path}' (format parquet, compression zstd)"
    )
    con.close()


class Table:
    """The source table that the change batches are cut from."""

    def __init__(self, rows: int, *, rates: Rates, seed: int) -> None:
        self.rates = rates
        self.rng = np.random.Generator(np.random.Philox(seed))
        self.alive = np.ones(rows, bool)
        self.ver = np.zeros(rows, np.int64)
        self.seq = rows  # the base rows have the sequences 1 .. rows
        self.held: Events | None = None

    def base(self) -> Events:
        ids = np.arange(len(self.alive), dtype=np.int64)
        return Events(ids, np.full(len(ids), "I"), ids + 1, self.ver)

    def batch(self, keys: int) -> Events:
        """The next delivered events, touching `keys` keys drawn uniformly, in shuffled order."""
        rates, rng = self.rates, self.rng
        inserted, deleted = round(keys * rates.insert), round(keys * rates.delete)
        updated = keys - inserted - deleted
        picked = rng.choice(np.flatnonzero(self.alive), updated + deleted, replace=False)
        updates, deletes = picked[:updated], picked[updated:]
        inserts = self._inserts(inserted)

        draw = rng.random(updated)
        is_late, is_twice = draw < rates.late, draw < rates.late + rates.second  # both get an earlier event
        older = updates[is_twice]
        self.ver[older] += 1
        first = Events(older, np.full(len(older), "U"), self._sequences(len(older)), self.ver[older].copy())
        self.ver[updates[rng.random(updated) >= rates.no_op]] += 1
        self.ver[inserts] += 1
        ids = np.concatenate([inserts, updates, deletes])
        ops = np.repeat(np.array(["I", "U", "D"]), [len(inserts), len(updates), len(deletes)])
        second = Events(ids, ops, rng.permutation(self._sequences(len(ids))), self.ver[ids])
        self.alive[inserts], self.alive[deletes] = True, False

        late = is_late[is_twice]
        delivered = concat(first.take(~late), second, *([self.held] if self.held else []))
        self.held = first.take(late)
        again = rng.choice(len(delivered), int(len(delivered) * rates.duplicate), replace=False)
        delivered = concat(delivered, delivered.take(again))
        return delivered.take(rng.permutation(len(delivered)))

    def _inserts(self, count: int) -> Longs:
        dead = np.flatnonzero(~self.alive)
        revived = self.rng.choice(dead, min(int(count * self.rates.revive), len(dead)), replace=False)
        top, new = len(self.alive), count - len(revived)
        self.alive = np.concatenate([self.alive, np.zeros(new, bool)])
        self.ver = np.concatenate([self.ver, np.zeros(new, np.int64)])
        return np.concatenate([revived, np.arange(top, top + new)])

    def _sequences(self, count: int) -> Longs:
        self.seq += count
        return np.arange(self.seq - count + 1, self.seq + 1)


def feed(events: int, *, rates: Rates, seed: int) -> Events:
    """A whole feed from its first event: `events` deliveries over about 0.29 keys an event, in order of delivery.

    Every key begins with an insert; what follows is drawn with the shares of updates and deletes; a deleted key is inserted again.
    """
    rng = np.random.Generator(np.random.Philox(seed))
    fresh = int(events / (1 + rates.duplicate))
    ids = rng.integers(0, int(events * 0.3), fresh)
    order = np.argsort(ids, kind="stable")
    sorted_ids = ids[order]
    starts = np.flatnonzero(np.concatenate([[True], sorted_ids[1:] != sorted_ids[:-1]]))
    rank = np.arange(fresh) - np.repeat(starts, np.diff(np.append(starts, fresh)))
    is_delete = rng.random(fresh) < rates.delete / (1 - rates.insert)
    is_no_op = rng.random(fresh) < rates.no_op
    op = np.full(fresh, "I")
    ver = np.zeros(fresh, np.int64)
    for depth in range(1, int(rank.max()) + 1):
        here = np.flatnonzero(rank == depth)
        living = here[op[here - 1] != "D"]
        op[living] = np.where(is_delete[living], "D", "U")
        stays = (op[here] == "U") & is_no_op[here]
        ver[here] = ver[here - 1] + np.where(stays, 0, 1)
    planned = Events(ids, np.empty_like(op), np.arange(1, fresh + 1), np.empty_like(ver))
    planned.op[order], planned.ver[order] = op, ver
    # a late event arrives after about a tenth of the feed
    is_late = (planned.op == "U") & (rng.random(fresh) < rates.late)
    arrival = planned.seq + np.where(is_late, rng.integers(1, max(2, events // 10), fresh), 0)
    again = rng.choice(fresh, events - fresh, replace=False)
    arrival = np.concatenate([arrival, arrival[again] + 1])
    return concat(planned, planned.take(again)).take(np.argsort(arrival, kind="stable"))


def write_batches(out: Path, *, rows: int, keys: int, batches: int, rates: Rates = Rates()) -> None:
    """base.parquet (id, seq, values) and batch_1.parquet .. (id, op, seq, values), in order of delivery."""
    out.mkdir(parents=True, exist_ok=True)
    table = Table(rows, rates=rates, seed=7)
    _write(table.base(), out / "base.parquet", with_op=False)
    counts = []
    for number in range(1, batches + 1):
        delivered = table.batch(keys)
        _write(delivered, out / f"batch_{number}.parquet", with_op=True)
        counts.append(len(delivered))
    _meta(out, rows=rows, keys=keys, rates=asdict(table.rates), events=counts)


def write_feed(out: Path, *, events: int, more: int = 1000) -> None:
    """feed.parquet, the first `events` deliveries of a feed, and more.parquet, the next `more`."""
    out.mkdir(parents=True, exist_ok=True)
    rates = Rates()
    delivered = feed(events + more, rates=rates, seed=11)
    _write(delivered.take(np.arange(events)), out / "feed.parquet", with_op=True)
    _write(delivered.take(np.arange(events, events + more)), out / "more.parquet", with_op=True)
    _meta(out, rates=asdict(rates), events=[events, more], keys=len(np.unique(delivered.id)))


def _meta(out: Path, **facts: object) -> None:
    (out / "meta.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the base table")
    parser.add_argument("--keys", type=int, default=10_000, help="keys touched by a batch")
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--feed", type=int, help="write a whole feed of this many events instead")
    options = parser.parse_args()
    if options.feed:
        write_feed(options.out, events=options.feed)
    else:
        write_batches(options.out, rows=options.rows, keys=options.keys, batches=options.batches)


if __name__ == "__main__":
    main()
