"""The commands that write, verify and read shards: files of token ids that NumPy maps."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokbench.cli import completion
from tokbench.cli.chat_options import TemplateInputs
from tokbench.cli.corpus_options import DecodeErrorsOption, DocumentChoices, tell_problems
from tokbench.cli.engine_options import PartChoices, PartedOpeningChoices
from tokbench.cli.options import ThreadsOption, first_given, name_option, taking_groups, tokens_option
from tokbench.cli.output_options import JsonFlag, ProgressOption, ResultChoices
from tokbench.cli.tokenizer_options import DEFAULT, OpeningChoices, SpecialPolicyOption, TokenizerOption
from tokbench.core.argument_types import MAX_THREADS
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import counted, is_or_are
from tokbench.errors import ConfigError
from tokbench.files.storage.open import is_url
from tokbench.render.console import print_json, showing_progress
from tokbench.shards.layout import DtypeChoice, ShardFormat
from tokbench.shards.results import ShardsResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.corpus import Corpus
    from tokbench.shards.reading import Shards

_SHARD_TOKENS = 100_000_000
_FAILED = 3
_WITH_CHAT = {
    "--append-eos": "the template ends the turns",
    "--special-policy": "control tokens are the template's",
    "--documents": "each conversation is a document",
    "--text-field": "a conversation has messages",
}
_RANGE = re.compile(r"([0-9]{1,18})(?::([0-9]{1,18}))?")

FolderArgument = Annotated[str, typer.Argument(metavar="DIR", help="The folder of shards, or its URL.")]


@dataclass(frozen=True, slots=True)
class EncodedText(DocumentChoices):
    """The text that is encoded, which has no default."""

    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files, folders, patterns, URLs, or - for stdin.")
    ]


@taking_groups
def write(
    *,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="The folder to write; a URL when working in parts.")
    ],
    tokenizer: TokenizerOption = DEFAULT,
    opening: PartedOpeningChoices,
    special_policy: SpecialPolicyOption = SpecialPolicy.TEXT,
    chat: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion.chat_templates,
            metavar="NAME|FILE",
            help="Read conversations, JSON lines or one JSON list, and write a loss mask beside the ids: the chat "
            "template, auto for the tokenizer's own.",
        ),
    ] = None,
    train_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE",
            help="With --chat: include the turns of this role in the loss, by default assistant; repeatable.",
        ),
    ] = None,
    pack: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --chat: pack whole conversations into rows of N ids, padded at the end; longer "
            "ones are split.",
        ),
    ] = None,
    inputs: TemplateInputs,
    documents: EncodedText,
    append_eos: Annotated[
        bool, typer.Option("--append-eos", help="End each document with the tokenizer's end-of-text token.")
    ] = False,
    eos: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The special token that --append-eos appends.")
    ] = None,
    format: Annotated[
        ShardFormat, typer.Option(help="npy for numpy.load, or bin for raw little-endian ids.")
    ] = "npy",
    dtype: Annotated[
        DtypeChoice, typer.Option(help="The type of ids: auto is uint16 if every id is below 65,536.")
    ] = "auto",
    shard_tokens: Annotated[
        int,
        tokens_option(
            help="The maximum tokens per shard, e.g. 100_000_000 or 100M; a longer document gets a separate shard."
        ),
    ] = _SHARD_TOKENS,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=MAX_THREADS,
            help="The number of threads, by default all; never changes the result.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue an interrupted run in --out: finished shards are verified first; the corpus must "
            "have the same files, in any folder.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the shards in --out.")] = False,
    parts: PartChoices,
    form: ResultChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Encode files into shards of token ids that NumPy maps.

    --chat writes conversations, with a loss mask beside them. Documents are concatenated and never split across
    shards; an index and document offsets are written beside them. --resume continues an interrupted run; the files
    are the same as those of one run. --engine local, dask and ray divide the work among processes or machines.
    """
    from tokbench.render.shards import render_shards
    from tokbench.shards.writing import write_shards

    engine_name = opening.of_work
    if engine_name is None:
        _check_no_parts(parts, out)
    elif threads is not None:
        raise ConfigError(
            f"--threads cannot be used with --engine {engine_name}", hint="leave one of them out"
        )
    end = _end_of_documents(append_eos=append_eos, eos=eos)
    _check_chat(
        chat,
        needing={"--train-on": train_on, "--pack": pack, str(inputs.first_given): inputs.first_given},
        meaningless={
            "--append-eos": end,
            "--special-policy": special_policy is not SpecialPolicy.TEXT,
            "--documents": documents.documents != "file",
            "--text-field": documents.text_field,
        },
    )
    tools, variables, day = inputs.tool_schemas(), inputs.variables(), inputs.day()
    opened = opening.open(tokenizer, progress=progress)
    encoder = None
    if chat is not None:
        from tokbench.chat.shards import ConversationShards
        from tokbench.chat.template import ChatTemplate

        template = ChatTemplate.of(opened, chat, date=day)
        roles = train_on or ["assistant"]
        encoder = ConversationShards(
            opened, template, train_on=roles, pack=pack, variables=variables, tools=tools
        )
    started = time.perf_counter()
    with showing_progress(progress) as report:
        report("reading", 0, None, "files")
        corpus = documents.corpus(written=out)
        if encoder is not None:
            corpus = _as_conversations(corpus)
        options: dict[str, Any] = {
            "format": format,
            "dtype": dtype,
            "eos": end,
            "shard_tokens": shard_tokens,
            "special": special_policy,
            "resume": resume,
            "overwrite": force,
            "chat": encoder,
            "progress": report,
        }
        if engine_name is not None:
            from tokbench.distributed.corpus_plan import PART_BYTES
            from tokbench.workbench.open import NamedTokenizer
            from tokbench.workbench.shard_parts import write_shard_parts

            named = NamedTokenizer.of(tokenizer, opening.request())
            with parts.open(engine_name) as engine:
                index = write_shard_parts(
                    named,
                    opened,
                    corpus,
                    out,
                    engine=engine,
                    part_bytes=parts.num_bytes(PART_BYTES),
                    template=chat,
                    **options,
                )
        else:
            index = write_shards(opened, corpus, out, threads=threads, **options).index
    seconds = time.perf_counter() - started
    tell_problems(corpus)
    if encoder is not None and encoder.findings:
        texts = counted(encoder.findings, "text")
        print(
            f"note: {texts} of control tokens in the content encoded as ordinary text; see tokbench chat",
            file=sys.stderr,
        )
    if encoder is not None and encoder.tokens and not encoder.learned:
        speakers = " or ".join(encoder.options.train_on)
        print(f"note: nothing is learned: no turn of the role {speakers} was found", file=sys.stderr)
    result = ShardsResult(info=opened.info, folder=out, index=index.to_json(), seconds=seconds)
    form.show(result, render_shards)


