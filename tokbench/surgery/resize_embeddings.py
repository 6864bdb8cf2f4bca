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
    model.resize_token_embeddings(patch["vocab_size"], mean_resizing=False)
    for layer, before in zip(embeddings, rows, strict=False):
        for name, parameter in list(layer().named_parameters()):
            parameter.data[:] = resized(before[name], init, patch["vocab_size"])
            if not getattr(
                model.config, "tie_word_embeddings", True
            ):  # resizing ties parameters that loading does not, such as biases
                setattr(layer(), name, type(parameter)(parameter.data.clone()))
    model.config.update(patch)
    if getattr(model, "generation_config", None) is not None:
        model.generation_config.update(**{name: id for name, id in patch.items() if name != "vocab_size"})
    model.save_pretrained(new)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:], beside=Path(__file__).parent)
