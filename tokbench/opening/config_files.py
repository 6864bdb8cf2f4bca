"""Read the configuration files beside a vocabulary: roles, added tokens, chat templates.

tokenizer_config.json           roles, added tokens, chat templates
special_tokens_map.json         roles, if the configuration does not list its added tokens
added_tokens.json               text → id, also only then
generation_config.json          the ids that a model uses for generation: those of "eos" end a turn
chat_template.jinja             the default template;  additional_chat_templates/*.jinja: named ones
chat_template.json              the same template for a processor

They are read as `transformers` reads them and never prevent opening: a damaged file is skipped and reported, and so is
a contradiction between two files.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench import store
from tokbench.core.wording import counted
from tokbench.errors import TokbenchError
from tokbench.formats.tokenizer_config.fields import (
    DEFAULT_TEMPLATE,
    ROLES,
    AddedToken,
    TokenizerConfig,
    is_id,
    is_text,
    parse_generation_config,
    parse_tokenizer_config,
)
from tokbench.opening.files import SUFFIXES, parse_json, read_file
from tokbench.opening.recognition import Format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tokbench.opening.recognition import Source

CONFIG, SPECIALS, ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
GENERATION = "generation_config.json"
TEMPLATE, TEMPLATES = "chat_template.jinja", "additional_chat_templates"
PROCESSOR_TEMPLATE = "chat_template.json"

NAMES = (CONFIG, SPECIALS, ADDED, GENERATION, TEMPLATE, PROCESSOR_TEMPLATE)
"""The files of one folder, except those below `TEMPLATES`."""

_WITH_TEMPLATES = (CONFIG, TEMPLATE, PROCESSOR_TEMPLATE)

_MAX_BYTES = 16 * 2**20
_MAX_TEMPLATE_BYTES = 2**20
_MAX_TEMPLATES = 64


def read_config(folder: Path) -> TokenizerConfig:
    """Read the configuration of the tokenizer in a folder; its `problems` say what is wrong with the files.

    Usage:

        read_config(Path("models/mine")).roles
    """
    files = _Files(folder)
    _report_compressed(files)
    config = parse_tokenizer_config(files.json(CONFIG), name=CONFIG)
    files.problems.extend((*config.problems, *_refused_objects(files.json(CONFIG))))
    if "added_tokens_decoder" in files.json(CONFIG):
        _compare_roles(config, files)
        _compare_added_tokens(config, files)
    else:
        config = _with_added_tokens(_with_special_tokens_map(config, files), files)
    generation = parse_generation_config(files.json(GENERATION), name=GENERATION)
    return replace(
        config,
        chat_templates=_chat_templates(config, files),
        generation_ids=generation.generation_ids,
        unread_files=tuple(files.unread),
        lost_templates=(*config.lost_templates, *files.lost_templates),
        problems=(*files.problems, *generation.problems),
    )


def with_config(source: Source) -> Source:
    """Return a source with the configuration read from the files beside it; formats that contain their own keep it."""
    match source.format:
        case Format.TOKBIN | Format.GGUF:
            return source
        case Format.SAVED:
            manifest = store.read_manifest(source.path)
            config = read_config(source.path) if manifest.files.keys() & NAMES else source.config
            return replace(source, config=config, manifest=manifest)
        case _:
            return replace(source, config=read_config(source.files[0].parent)) if source.files else source


def config_paths(folder: Path) -> tuple[Path, ...]:
    """Return the existing files among those that `read_config` reads."""
    beside = [folder / name for name in NAMES if (folder / name).is_file()]
    return (*beside, *_template_paths(folder))


def _template_paths(folder: Path) -> list[Path]:
    try:
        found = list(islice((folder / TEMPLATES).glob("*.jinja"), _MAX_TEMPLATES))
    except OSError:
        return []
    return sorted(path for path in found if path.is_file())


class _Files:
    """The files beside a vocabulary, each read once; an unreadable file is added to the problems."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self.unread: list[str] = []
        self.lost_templates: list[str] = []
        self._documents: dict[str, dict[str, Any]] = {}

    def json(self, name: str) -> Mapping[str, Any]:
        """Return the JSON object in a file; empty if there is no such file."""
        if name not in self._documents:
            read = self._read(self.folder / name, limit=_MAX_BYTES, parse=parse_json)
            self._documents[name] = read or {}
        return self._documents[name]

    def template(self, path: Path) -> str | None:
        """Return a template as transformers reads it, with every line ending as a line feed."""
        text = self._read(path, limit=_MAX_TEMPLATE_BYTES, parse=lambda data, **_: data.decode())
        return None if text is None else text.replace("\r\n", "\n").replace("\r", "\n")

    def _read(self, path: Path, *, limit: int, parse: Callable[..., Any]) -> Any:
        try:
            if not path.exists():
                return None
            return parse(read_file(path, limit=limit), path=path.name)
        except (TokbenchError, OSError, ValueError) as error:
            self.leave_out(path, f"is left out: {_reason(error, path)}", name=path.name)
            return None

    def leave_out(self, path: Path, reason: str, *, name: str) -> None:
        """Report a file that is not read; `name` is the file that it is or stands for."""
        self.problems.append(f"{path.name} {reason}")
        self.unread.append(f"{path} {reason}")
        if name in _WITH_TEMPLATES or path.parent.name == TEMPLATES:
            self.lost_templates.append(self.problems[-1])


