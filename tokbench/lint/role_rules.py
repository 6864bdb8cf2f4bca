"""Rules about the roles of tokens for a model: roles, ids, templates, ends of turns."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tokbench.core.capabilities import SupportsTemplate
from tokbench.core.post_processing import input_of
from tokbench.core.roles import TURN_ENDS, roles_of
from tokbench.core.wording import counted, quoted
from tokbench.errors import ModelFormatError
from tokbench.formats.tokenizer_config.fields import is_id, token_id
from tokbench.lint.class_pipeline import tokens_added_by_class
from tokbench.lint.findings import Found, Severity
from tokbench.lint.rules import DoesNotApplyError, rules_of
from tokbench.lint.template_probe import probes
from tokbench.opening.recognition import Format
from tokbench.opening.tokenizer_classes import known_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    from tokbench.lint.target import LintTarget

_SHOWN = 6
_TURN_ENDS = re.compile(
    "|".join(map(re.escape, (*TURN_ENDS, "<|eom_id|>", "<\uff5cend\u2581of\u2581sentence\uff5c>")))
)

_rule = rules_of("roles")


def _config(target: LintTarget) -> TokenizerConfig:
    config = target.opened.source.config
    if not config.roles and not config.chat_templates and not config.generation_ids:
        raise DoesNotApplyError("no file defines the roles of its tokens")
    return config


def _declared_sizes(target: LintTarget) -> Iterator[tuple[str, int]]:
    """Yield the declared numbers of rows of the model's embedding, with their source."""
    if target.model_vocab_size is not None:
        yield "--model-vocab-size", target.model_vocab_size
    try:
        model = target.beside("config.json")
    except ModelFormatError:
        return
    parts: list[tuple[str, Any]] = [("config.json", model)]
    if isinstance(model, dict):
        parts.append(("text_config of config.json", model.get("text_config")))
    for name, part in parts:
        size = part.get("vocab_size") if isinstance(part, dict) else None
        if is_id(size) and size:
            yield name, size


@_rule(
    name="id-beyond-model",
    severity=Severity.ERROR,
    breaks="A token whose id has no row in the embedding causes an index error, or reads garbage.",
    found="Ids are compared with vocab_size of config.json, --model-vocab-size, and generation_config.json.",
    remedy="Resize the embedding to the highest id plus one, or remove the tokens.",
)
def _ids_beyond_model(target: LintTarget) -> Iterator[Found]:
    sizes = list(_declared_sizes(target))
    generation = target.opened.source.config.generation_ids
    if not sizes and not generation:
        raise DoesNotApplyError("no config.json or --model-vocab-size says how many rows the model has")
    pieces = target.vocabulary.pieces
    for name, size in sizes:
        ids = [id for id in range(size, len(pieces)) if pieces[id] is not None]
        if ids:
            yield Found(
                subject=f"{counted(len(ids), 'token')} from id {ids[0]:,} on",
                evidence=f"{name} says {counted(size, 'row')}: {', '.join(map(target.named, ids[:_SHOWN]))}",
                token_ids=tuple(ids),
                details={"rows": size},
            )
    rows = max([len(pieces), *(size for _, size in sizes)])
    for role, listed in generation.items():
        for id in listed:
            if id >= rows:
                yield Found(
                    subject=f"{role}_token_id {id}",
                    evidence=f"generation_config.json names it, and there are {rows:,} ids",
                )


@_rule(
    name="id-gap",
    severity=Severity.WARNING,
    breaks="Tools that derive new ids or the number of rows from the number of tokens take an id that is used.",
    found="Every id below the highest one is looked up.",
    remedy="Fill the gaps with reserved tokens, and derive the number of rows from the highest id.",
)
def _gaps(target: LintTarget) -> Iterator[Found]:
    missing = [id for id, piece in enumerate(target.vocabulary.pieces) if piece is None]
    runs = [[id for _, id in run] for _, run in groupby(enumerate(missing), lambda each: each[1] - each[0])]
    if runs:
        shown = ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs[:_SHOWN])
        yield Found(
            subject=f"{counted(len(missing), 'id')} without a token",
            evidence=f"{shown}{' …' if len(runs) > _SHOWN else ''}, and the highest id is "
            f"{len(target.vocabulary.pieces) - 1:,}",
            details={"ids": missing[:1000]},
        )


