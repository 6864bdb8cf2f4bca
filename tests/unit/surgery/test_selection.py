"""Tests for selecting tokens by script and by list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tokbench.errors import ConfigError
from tokbench.surgery.selection import of_scripts, parse_ids, parse_scripts, read_ids

if TYPE_CHECKING:
    from pathlib import Path


def test_script_names_ignore_case_and_are_separated_by_commas() -> None:
    assert parse_scripts(["thai", " HAN ,old italic"]) == {"Thai", "Han", "Old_Italic"}
    with pytest.raises(ConfigError, match="no script 'Cyrilic'"):
        parse_scripts(["Cyrilic"])
    with pytest.raises(ConfigError, match="no script is named"):
        parse_scripts([","])


def test_only_letters_decide_the_script_of_a_token() -> None:
    tokens = {0: b" the", 1: "это".encode(), 2: "1 № ー".encode(), 3: "б".encode()[:1], 4: "aб".encode()}
    assert of_scripts(tokens, drop=["Cyrillic"]) == {1, 4}
    assert of_scripts(tokens, keep=["Latin"]) == {1, 4}
    assert of_scripts(tokens, drop=["Latin"], keep=["Latin", "Cyrillic"]) == {0, 4}
    assert of_scripts(tokens) == frozenset()


def test_id_list_has_one_id_per_line(tmp_path: Path) -> None:
    path = tmp_path / "list.tsv"
    path.write_text("id\tbytes\n12\t61\n\n# two more\n7\n")
    assert read_ids(path) == {7, 12}


def test_malformed_id_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"x\.txt, line 2: 'hello' is not an id"):
        parse_ids(["1", "hello"], name="x.txt")
    with pytest.raises(ConfigError, match="line 2: 'id' is not an id"):
        parse_ids(["1", "id"], name="x.txt")
    with pytest.raises(ConfigError, match=r"line 1: '9+' is not an id"):
        parse_ids(["9" * 5000], name="x.txt")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_ids(tmp_path / "missing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_ids(tmp_path / "binary")
    (tmp_path / "none").write_text("id\tbytes\n\n# none\n")
    with pytest.raises(ConfigError, match="none lists no id"):
        read_ids(tmp_path / "none")