def _reason(error: Exception, path: Path) -> str:
    """Return what is wrong with a file, without its name in front."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    message = error.message if isinstance(error, TokbenchError) else str(error)
    return message.removeprefix(str(path)).removeprefix(path.name).lstrip(":, ")


def _report_compressed(files: _Files) -> None:
    """Report compressed files, which are not read, here or by transformers, if there is no uncompressed one."""
    start = f"{files.folder}{os.sep}"
    for name in NAMES:
        for suffix in SUFFIXES:
            path = f"{start}{name}{suffix}"
            if os.path.isfile(path) and not os.path.exists(start + name):  # noqa: PTH110, PTH113 - a tenth of the time
                files.leave_out(Path(path), "is left out: only the uncompressed file is read", name=name)


def _refused_objects(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence about tokens that a tokenizer_config.json writes in a form that transformers refuses."""
    extra = config.get("extra_special_tokens")
    named = {f"{role}_token": config.get(f"{role}_token") for role in ROLES}
    named |= extra if isinstance(extra, dict) else {}
    lists = {
        "additional_special_tokens": config.get("additional_special_tokens"),
        "extra_special_tokens": extra,
    }
    found = [name for name, value in named.items() if _is_untyped(value)]
    found += [
        name for name, value in lists.items() if isinstance(value, list) and any(map(_is_untyped, value))
    ]
    if found:
        yield (
            f'{CONFIG} writes {" and ".join(found)} as an object without "__type": "AddedToken", with which '
            "transformers does not open the folder; its text is used"
        )


def _is_untyped(value: object) -> bool:
    return isinstance(value, dict) and value.get("__type") != "AddedToken"


def _compare_roles(config: TokenizerConfig, files: _Files) -> None:
    """Report contradictions of special_tokens_map.json, which transformers does not read beside such a file."""
    said = _special_tokens_map(files)
    for role in ROLES:
        text, other_text = config.roles.get(role), said.roles.get(role)
        if other_text is not None and text != other_text:
            used = "nothing" if text is None else repr(text)
            files.problems.append(
                f"{SPECIALS} says that {role} is {other_text!r}, and {CONFIG} {used}, which is used"
            )


