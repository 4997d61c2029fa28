"""Names of working tables: whose they are can be told from the name alone.

Not here: what stands in them.
"""

from __future__ import annotations

import pytest

from dbt_auto_cdc import names

RUN = "0123456789ab"


@pytest.mark.parametrize("identifier", ["orders", "orders__auto_cdc", "o" * 70, "ø" * 40])
@pytest.mark.parametrize(
    "suffix", [names.STAGE, names.TARGET_CHANGES, names.DUMP + names.STAGE, names.REACH + "_0"]
)
def test_a_working_table_is_that_of_its_target(identifier: str, suffix: str) -> None:
    """Also where the name is shortened; one of another target, or without a run, is not."""
    name = names.with_suffix(identifier, names.of_run(suffix, RUN), 63)
    assert len(name.encode()) <= 63
    assert names.is_of_a_run(name, identifier, 63)
    assert not names.is_of_a_run(name, "customers", 63)
    assert not names.is_of_a_run(names.with_suffix(identifier, suffix, 63), identifier, 63)


@pytest.mark.parametrize("suffix", names.BESIDE)
def test_what_stays_is_no_working_table(suffix: str) -> None:
    """The companion, and what else belongs to a target for good."""
    assert not names.is_of_a_run(f"orders{suffix}", "orders", 63)
