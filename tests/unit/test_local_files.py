"""Files of this machine's folders, listed without DuckDB: the same ones, by the same paths."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dbt_auto_cdc.files.local import listings, names_of

NAMES = (
    "a.json",
    "b.JSON",
    "b c.json",
    "ä'.json",
    'd"e.json',
    "[x].json",
    ".hidden.json",
    "_f.json",
    "g.jsonl",
    "h*.json",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with files of odd names, folders, and links to both."""
    landing = tmp_path / "landing"
    (landing / "inner.json").mkdir(parents=True)
    (tmp_path / "elsewhere.json").write_text("{}")
    (landing / "link.json").symlink_to(tmp_path / "elsewhere.json")
    (landing / "lost.json").symlink_to(tmp_path / "nowhere.json")
    for name in NAMES:
        (landing / name).write_text("{}")
    monkeypatch.chdir(tmp_path)
    return landing


@pytest.mark.parametrize("name", ["*", "*.json", "?.json", "b*", "*'*", "no*", "*e.json", "h?.json", "?*.*l"])
@pytest.mark.parametrize("place", ["landing/", "{absolute}/", "missing/", "landing/a.json/"])
def test_listed_as_duckdb_does(folder: Path, place: str, name: str) -> None:
    """Relative and absolute, with and without marks; folders and links that lead nowhere are no files."""
    pattern = place.format(absolute=folder) + name
    found = names_of(pattern)
    with duckdb.connect() as connection:
        expected = [file for (file,) in connection.execute("select file from glob(?)", [pattern]).fetchall()]
    assert found is not None
    assert sorted(expected) == sorted(found)


@pytest.mark.parametrize(
    "pattern",
    [
        "landing/a.json",
        "landing/**",
        "land*/*.json",
        "landing/[ab].json",
        "~/*.json",
        "landing//*.json",
        "./landing/*.json",
        "landing/../*.json",
        "s3://bucket/*.json",
    ],
)
def test_left_to_duckdb(folder: Path, pattern: str) -> None:
    """What is found in more than one folder, or by other marks, DuckDB lists."""
    assert folder.exists()
    assert names_of(pattern) is None


@pytest.mark.parametrize("name", [b"line\nbreak.json", b"byte\xff.json"])
def test_names_that_are_no_lines(folder: Path, name: bytes) -> None:
    """Names with line breaks, or of other bytes than text, DuckDB lists."""
    Path(bytes(folder).decode(), name.decode(errors="surrogateescape")).write_text("{}")
    assert names_of("landing/*.json") is None


def test_listings_are_gone_afterwards(folder: Path) -> None:
    """The names stand in a file as long as they are needed."""
    assert folder.exists()
    with listings(["landing/b*.json", "landing/**"]) as found:
        assert ["landing/b*.json"] == list(found)
        (file,) = map(Path, found.values())
        assert ["landing/b c.json"] == file.read_text(encoding="utf-8").splitlines()
    assert not file.exists()
