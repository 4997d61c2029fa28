"""What a dbt project would otherwise use: incremental `merge`, incremental `delete+insert` and snapshots, as small dbt projects.

Not here: the product's model text (`product.py`) and the timing (`measure.py`).

The incremental peers are made as safe as their users can make them: newest event per key, a guard against older events, and soft deletes,
because a deleted row could not outrank a late event. The snapshots read the whole source table; no peer applies a change feed to SCD2.
"""

from __future__ import annotations

from pathlib import Path

import product
from workload import COLUMNS

VALUES = ", ".join(COLUMNS)

NEWEST = f"""select id, {VALUES}, seq, op = 'D' as is_deleted from main.feed
qualify row_number() over (partition by id order by seq desc) = 1"""

MERGE = f"""{{{{ config(
    materialized='incremental', alias='target', unique_key='id', incremental_strategy='merge',
    merge_update_condition='DBT_INTERNAL_SOURCE.seq > DBT_INTERNAL_DEST.seq'
) }}}}
{NEWEST}
"""

DELETE_INSERT = f"""{{{{ config(materialized='incremental', alias='target', unique_key='id', incremental_strategy='delete+insert') }}}}
select src.* from ({NEWEST}) src
{{% if is_incremental() %}}
left join {{{{ this }}}} tgt using (id)
where tgt.seq is null or src.seq > tgt.seq
{{% endif %}}
"""


def snapshot(strategy: str) -> str:
    how = (
        "strategy='timestamp', updated_at='updated_at'"
        if strategy == "timestamp"
        else f"strategy='check', check_cols={list(COLUMNS)}"
    )
    return (
        f"{{% snapshot target %}}\n{{{{ config(unique_key='id', {how}, hard_deletes='invalidate') }}}}\n"
        "select * from main.source\n{% endsnapshot %}\n"
    )


# competitor -> file of its node, text of the node
NODES = {
    "dbt merge": ("models/peer.sql", MERGE),
    "dbt delete+insert": ("models/peer.sql", DELETE_INSERT),
    "dbt snapshot timestamp": ("snapshots/target.sql", snapshot("timestamp")),
    "dbt snapshot check": ("snapshots/target.sql", snapshot("check")),
    "auto_cdc dbt scd1": ("models/peer.sql", product.dbt_model(1)),
    "auto_cdc dbt scd2": ("models/peer.sql", product.dbt_model(2)),
}


def write_project(folder: Path, *, competitor: str, database: Path, threads: int) -> None:
    """A dbt project with the competitor's node and a no-op model to subtract."""
    file, text = NODES[competitor]
    files = {
        "dbt_project.yml": "name: bench\nversion: '1.0'\nprofile: bench\nflags: {send_anonymous_usage_stats: false}\n",
        "profiles.yml": (
            "bench:\n  target: dev\n  outputs:\n    dev:\n"
            f"      type: duckdb\n      path: {database}\n      schema: main\n      threads: 1\n      settings: {{threads: {threads}}}\n"
        ),
        "models/no_op.sql": "{{ config(materialized='table') }}\nselect 1 as one\n",
        file: text,
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