@_rule(
    name="pad-is-eos",
    severity=Severity.WARNING,
    breaks="Training that masks padding also masks the end of texts, and the model does not learn to stop.",
    found="The tokens of the two roles and the ids in generation_config.json are compared.",
    remedy="Use a separate token for padding, or mask by the attention mask instead of the id.",
)
def _pad_is_eos(target: LintTarget) -> Iterator[Found]:
    config = _config(target)
    pad, eos = config.roles.get("pad"), config.roles.get("eos")
    if pad is not None and pad == eos:
        maker = _by_design(config.tokenizer_class, pad)
        yield Found(
            subject=f"the roles pad and eos, both {pad}",
            evidence="batches are padded with the token that ends a text"
            + ("" if maker is None else f", as {maker} has it: its models were trained this way"),
            severity=None if maker is None else Severity.NOTE,
        )
        return
    pads, ends = config.generation_ids.get("pad", ()), config.generation_ids.get("eos", ())
    if set(pads) & set(ends):
        yield Found(
            subject=f"pad_token_id {pads[0]} of generation_config.json",
            evidence="it is among its eos_token_id",
            token_ids=pads,
            severity=Severity.NOTE,
        )


def _by_design(class_name: str | None, pad: str) -> str | None:
    """Return the class that uses this token for both pad and eos by design; None if the file's author chose so."""
    known = known_class((class_name or "").removesuffix("Fast"))
    roles = {} if known is None else known.roles
    return known.name if known is not None and roles.get("pad") == roles.get("eos") == pad else None


@_rule(
    name="missing-role",
    severity=Severity.WARNING,
    breaks="Without a token for a role, libraries refuse to pad or to stop, or add a token without a row.",
    found="The roles named in the files are looked up; eos and pad must exist.",
    remedy="Assign a token of the vocabulary to the role in tokenizer_config.json.",
)
def _missing_roles(target: LintTarget) -> Iterator[Found]:
    roles = _config(target).roles
    has = roles_of(target.tokenizer)  # includes an unknown piece, which no text encodes to
    for role, text in roles.items():
        if has.get(role) != text and token_id(target.tokenizer, text) is None:
            yield Found(
                subject=f"the role {role}, {quoted(text)}",
                evidence="the vocabulary has no such token: a library adds it with an id that the model has no row for",
                severity=Severity.ERROR,
            )
    for role in ("eos", "pad"):
        if role not in roles and not (role == "eos" and "sep" in roles):
            yield Found(
                subject=f"the role {role}",
                evidence="no file names a token for it",
                severity=Severity.WARNING if role == "eos" else Severity.NOTE,
            )


@_rule(
    name="bos-count",
    severity=Severity.WARNING,
    breaks="A prompt with two BOS tokens, or none, is unlike the text that the model was trained on.",
    found="A text is encoded with the tokenizer's template, and one exchange with each chat template.",
    remedy="Let either the chat template or the encoding add it, and encode rendered prompts accordingly.",
)
def _bos(target: LintTarget) -> Iterator[Found]:
    config = _config(target)
    bos = config.roles.get("bos")
    if bos is None:
        raise DoesNotApplyError("no file names a token for the role bos")
    id = token_id(target.tokenizer, bos)
    written = _written_before_text(target, id)
    if written > 1:
        yield Found(
            subject=f"{bos} before a text",
            evidence=f"the template for one text writes it {written} times",
            severity=Severity.ERROR,
        )
    said = config.add_bos_token
    has_template = target.document is not None and isinstance(target.tokenizer, SupportsTemplate)
    if said is not None and id is not None and has_template and said != (written > 0):
        yield Found(
            subject=f"{bos} before a text",
            evidence=f"tokenizer_config.json says add_bos_token={str(said).lower()}, and the template of "
            f"tokenizer.json {'writes it' if written else 'does not'}",
        )
    yield from _bos_of_templates(target, bos, written)


