"""The command that trains a tokenizer."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokbench.cli import completion
from tokbench.cli.corpus_options import DocumentChoices, tell_problems
from tokbench.cli.options import name_option, parse_bytes, taking_groups, tokens_option
from tokbench.cli.output_options import ProgressOption, ResultChoices
from tokbench.corpus import Corpus
from tokbench.errors import ConfigError
from tokbench.render.console import showing_progress
from tokbench.workbench.open import TOKENIZERS
from tokbench.workbench.train import train_and_save
from tokbench.workbench.training_config import parsed_options

if TYPE_CHECKING:
    from tokbench.workbench.count_words import TrainingWords


@dataclass(frozen=True, slots=True)
class ParityChoices:
    """Options for parity-aware training."""

    parity: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Learn each merge from the language with the most tokens on its development text (bpe): "
            "a folder with the same lines in every language, its files named like the groups of the training text.",
        ),
    ] = None
    parity_rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What --parity compares languages by: tokens (the default), tokens-per-byte or "
            "tokens-per-character; the last two need no translations.",
        ),
    ] = None
    parity_global_merges: Annotated[
        int | None,
        tokens_option(help="Learn the first N merges from all text together; by default none."),
    ] = None
    parity_window: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Skip a language that was chosen too often in the last N merges; by default none is skipped.",
        ),
    ] = None
    parity_alpha: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Skip a language chosen more than X times its equal share of --parity-window; by default 2.",
        ),
    ] = None
    group_by: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion.groupings,
            metavar="HOW",
            help="How to group the training text by language, with --parity: path (the default), auto, "
            "script, extension or field:NAME.",
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """Return the options of the backend."""
        options = asdict(self)
        del options["group_by"]
        return options

    def check(self, *, is_text: bool) -> None:
        """Raise `ConfigError` for options that have no effect.

        Args:
            is_text: whether training reads text, rather than word counts.
        """
        if self.parity is not None and not is_text:
            raise ConfigError(
                "--parity needs the languages of the text, which counted words do not record",
                hint="leave out --counts and --memory",
            )
        if self.parity is None and self != ParityChoices(parity=None):
            raise ConfigError(
                "--parity-… and --group-by need --parity", hint="name a folder of development text"
            )


@taking_groups
def train(
    *,
    documents: DocumentChoices,
    backend: Annotated[
        str | None,
        name_option(
            completion.backends, help="The algorithm, by default bpe: `tokbench backends` lists them."
        ),
    ] = None,
    vocab_size: Annotated[
        int | None,
        tokens_option(
            help="The vocabulary size, special tokens included, e.g. 32000 or 32k. By default it is fitted to the text."
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        name_option(
            completion.patterns,
            help="The split pattern: gpt2, gpt4 (the default), gpt4o, llama3, qwen2, nanochat, rustbpe, code, "
            "superwords, none, or a regular expression.",
        ),
    ] = None,
    special_token: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="A special token; repeatable. They replace those of --preset and of wordpiece, and follow those of "
            "--special-preset.",
        ),
    ] = None,
    special_preset: Annotated[
        str | None,
        name_option(
            completion.special_presets,
            help="Add a set of special tokens with their roles: gpt2, chatml, llama3, nanochat, mistral, gemma or "
            "bert; `tokbench backends` lists them.",
        ),
    ] = None,
    min_frequency: Annotated[
        int | None,
        typer.Option(metavar="N", help="The minimum frequency of a merged pair; by default 2."),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The merge criterion: frequency or likelihood (wordpiece)."),
    ] = None,
    superwords: Annotated[
        int | None,
        tokens_option(
            help="Allow merges across words after the first N tokens, bytes included, e.g. 24k of 32k (bpe)."
        ),
    ] = None,
    max_token_length: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="The maximum length of a token, in bytes (bpe) or characters (others)."
        ),
    ] = None,
    character_coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="The share of the text's characters that become tokens (sentencepiece)."
        ),
    ] = None,
    byte_fallback: Annotated[
        bool | None,
        typer.Option(
            "--byte-fallback/--no-byte-fallback",
            help="Whether to encode characters without a token as bytes (sentencepiece).",
        ),
    ] = None,
    normalization: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How to normalize text, e.g. identity or nmt_nfkc."),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=TEXT",
            help="Save the role of a special token: bos, eos, pad, unk, mask, cls, sep or turn_end; repeatable.",
        ),
    ] = None,
    chat_template: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save a Jinja chat template with the tokenizer.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Another option of the backend, as listed by `tokbench backends`; repeatable.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        name_option(completion.presets, help="A preset's name or TOML file; other options take precedence."),
    ] = None,
    parity: ParityChoices,
    counts: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="Train on counted words instead of text: a folder of `tokbench count-words`, Parquet "
            "files, or tab-separated files of words with their counts.",
        ),
    ] = None,
    min_count: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="With --counts or --memory, leave out words that occur fewer times; by default none. Changes what "
            "is learned.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="The memory that training may take, e.g. 2GB (bpe); words that do not fit wait in a temporary "
            "file. Never changes the merges.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder to save in; by default tokenizers/BACKEND-SIZE."),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Save in tokenizers/NAME.")] = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", help="The number of threads, by default all; never changes the result."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="The seed of hash tables and of the saved self-test; never changes the merges."
        ),
    ] = None,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace", help="Record which pairs each merge displaced (bpe), for `tokbench explain --merge`."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a saved tokenizer.")] = False,
    form: ResultChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Train a tokenizer on the bundled texts or your own, and save it."""
    from tokbench.cli.tokenizer_options import parsed_roles, read_template
    from tokbench.render.train import render_train

    _refuse_contradictions(documents, counts=counts, min_count=min_count, memory=memory)
    parity.check(is_text=counts is None and memory is None)
    directory = _directory(name, out)
    options: dict[str, Any] = {
        "vocab_size": vocab_size,
        "pattern": pattern,
        "special_tokens": special_token,
        "min_frequency": min_frequency,
        "objective": objective,
        "superwords": superwords,
        "max_token_length": max_token_length,
        "character_coverage": character_coverage,
        "byte_fallback": byte_fallback,
        "normalization": normalization,
        "threads": threads,
        "seed": seed,
        "trace": trace or None,
        **parity.options(),
    }
    with showing_progress(progress) as report:
        report("reading", 0, None, "files")
        text: Corpus | TrainingWords
        if counts is None:
            text = documents.corpus(group_by=parity.group_by or "path")
        else:
            from tokbench.workbench.count_words import training_words

            text = training_words(counts, min_count=min_count or 1)
            backend = backend or (text.backend if preset is None else None)
        result = train_and_save(
            text,
            backend=backend,
            preset=preset,
            options=_joined(
                parsed_options(option or [], backend=backend, preset=preset),
                {key: value for key, value in options.items() if value not in (None, [])},
            ),
            directory=directory,
            overwrite=force,
            roles=parsed_roles(role or []),
            special_preset=special_preset,
            chat_template=read_template(chat_template),
            memory=None if memory is None else parse_bytes(memory, option="--memory"),
            min_count=min_count or 1,
            progress=report,
        )
    if isinstance(text, Corpus):
        tell_problems(text)
    form.show(result, render_train)


