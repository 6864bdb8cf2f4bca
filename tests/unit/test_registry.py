"""Backends of other packages: what cannot be loaded is named, and does not hide the others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tokbench import registry
from tokbench.errors import BackendUnavailableError, ConfigError
from tokbench.workbench.backends import list_backends
from tokbench.workbench.doctor import examine
from tokbench.workbench.train import train

if TYPE_CHECKING:
    from pathlib import Path

MODULES = {
    "raising_backend": "raise RuntimeError('no GPU')",
    "broken_backend": "def (",
    "good_backend": """
from dataclasses import dataclass, field

@dataclass(frozen=True, kw_only=True)
class Config:
    size: int
    names: list[str] = field(default_factory=lambda: ["a"])

class Good:
    name, summary, kernel, config_type = "good", "does nothing", "python", Config
    def train(self, documents, config, *, progress=None): raise NotImplementedError
    def load(self, directory, manifest): raise NotImplementedError

class Failing(Good):
    def __init__(self): raise ValueError("no licence")

class Partial:
    name = "partial"

class Renamed(Good):
    name = "another"
""",
}

REFUSED = {
    "raising": ("raising_backend:Any", "RuntimeError: no GPU"),
    "broken": ("broken_backend:Any", "SyntaxError"),
    "missing": ("there_is_no_such_module:Any", "No module named"),
    "nothing": ("good_backend:Nothing", "has no attribute 'Nothing'"),
    "no class": ("good_backend", "has no attribute"),
    "failing": ("good_backend:Failing", "ValueError: no licence"),
    "partial": ("good_backend:Partial", "it has no summary, kernel, config_type, train, load"),
    "renamed": ("good_backend:Renamed", "it calls itself 'another'"),
}


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    points = {"good": "good_backend:Good", **{name: target for name, (target, _) in REFUSED.items()}}
    monkeypatch.setattr(registry, "_installed", lambda: points)


@pytest.mark.parametrize("name", REFUSED)
def test_unusable_backend_is_refused_with_the_reason(name: str) -> None:
    target, words = REFUSED[name]
    with pytest.raises(BackendUnavailableError) as refused:
        registry.get_backend(name)
    assert f"the backend {name!r} ({target}) cannot be loaded: " in refused.value.message
    assert words in refused.value.message
    assert refused.value.hint


def test_listing_includes_unavailable_backends() -> None:
    listed = {info.name: info for info in list_backends().backends}
    assert listed["bpe"].options
    assert {option.name: option.default for option in listed["good"].options} == {
        "size": None,
        "names": ["a"],
    }
    for name, (_, words) in REFUSED.items():
        assert words in listed[name].summary
        assert (listed[name].kernel, listed[name].options) == ("unavailable", ())
    assert json.loads(json.dumps(list_backends().to_json()))["backends"]


def test_doctor_reports_unavailable_backends() -> None:
    checks = {check.subject: check for check in examine().checks}
    assert checks["backend good"].passed
    for name, (_, words) in REFUSED.items():
        assert words in checks[f"backend {name}"].found


def test_missing_required_option_is_refused() -> None:
    with pytest.raises(ConfigError, match="the backend 'good' needs the option size"):
        train(["a text"], backend="good")
