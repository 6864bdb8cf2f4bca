"""The time from the start of a process to the first token, compared to a script that uses tiktoken and to imports."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from support.processor_time import TOKBENCH, least_seconds, seconds

import tokbench
from tokbench.backends.bpe.split_patterns import resolve_pattern
from tokbench.formats.tiktoken import dump_ranks
from tokbench.opening.known_ranks import KNOWN_BY_SHA256

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.quiet]

ENTRIES = 200_000
ASCII, OTHERS = "Hello, world", "Hello, wörld! 안녕"

LIBRARY = "import sys, tokbench; tokbench.load(sys.argv[1], pattern=sys.argv[2] or None).encode(sys.argv[3])"
TIKTOKEN = """if True:
    import sys
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    path, pattern, text = sys.argv[1:]
    ranks = load_tiktoken_bpe(path)
    encoding = tiktoken.Encoding("it", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|end|>": 1 << 20})
    encoding.encode(text)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one folder for all timed programs, because bytecode is compiled into it the first time."""
    return tmp_path_factory.mktemp("timed")


@pytest.fixture(scope="module")
def ranks(folder: Path) -> Path:
    """Write a rank file of the size of o200k's: each token is an earlier token followed by a byte."""
    source = random.Random(1)
    tokens = [bytes([byte]) for byte in range(256)]
    seen = set(tokens)
    while len(tokens) < ENTRIES:
        made = tokens[source.randrange(min(len(tokens), 4000))] + tokens[source.randrange(256)]
        if made not in seen:
            seen.add(made)
            tokens.append(made)
    path = folder / "ranks.tiktoken"
    path.write_bytes(dump_ranks(tokens))
    return path


@pytest.fixture(scope="module")
def tokbin(ranks: Path, folder: Path) -> Path:
    from tokbench.convert.conversion import Source
    from tokbench.convert.targets.tokbin import make

    tokenizer = tokbench.load(ranks, pattern="gpt4o")
    path = folder / "ranks.tokbin"
    path.write_bytes(make(Source(tokenizer=tokenizer, description=tokenizer.description())).files[""])
    return path


@pytest.mark.parametrize("text", [ASCII, OTHERS])
def test_first_token_from_a_rank_file_is_faster_than_tiktoken(ranks: Path, folder: Path, text: str) -> None:
    pattern = resolve_pattern("gpt4o").regex
    assert pattern is not None
    peer, command, library = least_seconds(
        lambda: seconds(TIKTOKEN, str(ranks), pattern, text, cwd=folder),
        lambda: seconds(TOKBENCH, "encode", "-t", str(ranks), "--pattern", "gpt4o", text, cwd=folder),
        lambda: seconds(LIBRARY, str(ranks), "gpt4o", text, cwd=folder),
        enough=lambda peer, command, library: max(command, library) < peer,
    )
    assert command < peer
    assert library < peer


@pytest.mark.real
def test_first_token_from_known_ranks_is_faster_than_tiktoken(shared: Path, folder: Path) -> None:
    path = shared / "vocab" / "openai" / "cl100k_base.tiktoken"
    known = next(known for known in KNOWN_BY_SHA256.values() if known.name == "cl100k_base")
    pattern = resolve_pattern(known.pattern).regex
    assert pattern is not None
    peer, ours = least_seconds(
        lambda: seconds(TIKTOKEN, str(path), pattern, OTHERS, cwd=folder),
        lambda: seconds(LIBRARY, str(path), "", OTHERS, cwd=folder),
        enough=lambda peer, ours: ours < peer,
    )
    assert ours < peer


@pytest.mark.parametrize("text", [ASCII, OTHERS])
def test_first_token_from_a_tokbin_file_takes_little_more_than_two_imports(
    tokbin: Path, folder: Path, text: str
) -> None:
    imported, encoded = least_seconds(
        lambda: seconds("import typer, numpy", cwd=folder),
        lambda: seconds(TOKBENCH, "encode", "-t", str(tokbin), text, cwd=folder),
        enough=lambda imported, encoded: encoded - imported < 0.1,
    )
    assert encoded - imported < 0.1