def _check_no_parts(parts: PartChoices, out: str) -> None:
    """Refuse options for parts, and URLs, which require parts. Raises `ConfigError`."""
    parts.refuse()
    if is_url(out):
        raise ConfigError(
            f"--out {out} is written in parts",
            hint="add --engine local, or --engine dask --scheduler ADDRESS",
        )


def _check_chat(
    chat: str | None, *, needing: Mapping[str, object], meaningless: Mapping[str, object]
) -> None:
    """Refuse options that require --chat, or that do not apply to it. Raises `ConfigError`.

    Args:
        chat: of --chat.
        needing: option → its value.
        meaningless: the same of others.
    """
    if chat is None:
        if option := first_given(needing):
            raise ConfigError(f"{option} needs --chat", hint="add --chat auto, or leave it out")
        return
    if option := first_given(meaningless):
        raise ConfigError(f"{option} cannot be used with --chat", hint=_WITH_CHAT[option])


def _as_conversations(corpus: Corpus) -> Corpus:
    from tokbench.chat.shards import conversation_corpus

    return conversation_corpus(corpus)


def _end_of_documents(*, append_eos: bool, eos: str | None) -> str | bool | None:
    """Return the end-of-document token given by --append-eos and --eos. Raises `ConfigError`."""
    if eos is not None and not append_eos:
        raise ConfigError("--eos needs --append-eos", hint="add --append-eos, or leave out --eos")
    if eos == "":
        raise ConfigError("--eos is empty", hint="name one of the tokenizer's special tokens")
    return eos or append_eos


