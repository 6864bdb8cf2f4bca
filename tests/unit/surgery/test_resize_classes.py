"""Tests that the script opens a model with the class for its architecture, using a stand-in for transformers."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tokbench.surgery.id_map import IdMap, InitialRows
from tokbench.surgery.model_files import model_files
from tokbench.surgery.resize_embeddings import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAP = IdMap.closing_up([0, 2, 3], size=4)


class Rows(np.ndarray[Any, Any]):
    """An array with torch's `clone`."""

    def clone(self) -> Rows:
        return self.copy()


def rows_of(shape: tuple[int, ...]) -> Rows:
    return np.arange(float(np.prod(shape))).reshape(shape).view(Rows)


@dataclass
class Parameter:
    """A parameter of a layer."""

    data: Any


class GenerationConfig(SimpleNamespace):
    """A generation configuration, which has the ids of roles as attributes."""

    def update(self, **changes: Any) -> None:
        vars(self).update(changes)


@dataclass
class Layer:
    """An embedding or a head, with parameters by name."""

    parameters: dict[str, Any]

    @classmethod
    def of(cls, **arrays: Rows) -> Layer:
        return cls({name: Parameter(rows) for name, rows in arrays.items()})

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        yield from self.parameters.items()


@dataclass
class Model:
    """A model with five rows, one of which is padding, and the methods that the script calls."""

    head: Layer | None = field(default_factory=lambda: Layer.of(weight=rows_of((5, 2)), bias=rows_of((5,))))
    embedding: Layer = field(default_factory=lambda: Layer.of(weight=rows_of((5, 2))))
    config: SimpleNamespace = field(default_factory=SimpleNamespace)
    generation_config: Any = None
    saved: str | None = None

    def get_input_embeddings(self) -> Layer:
        return self.embedding

    def get_output_embeddings(self) -> Layer | None:
        return self.head

    def resize_token_embeddings(self, size: int, *, mean_resizing: bool) -> None:
        assert not mean_resizing
        for layer in filter(None, (self.embedding, self.head)):
            for parameter in layer.parameters.values():
                parameter.data = np.zeros((size, *parameter.data.shape[1:])).view(Rows)

    def save_pretrained(self, path: str) -> None:
        self.saved = path


def resized(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    model: Model,
    *,
    opened_as: str,
    architectures: list[str] | None,
) -> None:
    """Run the script with a stand-in for transformers that has only one model class."""
    library = SimpleNamespace(
        AutoConfig=SimpleNamespace(from_pretrained=lambda _: SimpleNamespace(architectures=architectures)),
        **{opened_as: SimpleNamespace(from_pretrained=lambda _: model)},
    )
    monkeypatch.setitem(sys.modules, "transformers", library)
    patch = {"vocab_size": 4, "pad_token_id": 2}
    for name, data in model_files(MAP, InitialRows.of(MAP), patch).items():
        (folder / name).write_bytes(data)
    main("old", "new", beside=folder)


@pytest.mark.parametrize("name", ["T5ForConditionalGeneration", "BertForMaskedLM"])
def test_model_is_opened_by_its_architecture(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """Rows 0, 2 and 3 of the four rows with tokens stay; the new fourth row is the mean of these four."""
    model = Model()
    resized(monkeypatch, tmp_path, model, opened_as=name, architectures=[name])
    expected = [[0, 1], [4, 5], [6, 7], [3, 4]]
    assert model.embedding.parameters["weight"].data.tolist() == expected
    assert model.head is not None
    assert model.head.parameters["weight"].data.tolist() == expected
    assert model.head.parameters["bias"].data.tolist() == [0, 2, 3, 1.5]
    assert (vars(model.config), model.saved) == ({"vocab_size": 4, "pad_token_id": 2}, "new")


def test_model_without_a_head_has_one_embedding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = Model(head=None)
    resized(monkeypatch, tmp_path, model, opened_as="BertModel", architectures=["BertModel"])
    assert model.embedding.parameters["weight"].data.shape == (4, 2)


def test_model_without_an_architecture_is_opened_as_a_causal_lm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = Model(generation_config=GenerationConfig(pad_token_id=3))
    resized(monkeypatch, tmp_path, model, opened_as="AutoModelForCausalLM", architectures=None)
    assert vars(model.generation_config) == {"pad_token_id": 2}


def test_bias_tied_by_resizing_is_untied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """transformers ties two biases of BERT when resizing and saves only one, which an untied model would then miss."""
    model = Model(config=SimpleNamespace(tie_word_embeddings=False))
    resized(monkeypatch, tmp_path, model, opened_as="BertForMaskedLM", architectures=["BertForMaskedLM"])
    head: Any = model.head
    assert head.bias is not head.parameters["bias"]
    assert head.bias.data.tolist() == head.parameters["bias"].data.tolist() == [0, 2, 3, 1.5]
