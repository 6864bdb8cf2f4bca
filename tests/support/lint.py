"""Small vocabularies with a planted fault, and the findings of one rule on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support import huggingface
from support.model_folders import put
from tokbench.core.progress import no_progress
from tokbench.corpus import open_corpus
from tokbench.formats.tokenizer_json import to_byte_level
from tokbench.lint.catalogue import rule_named, run_rules
from tokbench.lint.target import LintTarget
from tokbench.opening.request import OpenRequest
from tokbench.workbench.open import find_and_open

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tokbench.lint.findings import Finding
    from tokbench.lint.rules import Outcome

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.content is string %}{{ m.content }}{% elif m.content %}{% for p in m.content %}{{ p.text }}{% endfor %}"
    "{% endif %}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function.name }}"
    "{% if c.function.arguments is string %}{{ c.function.arguments }}{% else %}{{ c.function.arguments | tojson }}"
    "{% endif %}</tool_call>{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PLAIN = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
GPT2_SPLIT = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
NO_SPLIT = {**GPT2_SPLIT, "use_regex": False}


def byte_level(
    *merges: tuple[str | bytes, str | bytes],
    tokens: Sequence[str | bytes] = (),
    pre_tokenizer: Mapping[str, Any] = GPT2_SPLIT,
    without: Sequence[int] = (),
    **parts: Any,
) -> dict[str, Any]:
    """Build a tokenizer.json of a byte-level BPE: the 256 bytes, then the tokens of the merges, then other tokens.

    Args:
        merges: pairs of texts or bytes.
        tokens: tokens that no merge produces.
        pre_tokenizer: by default GPT-2's.
        without: bytes that have no token.
        parts: other parts of the document, as `normalizer` or `added_tokens`; fields of the model with `model=`.
    """
    pairs = [(_spelled(left), _spelled(right)) for left, right in merges]
    pieces = [to_byte_level(bytes([byte])) for byte in range(256) if byte not in without]
    pieces += [left + right for left, right in pairs] + [_spelled(token) for token in tokens]
    vocab = {piece: id for id, piece in enumerate(dict.fromkeys(pieces))}
    model = {
        "type": "BPE",
        "vocab": vocab,
        "merges": [list(pair) for pair in pairs],
        **parts.pop("model", {}),
    }
    return huggingface.document(model, pre_tokenizer=dict(pre_tokenizer), decoder=GPT2_SPLIT, **parts)


def target_of(
    document: Mapping[str, Any] | bytes | Path,
    folder: Path,
    *,
    beside: Mapping[str, Any] | None = None,
    corpus: Sequence[str] | None = None,
    word_counts: Mapping[str, int] | None = None,
    reference: Mapping[str, Any] | bytes | Path | None = None,
    engine: str = "auto",
    pattern: str | None = None,
    model_vocab_size: int | None = None,
) -> LintTarget:
    """Open a tokenizer as `tokbench lint` does.

    Args:
        document: a tokenizer.json, parsed or as bytes, or the path of any tokenizer.
        folder: the folder to write files to.
        beside: other files of the folder, as for `support.model_folders.put`.
        corpus: texts, a document each.
        word_counts: the word counts of a training text.
        reference: another tokenizer, given like `document`.
        engine: as `--engine`.
        pattern: as `--pattern`.
        model_vocab_size: the number of rows of the embedding.
    """
    opened = find_and_open(
        str(_path(document, folder / "linted", beside or {})),
        OpenRequest(engine=engine, pattern=pattern),
        progress=no_progress,
    )
    other = None if reference is None else target_of(reference, folder / "reference")
    texts = None
    if corpus is not None:
        texts = open_corpus(put(folder / "corpus", {f"{n:04}.txt": text for n, text in enumerate(corpus)}))
    return LintTarget(
        opened, corpus=texts, word_counts=word_counts, reference=other, model_vocab_size=model_vocab_size
    )


def outcome_of(rule: str, target: LintTarget) -> Outcome:
    """Run one rule and return its outcome."""
    [outcome] = run_rules(target, [rule_named(rule)])
    return outcome


def findings_of(rule: str, target: LintTarget) -> tuple[Finding, ...]:
    """Return the findings of one rule, which must apply."""
    outcome = outcome_of(rule, target)
    assert outcome.skipped is None, outcome.skipped
    return outcome.findings


def _spelled(token: str | bytes) -> str:
    return to_byte_level(token.encode() if isinstance(token, str) else token)


def _path(document: Mapping[str, Any] | bytes | Path, folder: Path, beside: Mapping[str, Any]) -> Path:
    if isinstance(document, bytes) or not hasattr(document, "exists"):
        return put(folder, {"tokenizer.json": document, **beside})
    return document
