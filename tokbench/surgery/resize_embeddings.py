"""Give a model the rows of its new vocabulary: python resize_embeddings.py OLD_MODEL NEW_MODEL

It reads init.json and config_patch.json beside it, and needs torch and transformers.
"""

import json
import sys
from pathlib import Path
from typing import Any


def resized(rows: Any, init: dict[str, Any], size: int) -> Any:
    """Return the new rows: weighted sums of old rows, or the mean of all old rows if nothing is known."""
    new = rows[[0] * size]
    new[:] = rows[: init["old_size"]].mean(0)
    for row, (ids, weights) in enumerate(zip(init["ids"], init["weights"], strict=True)):
        if ids:
            new[row] = sum(weight * rows[id] for id, weight in zip(ids, weights, strict=True))
    return new


def rows_of(patch: dict[str, Any]) -> list[int]:
    """Return the vocabulary size that a patch has, maybe in the configuration of the language model alone."""
    inner = [size for value in patch.values() if isinstance(value, dict) for size in rows_of(value)]
    return [patch["vocab_size"]] if "vocab_size" in patch else inner


def update(config: Any, patch: dict[str, Any]) -> None:
    """Change a configuration, and the configurations in it."""
    for name, value in patch.items():
        if isinstance(value, dict):
            update(getattr(config, name), value)
        else:
            setattr(config, name, value)


def generation_ids(patch: dict[str, Any], known: Any) -> dict[str, Any]:
    """Return the ids in a patch that a generation configuration has, those of the whole model before those in it."""
    ids: dict[str, Any] = {}
    for value in patch.values():
        if isinstance(value, dict):
            ids |= generation_ids(value, known)
    return ids | {
        name: id for name, id in patch.items() if name.endswith("_token_id") and hasattr(known, name)
    }


def main(old: str, new: str, *, beside: Path) -> None:
    """Read a model, resize it and write it."""
    import transformers

    init, patch = (json.loads((beside / name).read_bytes()) for name in ("init.json", "config_patch.json"))
    names = transformers.AutoConfig.from_pretrained(old).architectures or ["AutoModelForCausalLM"]
    model: Any = getattr(transformers, names[0]).from_pretrained(old)
    embeddings = (model.get_input_embeddings, model.get_output_embeddings)
    rows = [
        {name: parameter.data.clone() for name, parameter in layer().named_parameters()}
        for layer in embeddings
        if layer()
    ]
    [size, *_] = rows_of(patch)
    model.resize_token_embeddings(size, mean_resizing=False)
    for layer, before in zip(embeddings, rows, strict=False):
        for name, parameter in list(layer().named_parameters()):
            parameter.data[:] = resized(before[name], init, size)
            if not getattr(
                model.config, "tie_word_embeddings", True
            ):  # resizing ties parameters that loading does not, such as biases
                setattr(layer(), name, type(parameter)(parameter.data.clone()))
    update(model.config, patch)
    if getattr(model, "generation_config", None) is not None:
        model.generation_config.update(**generation_ids(patch, model.generation_config))
    model.save_pretrained(new)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:], beside=Path(__file__).parent)