@taking_groups
def verify(
    *,
    folder: FolderArgument,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="The corpus: encode it again and compare the ids; needs -t."),
    ] = None,
    tokenizer: Annotated[
        str | None,
        name_option(
            completion.tokenizers, "-t", "--tokenizer", help="Check that this tokenizer made the shards."
        ),
    ] = None,
    opening: OpeningChoices,
    chat: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion.chat_templates,
            metavar="NAME|FILE",
            help="The chat template of conversations, if it is neither built in nor the tokenizer's own.",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", help="Compare N evenly spaced documents instead of all."),
    ] = None,
    threads: ThreadsOption = None,
    form: ResultChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Check shards against their index: checksums, sizes, ids, offsets, end tokens. Exit code 3 on failure.

    A corpus is read with the options recorded in the index. Nothing is written.
    """
    from tokbench.render.shards import render_verify
    from tokbench.shards.reading import indexed_shards
    from tokbench.shards.verification import corpus_as_read, verify_shards

    opened = None if tokenizer is None else opening.open(tokenizer, progress=progress)
    index = indexed_shards(folder).index
    options = index.options.chat
    if chat is not None and (options is None or not paths or opened is None):
        missing = "conversations" if options is None else "their files and -t"
        raise ConfigError(f"--chat needs {missing}", hint="leave it out, or name them")
    encoder = None
    if options is not None and paths and opened is not None:
        from tokbench.chat.shards import ConversationShards

        encoder = ConversationShards.recorded(opened, options, template=chat)
    with showing_progress(progress) as report:
        corpus = corpus_as_read(index, *paths, shards=folder) if paths else None
        if corpus is not None and encoder is not None:
            corpus = _as_conversations(corpus)
        result = verify_shards(
            folder,
            tokenizer=opened,
            corpus=corpus,
            chat=encoder,
            sample=sample,
            threads=threads,
            progress=report,
        )
    form.show(result, render_verify)
    if not result.passed:
        raise typer.Exit(_FAILED)


@taking_groups
def read(
    *,
    folder: FolderArgument,
    tokenizer: TokenizerOption = DEFAULT,
    opening: OpeningChoices,
    document: Annotated[
        str | None,
        typer.Option(metavar="N[:M]", help="Read document N alone, or documents N to M-1; counted from 0."),
    ] = None,
    errors: DecodeErrorsOption = "replace",
    json: JsonFlag = False,
    progress: ProgressOption = "bar",
) -> None:
    """Decode the documents of shards, each on its own lines.

    A newline is added to a document that does not end with one. `--json` prints each unchanged as
    {"text": …}, which `encode` and `shards write` can read.
    """
    from tokbench.shards.reading import open_shards

    opened = opening.open(tokenizer, progress=progress)
    shards = open_shards(folder)
    shards.check_tokenizer(opened)
    for number in _numbers(document, shards):
        text = shards.text(number, opened, errors=errors)
        if json:
            print_json({"text": text})
        else:
            sys.stdout.buffer.write(text.encode() + (b"" if text.endswith("\n") else b"\n"))
    sys.stdout.buffer.flush()


def _numbers(document: str | None, shards: Shards) -> range:
    """Parse the numbers of --document. Raises `ConfigError`."""
    if document is None:
        return range(len(shards))
    match = _RANGE.fullmatch(document)
    if match is None:
        raise ConfigError(f"--document {document!r} is not a number", hint="write it as 7, or 10:20")
    first = int(match[1])
    numbers = range(first, first + 1 if match[2] is None else min(int(match[2]), len(shards)))
    if first >= len(shards) or not numbers:
        raise ConfigError(
            f"--document {document} names no document",
            hint=f"there {is_or_are(len(shards))} {counted(len(shards), 'document')}, from 0; 10:20 is 10 to 19",
        )
    return numbers