def _bos_of_templates(target: LintTarget, bos: str, written: int) -> Iterator[Found]:
    """Compare the bos tokens that chat templates write with those that encoding adds."""
    if target.template is None and not target.opened.source.config.chat_templates:
        return
    for probe in probes(target):
        name, count = probe.name, probe.bos_written
        if probe.plain is None:
            continue
        if count > 1:
            yield Found(
                subject=f"the chat template {name}",
                evidence=f"it writes {bos} {count} times before a conversation",
                severity=Severity.ERROR,
            )
        elif count and written:
            yield Found(
                subject=f"the chat template {name}",
                evidence=f"it writes {bos}, and so does encoding: a prompt that is rendered and then encoded "
                "with special tokens has two",
                severity=Severity.NOTE,
            )
        elif not count and written:
            yield Found(
                subject=f"the chat template {name}",
                evidence=f"it does not write {bos}, which encoding writes: a prompt that is rendered and encoded "
                "without special tokens, as apply_chat_template does it, has none",
            )


def _written_before_text(target: LintTarget, bos: int | None) -> int:
    """Count the bos tokens that the template adds before the ids of a text."""
    if bos is None:
        return 0
    plain = target.tokenizer.encode("a")
    ids = list(input_of(target.tokenizer, "a", limits=False).ids)
    before = ids[: len(ids) - len(plain)]
    for start in range(len(ids) - len(plain) + 1):
        if ids[start : start + len(plain)] == plain:
            before = ids[:start]
            break
    return before.count(bos)


@_rule(
    name="turn-end-not-eos",
    severity=Severity.WARNING,
    breaks="Generation does not stop at the end of a turn: the model continues with the user's part.",
    found="One exchange is rendered with each chat template; the last control token of the answer is looked up.",
    remedy="Add the id of the end token to eos_token_id in generation_config.json.",
)
def _turn_end(target: LintTarget) -> Iterator[Found]:
    config = target.opened.source.config
    templates = probes(target)
    ends = set(config.generation_ids.get("eos", ()))
    said_by = "generation_config.json says"
    eos = config.roles.get("eos")
    if not ends:
        eos_id = None if eos is None else token_id(target.tokenizer, eos)
        if eos_id is None:
            raise DoesNotApplyError("neither generation_config.json nor a role says which ids end a text")
        ends, said_by = {eos_id}, "the role eos says, and no generation_config.json says more"
    for probe in templates:
        ending = probe.ending
        if ending is not None and ending[0] not in ends:
            shown = ", ".join(target.named(id) for id in sorted(ends)[:_SHOWN])
            yield Found(
                subject=f"the chat template {probe.name}",
                evidence=f"it ends turns with {ending[1]}, and generation ends at {shown} alone, "
                f"as {said_by}",
                severity=None if config.generation_ids.get("eos") else Severity.NOTE,
                token_ids=(ending[0],),
            )
        for text in sorted(set(_TURN_ENDS.findall(probe.after_answer))):
            if token_id(target.tokenizer, text) is not None:
                continue
            yield Found(
                subject=f"the chat template {probe.name}",
                evidence=f"it writes {text}, which is not a token: it becomes several, and nothing ends a turn",
                severity=Severity.ERROR,
            )


@_rule(
    name="class-adds-token",
    severity=Severity.WARNING,
    breaks="A special token that only the class has gets a new id: the model has no row for it, or an untrained one.",
    found="The special tokens of the class that no file sets are looked up in tokenizer.json.",
    remedy="Set the roles in tokenizer_config.json, to null if there are none, or name the right class.",
)
def _added_by_class(target: LintTarget) -> Iterator[Found]:
    if target.opened.source.format is not Format.TOKENIZER_JSON:
        raise DoesNotApplyError("it was not read from a tokenizer.json")
    if (added := tokens_added_by_class(target)) is not None:
        yield Found(
            subject=f"tokenizer_class {added.name}", evidence=added.sentence, details={"tokens": added.texts}
        )


RULES = (_ids_beyond_model, _gaps, _pad_is_eos, _missing_roles, _added_by_class, _bos, _turn_end)
