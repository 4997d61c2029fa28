"""The words of this project, each defined once, and the modes that use them.

Event
    One row of the feed: keys, a sequence, a kind (upsert, delete, truncate) and values. Key and sequence identify it.
Known event
    An event that an earlier run applied. It changes nothing, whatever it carries.
Late event
    A new event below the greatest sequence its key had before the run.
Run (of a key)
    Consecutive upserts, in order of sequence, that agree on every tracked column. A run is one version: one row of
    an SCD type 2 target, which starts at the run's first event and shows the values of its last.
Hidden event
    An event that the visible rows do not give back: an upsert inside a run, a delete that closed nothing.
Tombstone
    A remembered delete. SCD type 1 keeps one for every deleted key.
Touched key
    A key with at least one new event in this run. Nothing else is read widely or written.
Belief
    What the events known at a system time say about a key: a history over business time. Bitemporal targets only.
Rectangle
    A version of a bitemporal target: from when to when it holds, and from when to when that was believed.
Companion
    The table beside the target that keeps hidden events, tombstones and the control record; beside a bitemporal
    target every event.

A worked example, SCD type 2, tracking `city`; the events of one key, in order of sequence::

    sequence     1        4        6        8
    event        Oslo     Oslo     Rome     delete
    versions     [ Oslo, 1 to 6 )  [ Rome, 6 to 8 )
    hidden                4

    a late event "Bari" at 5:
    versions     [ Oslo, 1 to 5 ) [ Bari, 5 to 6 ) [ Rome, 6 to 8 )     hidden 4 stays inside the first version

    a late event "Bari" at 3 instead:
    versions     [ Oslo, 1 to 3 ) [ Bari, 3 to 4 ) [ Oslo, 4 to 6 ) [ Rome, 6 to 8 )     hidden 4 opens a version

Not here: SQL; `changes` brings the feed into this form, `scd1`, `scd2` and `bitemporal` turn events into
rows.
"""
