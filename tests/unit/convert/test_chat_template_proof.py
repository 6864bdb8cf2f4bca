"""Chat templates are rendered in a separate process with limits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from support import model_folders
from support.descriptions import trained

import tokbench
from tokbench.convert.config_proof import rendered_differently
from tokbench.convert.proof import prove
from tokbench.errors import ConversionError
from tokbench.workbench.convert import convert

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("transformers")


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.mark.slow
def test_template_that_renders_differently_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model_folders.llama3(tmp_path / "llama3")
    tokenizer: Any = tokbench.load(folder)
    assert rendered_differently(folder, tokenizer.tokenizer_config) is None
    other = replace(tokenizer.tokenizer_config, roles={"bos": "<|eot_id|>"})
    difference = rendered_differently(folder, other)
    assert difference is not None
    assert difference["expected"].startswith("<|eot_id|>")
    assert difference["found"].startswith("<|begin_of_text|>")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("template", "seconds"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", 1),
        (
            "{% set ns = namespace(x='a') %}{% for a in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
            10,
        ),
    ],
)
def test_endless_template_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str, seconds: int
) -> None:
    monkeypatch.setattr("tokbench.convert.config_proof.SECONDS", seconds)
    monkeypatch.setattr("tokbench.workbench.convert.prove", partial(prove, texts=("a text",)))
    with pytest.raises(ConversionError, match="not rendered within"):
        convert(trained(), to="transformers", out=tmp_path / "out", chat_template=template)
    assert list(tmp_path.iterdir()) == []
