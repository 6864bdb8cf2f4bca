"""The command that decodes ids to text: lists of numbers separated by spaces or commas, or the JSON of `encode`."""

from __future__ import annotations

import os
import re
import sys
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from tokbench.cli.corpus_options import DecodeErrorsOption
from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import JsonFlag, ProgressOption
from tokbench.cli.standard_input import STDIN, tell_of_stdin
from tokbench.cli.tokenizer_options import DEFAULT, OpeningChoices, TokenizerOption
from tokbench.core.streaming import StreamingDecoder
from tokbench.errors import CorpusError
from tokbench.render.console import print_json
from tokbench.workbench.decode import decode_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@taking_groups
def decode(
    *,
    ids: Annotated[
        list[str],
        typer.Argument(metavar="IDS", help="Ids, or - for what `encode` writes, from stdin."),
    ],
    tokenizer: TokenizerOption = DEFAULT,
    opening: OpeningChoices,
    errors: DecodeErrorsOption = "replace",
    stop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE|ID",
            help="Stop before this id, or a token with this role, e.g. turn_end; repeatable.",
        ),
    ] = None,
    skip_special: Annotated[bool, typer.Option("--skip-special", help="Leave special tokens out.")] = False,
    json: JsonFlag = False,
    progress: ProgressOption = "bar",
) -> None:
    """Decode token ids to text: from numbers, or from the JSON of `encode --json`.

    Ids from stdin are decoded line by line as they arrive.
    """
    opened = opening.open(tokenizer, progress=progress)
    ends = [int(each) if each.isascii() and each.isdigit() else each for each in stop or []]
    if STDIN in ids:
        tell_of_stdin("ids")
    if STDIN in ids and not json:
        decoder = StreamingDecoder(opened, errors=errors, stop=ends, skip_special=skip_special)
        write_as_it_comes(decoder, ids)
        return
    result = decode_ids(opened, read_ids(ids), errors=errors, stop=ends, skip_special=skip_special)
    if json:
        print_json(result.to_json())
        return
    sys.stdout.buffer.write(result.data.decode(errors="replace").encode())
    if sys.stdout.isatty() and not result.data.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


_NO_SEPARATORS = str.maketrans(",[]", "   ")
_NUMBER = re.compile(r"-?[0-9]{1,100}")
_NUMBERS = re.compile(r"[-0-9\s]*")
_SHOWN = 40


def read_ids(arguments: Iterable[str]) -> list[int]:
    """Return the ids of a command's arguments; "-" is standard input.

    Raises:
        CorpusError: the input contains something other than ids.

    >>> read_ids(["15 4,8", "16"])
    [15, 4, 8, 16]
    """
    ids: list[int] = []
    for text in arguments:
        ids.extend(parse_ids(_utf8(_stdin().read(), 0) if text == STDIN else text, position=len(ids)))
    return ids


def write_as_it_comes(decoder: StreamingDecoder, arguments: Iterable[str]) -> None:
    """Write the text of ids to stdout, for each line of standard input as soon as it arrives.

    Nothing is read after the line that ends the text.

    Raises:
        CorpusError: the input contains something other than ids.
        UnknownIdError: an id that the vocabulary does not have.
        DecodeError: bytes that are not whole characters, under "strict".
    """
    out, position, text = sys.stdout.buffer, 0, ""
    for part in chain.from_iterable(_lines() if text == STDIN else [text] for text in arguments):
        ids = parse_ids(part, position=position)
        position += len(ids)
        if shown := decoder.feed(ids):
            out.write(shown.encode())
            out.flush()
            text = shown
        if decoder.finished:
            break
    shown = decoder.finish()
    if sys.stdout.isatty() and not (shown or text).endswith("\n"):
        shown += "\n"
    out.write(shown.encode())
    out.flush()


def _lines() -> Iterator[str]:
    """Yield standard input line by line, or as a whole if it is JSON that continues after the first line."""
    import orjson

    stream = _stdin()
    is_first, start = True, 0
    for line in stream:
        data = line
        if is_first and line.lstrip().startswith(b"{"):
            try:
                orjson.loads(line)
            except orjson.JSONDecodeError:
                data += stream.read()
        is_first = is_first and not line.strip()
        yield _utf8(data, start)
        start += len(data)


def parse_ids(text: str, *, position: int = 0) -> list[int]:
    """Parse ids: numbers, a JSON list, or JSON objects with a field `ids`, one per line.

    Args:
        text: as it was written.
        position: the number of ids before it, for messages.

    Raises:
        CorpusError: the input contains something other than ids.

    >>> parse_ids('{"ids": [1, 2]}')
    [1, 2]
    """
    if text.lstrip().startswith("{"):
        return _ids_of_documents(text)
    text = text.translate(_NO_SEPARATORS)
    words = text.split()
    try:
        # One look at the whole text, because int takes other numbers too (1_000, +1, ١); millions are common.
        if _NUMBERS.fullmatch(text):
            return list(map(int, words))
    except ValueError:
        pass
    index, word = next((i, word) for i, word in enumerate(words) if not _NUMBER.fullmatch(word))
    shown = word if len(word) <= _SHOWN else f"{word[:_SHOWN]}…"
    raise CorpusError(
        f"{shown!r}, at position {position + index}, is not an id",
        hint=_instead_of(word),
    )


def _instead_of(word: str) -> str:
    """Return a hint for something that is not an id: it may be a path given by mistake."""
    if os.path.isdir(word):  # noqa: PTH112 -- False, not an error, for a name that is too long
        return f"`tokbench shards read {word}` decodes a folder of shards"
    if os.path.isfile(word):  # noqa: PTH113
        return f"decode reads ids, not files: tokbench decode - < {word}"
    return "ids are whole numbers, as `tokbench encode` prints them"


def _stdin() -> BinaryIO:
    if sys.stdin is None:
        raise CorpusError("<stdin>: standard input is closed", hint="give the ids as arguments")
    return sys.stdin.buffer


def _utf8(data: bytes, start: int) -> str:
    """Decode bytes that follow `start` other bytes, for messages."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"<stdin>: not UTF-8 at byte {start + error.start}", hint="decode reads ids, not text"
        ) from None


def _ids_of_documents(text: str) -> list[int]:
    import orjson

    try:
        documents = [orjson.loads(text)]
    except orjson.JSONDecodeError:
        try:
            documents = [orjson.loads(line) for line in text.splitlines() if line.strip()]
        except orjson.JSONDecodeError as error:
            raise CorpusError(f"the ids are not JSON: {error}", hint=_HINT) from None
    return list(chain.from_iterable(map(_ids_of, documents)))


def _ids_of(document: Any) -> list[int]:
    ids = document.get("ids") if isinstance(document, dict) else None
    if not isinstance(ids, list) or not all(type(id) is int for id in ids):
        raise CorpusError("the JSON contains no list `ids` of whole numbers", hint=_HINT)
    return ids


_HINT = "pipe `tokbench encode --json` into it"