def _refuse_contradictions(
    documents: DocumentChoices, *, counts: str | None, min_count: int | None, memory: str | None
) -> None:
    """Raise `ConfigError` for options that have no effect."""
    if counts is None and memory is None and min_count is not None:
        raise ConfigError(
            "--min-count needs counted words", hint="name them with --counts, or count them within --memory"
        )
    if counts is not None and memory is not None:
        raise ConfigError(
            "--memory limits counting, but the words of --counts are already counted",
            hint="leave one of them out",
        )
    if counts is not None and documents != DocumentChoices():
        raise ConfigError(
            "--counts replaces the text: give neither files nor options for reading them",
            hint="leave one of them out",
        )


def _joined(others: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Join what --option sets to what options of their own set. Raises `ConfigError` if both set the same."""
    for name in others.keys() & options.keys():
        own = name.removesuffix("s").replace("_", "-") if name == "special_tokens" else name.replace("_", "-")
        raise ConfigError(f"--option {name}=… and --{own} both set {name}", hint="give one of them")
    return {**others, **options}


_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def _directory(name: str | None, out: Path | None) -> Path | None:
    """Return the folder of --out or --name, or None for the default. Raises `ConfigError`."""
    if out is not None and name is not None:
        raise ConfigError("--out and --name both say where to save", hint="give one of them")
    if name is None:
        return out
    is_visible = bool(name.strip()) and not _CONTROLS.search(name)
    if not is_visible or name.startswith(".") or Path(name).name != name:
        raise ConfigError(
            f"--name {name!r} is not a plain name for a folder in {TOKENIZERS}", hint="--out takes any path"
        )
    return TOKENIZERS / name