def _compare_added_tokens(config: TokenizerConfig, files: _Files) -> None:
    """Report contradictions of added_tokens.json, which transformers does not read beside such a file, either."""
    listed = {token.content: token.id for token in config.added_tokens}
    others = {text: id for text, id in files.json(ADDED).items() if listed.get(text) != id}
    if others:
        text, id = next(iter(others.items()))
        more = f" ({counted(len(others) - 1, 'more token')} likewise)" if len(others) > 1 else ""
        used = f"has the id {listed[text]} for it" if text in listed else "does not list it"
        files.problems.append(
            f"{ADDED} says that {text[:40]!a} is {id!r:.20}, and {CONFIG} {used}, which is used{more}"
        )


def _with_special_tokens_map(config: TokenizerConfig, files: _Files) -> TokenizerConfig:
    said = _special_tokens_map(files)
    files.problems.extend(said.problems)
    for role in ROLES:
        text, other_text = config.roles.get(role), said.roles.get(role)
        if text is not None and other_text is not None and text != other_text:
            files.problems.append(
                f"{CONFIG} says that {role} is {text!r}, and {SPECIALS} {other_text!r}, which is used"
            )
    return replace(
        config,
        roles={**config.roles, **said.roles},
        named_tokens={**config.named_tokens, **said.named_tokens},
        token_flags={**config.token_flags, **said.token_flags},
        additional_special_tokens=_listed_tokens(config, said, files),
    )


def _listed_tokens(config: TokenizerConfig, said: TokenizerConfig, files: _Files) -> tuple[str, ...] | None:
    """Return the special tokens without a role: transformers 5 joins two lists only by the newer name."""
    listed, others = config.additional_special_tokens, said.additional_special_tokens
    if not listed or others is None:
        return listed if others is None else others
    if "extra_special_tokens" in files.json(SPECIALS):
        return tuple(dict.fromkeys((*listed, *others)))
    if unlisted := [text for text in others if text not in listed]:
        files.problems.append(
            f"{SPECIALS} says that {unlisted[0]!r} is special, and {CONFIG} lists others, which are used"
        )
    return listed


def _special_tokens_map(files: _Files) -> TokenizerConfig:
    """Parse special_tokens_map.json, which names roles as the configuration does."""
    return parse_tokenizer_config(files.json(SPECIALS), name=SPECIALS)


def _with_added_tokens(config: TokenizerConfig, files: _Files) -> TokenizerConfig:
    """Add the tokens of `added_tokens.json`; tokens that have a role are special."""
    special = config.special_texts
    tokens: dict[int, AddedToken] = {}
    for text, id in files.json(ADDED).items():
        if not is_id(id) or not is_text(text) or not text or id in tokens:
            files.problems.append(f"{ADDED}: {text[:40]!a} has no id and is left out")
            continue
        is_special = text in special
        given = {"normalized": not is_special, **config.token_flags.get(text, {}), "special": is_special}
        tokens[id] = AddedToken(id=id, content=text, **given)
    return replace(config, added_tokens=tuple(tokens[id] for id in sorted(tokens)))


def _chat_templates(config: TokenizerConfig, files: _Files) -> Mapping[str, str]:
    """Collect the chat templates; templates in files of their own take precedence over the configuration's."""
    found: dict[str, str] = {}
    paths = {DEFAULT_TEMPLATE: files.folder / TEMPLATE}
    paths |= {path.stem: path for path in _template_paths(files.folder)}
    for name, path in paths.items():
        text = files.template(path)
        if text is not None:
            found[name] = text
    is_lost = paths[DEFAULT_TEMPLATE].exists() and DEFAULT_TEMPLATE not in found
    configured = {} if is_lost else dict(config.chat_templates)
    if found and configured and configured != found:
        files.problems.append(f"{CONFIG} has other chat templates than the .jinja files, which are used")
    templates = found or configured
    of_processor = files.json(PROCESSOR_TEMPLATE).get("chat_template")
    if is_text(of_processor) and of_processor != templates.setdefault(DEFAULT_TEMPLATE, of_processor):
        files.problems.append(
            f"{PROCESSOR_TEMPLATE} has another chat template than the tokenizer's, which is used"
        )
    return templates
