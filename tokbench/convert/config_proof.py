"""Prove that a written folder has the configuration of its source: special tokens, roles, chat templates."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tokbench.convert.disagreement import Disagreement
from tokbench.convert.proof import ProofError, ProofResult
from tokbench.core.module_process import module_environment
from tokbench.core.wording import counted
from tokbench.errors import ConversionError
from tokbench.formats.tokenizer_config.fields import ADDED_TOKEN_FLAGS, ROLES, parse_generation_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokbench.convert.conversion import Source
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

SECONDS = 10
"""Limit on processor time, for all templates together."""

_WAIT = 120

Fact = tuple[str, object, object]
"""What is compared, its value in the source, and its value in the folder."""


def prove_config(opened: Any, folder: Path, *, source: Source, config: TokenizerConfig, name: str) -> None:
    """Compare the configuration of an opened folder with that of its source.

    Args:
        opened: the folder, opened by `AutoTokenizer`.
        folder: its path.
        source: the source of the conversion.
        config: the configuration of the source.
        name: the library, as messages name it.

    Raises:
        ProofError: a special token, a role, a template or an id that ends a turn differs.
        ConversionError: a chat template does not terminate.
    """
    for what, expected, found in _facts(opened, folder, source, config):
        if expected != found:
            raise _disagreement(what, expected, found, source=source, name=name)
    if config.chat_templates and _can_render():
        difference = rendered_differently(folder, config)
        if difference is not None:
            what = f"the chat template {difference['template']!r} for {difference['conversation']}"
            raise _disagreement(what, difference["expected"], difference["found"], source=source, name=name)


def proved_in_words(config: TokenizerConfig) -> str:
    """Return a sentence for the user about what `prove_config` compares.

    >>> from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    >>> proved_in_words(TokenizerConfig(roles={"eos": "</s>"}, generation_ids={"eos": (2, 5)}))
    'proved as well: 0 added tokens, the role eos, the ids that end a turn (2, 5)'
    """
    parts = [counted(len(config.added_tokens), "added token")]
    parts += [f"the role {role}" for role in ROLES if role in config.roles]
    parts += [f"the chat template {name!r}" for name in config.chat_templates]
    if ends := config.generation_ids.get("eos"):
        parts.append(f"the ids that end a turn ({', '.join(map(str, ends))})")
    return f"proved as well: {', '.join(parts)}"


def _facts(opened: Any, folder: Path, source: Source, config: TokenizerConfig) -> Iterator[Fact]:
    for text, id in source.special_tokens.items():
        yield f"the id of the special token {text!r}", id, opened.convert_tokens_to_ids(text)
    ids = {token.content: token.id for token in config.added_tokens}
    for role in ROLES:
        role_text = config.roles.get(role)
        yield f"the role {role}", role_text, getattr(opened, f"{role}_token")
        yield f"the id of the role {role}", ids.get(role_text or ""), getattr(opened, f"{role}_token_id")
    for name, text in config.named_tokens.items():
        yield f"the token {name}", text, str(getattr(opened, name, None))
    yield "the other special tokens", list(config.additional_special_tokens or ()), _additional(opened)
    yield from _added_tokens(opened, config)
    yield from _chat_templates(opened, config)
    yield "the longest text of the model", config.model_max_length, _limit(opened)
    for side in ("padding_side", "truncation_side"):
        if (expected_side := getattr(config, side)) is not None:
            yield side, expected_side, getattr(opened, side)
    yield "the ids to generate with", dict(config.generation_ids), _generation_ids(folder)


def _added_tokens(opened: Any, config: TokenizerConfig) -> Iterator[Fact]:
    found = opened.added_tokens_decoder
    expected = {token.id: token for token in config.added_tokens}
    for id in sorted(found.keys() | expected.keys()):
        ours, theirs = expected.get(id), found.get(id)
        yield (
            f"the added token {id}",
            None if ours is None else {"content": ours.content, **ours.flags()},
            None
            if theirs is None
            else {name: getattr(theirs, name) for name in ("content", *ADDED_TOKEN_FLAGS)},
        )


def _chat_templates(opened: Any, config: TokenizerConfig) -> Iterator[Fact]:
    found = opened.chat_template
    if isinstance(found, str):
        found = {"default": found}
    found = found or {}
    for name in dict.fromkeys([*config.chat_templates, *found]):
        yield f"the chat template {name!r}", config.chat_templates.get(name), found.get(name)


def _additional(opened: Any) -> list[str]:
    """Return the special tokens without a role; transformers 5 calls them extra."""
    for name in ("extra_special_tokens", "additional_special_tokens"):
        listed = getattr(opened, name, None)
        if isinstance(listed, list):
            return [str(token) for token in listed]
    return []


def _limit(opened: Any) -> int | None:
    return None if opened.model_max_length >= 10**20 else int(opened.model_max_length)


def _generation_ids(folder: Path) -> dict[str, tuple[int, ...]]:
    path = folder / "generation_config.json"
    if not path.is_file():
        return {}
    return dict(parse_generation_config(json.loads(path.read_bytes()), name=path.name).generation_ids)


def rendered_differently(folder: Path, config: TokenizerConfig) -> Mapping[str, str] | None:
    """Return the first conversation that a folder renders differently from a configuration's templates.

    Args:
        folder: a folder that `AutoTokenizer` opens.
        config: the templates, and the special tokens that they may use.

    Returns:
        "template", "conversation", "expected" and "found"; None if there is no difference.

    Raises:
        ConversionError: a template does not terminate, or exhausts the memory.
    """
    job = job_of(folder, config)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "tokbench.convert.chat_worker"],
            input=json.dumps(job).encode(),
            capture_output=True,
            timeout=_WAIT,
            check=False,
            env=module_environment(),
        )
    except subprocess.TimeoutExpired:
        raise _endless() from None
    if done.returncode < 0 or b"MemoryError" in done.stderr:
        raise _endless()
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise ConversionError(f"the chat templates cannot be rendered: {''.join(last)[:200]}")
    differences: list[dict[str, str]] = json.loads(done.stdout)
    return differences[0] if differences else None


def job_of(folder: Path, config: TokenizerConfig) -> dict[str, Any]:
    """Return the job for `chat_worker`."""
    specials = {f"{role}_token": text for role, text in config.roles.items()} | dict(config.named_tokens)
    return {
        "folder": str(folder),
        "templates": dict(config.chat_templates),
        "specials": specials,
        "seconds": SECONDS,
    }


def _endless() -> ConversionError:
    return ConversionError(
        f"the chat templates are not rendered within {SECONDS} s of processor time and 2 GiB",
        hint="`tokbench inspect` shows them; --chat-template FILE replaces them",
    )


def _can_render() -> bool:
    """Whether transformers can render templates here; the texts of templates are compared in any case."""
    from importlib.util import find_spec

    return find_spec("jinja2") is not None


def _disagreement(what: str, expected: object, found: object, *, source: Source, name: str) -> ProofError:
    first = source.tokenizer.info.name
    proof = ProofResult(
        first=first,
        second=name,
        seed=0,
        texts=0,
        characters=0,
        token_occurrences=0,
        vocabulary_tokens=0,
        limits=(),
        disagreement=Disagreement("config", what, _shown(expected), _shown(found)),
    )
    return ProofError(f"{name} has a different value for {what}", proof=proof, hint="nothing was written")


def _shown(value: object) -> str | None:
    return value if isinstance(value, str) or value is None else str(value)
