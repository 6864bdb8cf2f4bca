"""Search a vocabulary, and show how its tokens are merged, which merges use them, and their corpus frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.result_json import tokenizer_fields
from tokbench.errors import ConfigError
from tokbench.files.atomic import write_file
from tokbench.inspection.search import TokenQuery, longest_first, search
from tokbench.inspection.token_merges import NoTokenMerges
from tokbench.inspection.vocabulary_tokens import VocabularyTokenKind, VocabularyTokens, escaped
from tokbench.workbench.explain_json import symbol_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tokbench.core.interfaces import TokenizerInfo
    from tokbench.explain.causes import MergeRule
    from tokbench.explain.derivation import MergeTrace
    from tokbench.inspection.vocabulary_tokens import VocabularyToken
    from tokbench.lint.target import CorpusCounts

SCHEMA = "tokbench.inspect.tokens/1"

_FILE_SCHEMA = "tokbench.vocabulary/1"
COLUMNS = ("id", "bytes", "text", "kind", "spelling", "score", "rank", "frequency")
_SUFFIXES = (".tsv", ".json")


@dataclass(frozen=True, slots=True)
class TokenDetails:
    """A token with its merges.

    Attributes:
        token: the token.
        derivation: the merges that build it from its symbols; None if that does not apply.
        uses: the merges that use it, in rank order.
        not_applicable: why there is no derivation; None if there is one.
    """

    token: VocabularyToken
    derivation: MergeTrace | None = None
    uses: tuple[MergeRule, ...] = ()
    not_applicable: str | None = None

    @property
    def is_made(self) -> bool:
        """Whether merging its symbols, without any context, results in the token."""
        return self.derivation is not None and [t.id for t in self.derivation.tokens] == [self.token.id]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Tokens of a vocabulary that match a query.

    Attributes:
        info: the tokenizer.
        found: number of matches.
        tokens: the first matches, in the requested order.
        without_text: number of tokens that were skipped because their bytes are not whole characters.
        details: the merges of each token, if single tokens were requested.
        counts: the corpus frequency of each id; None without a corpus.
        longest: whether the first matches are the longest.
    """

    info: TokenizerInfo
    found: int
    tokens: tuple[VocabularyToken, ...]
    without_text: int = 0
    details: tuple[TokenDetails, ...] = ()
    counts: CorpusCounts | None = None
    longest: bool = False

    def frequency(self, id: int) -> int | None:
        """Return the corpus frequency of a token; None without a corpus."""
        return _frequency(id, self.counts)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `tokbench inspect --json` prints when tokens are requested."""
        return {
            "schema": SCHEMA,
            "tokenizer": tokenizer_fields(self.info),
            "corpus": None
            if self.counts is None
            else {
                "documents": self.counts.documents,
                "bytes": self.counts.num_bytes,
                "tokens": self.counts.tokens,
            },
            "found": self.found,
            "without_text": self.without_text,
            "tokens": [
                {
                    **vocabulary_token_fields(token),
                    "frequency": self.frequency(token.id),
                    **(_details_fields(self.details[number]) if self.details else {}),
                }
                for number, token in enumerate(self.tokens)
            ],
        }


def vocabulary_token_fields(token: VocabularyToken) -> dict[str, Any]:
    """Return a token as JSON; its text is null if its bytes are not whole characters."""
    return {
        "id": token.id,
        "bytes": token.data.hex(),
        "text": token.text,
        "kind": token.kind.value,
        "spelling": token.spelling,
        "score": token.score,
        "rank": token.rank,
    }


def search_vocabulary(
    vocabulary: VocabularyTokens,
    query: TokenQuery,
    *,
    longest: bool = False,
    counts: CorpusCounts | None = None,
    top: int | None = None,
) -> SearchResult:
    """Search for the tokens that a query describes; tokens requested by id are returned with their merges.

    Args:
        vocabulary: the vocabulary.
        query: the query.
        longest: sort the longest first; otherwise the most frequent first if there are counts, else by rank or id.
        counts: the corpus frequency of each id.
        top: maximum number of tokens to return; None for all.

    Raises:
        ConfigError: as `tokbench.inspection.search.search`.
    """
    found = search(vocabulary, query)
    ids: Sequence[int] = found.ids
    if longest:
        ids = longest_first(vocabulary, ids)
    elif counts is not None and query.ids is None:
        ids = sorted(ids, key=lambda token_id: (-counts.frequencies[token_id], token_id))
    listed = tuple(vocabulary[id] for id in ids[:top])
    details = () if query.ids is None else tuple(_token_details(vocabulary, token) for token in listed)
    return SearchResult(
        vocabulary.contents.tokenizer.info, len(ids), listed, found.without_text, details, counts, longest
    )


def _token_details(vocabulary: VocabularyTokens, token: VocabularyToken) -> TokenDetails:
    merges = vocabulary.merges
    if isinstance(merges, NoTokenMerges):
        return TokenDetails(token, not_applicable=str(merges))
    uses = merges.uses(token.id)
    if token.kind in (VocabularyTokenKind.SPECIAL, VocabularyTokenKind.ADDED):
        return TokenDetails(
            token, uses=uses, not_applicable="it is found in a text before anything is merged"
        )
    if token.kind is VocabularyTokenKind.BYTE:
        return TokenDetails(token, uses=uses, not_applicable="it is a byte of characters that have no token")
    return TokenDetails(token, merges.derivation(token.id), uses)


# --- JSON -------------------------------------------------------------------------------------


def _details_fields(details: TokenDetails) -> dict[str, Any]:
    trace = details.derivation
    return {
        "derivation": None
        if trace is None
        else {
            "symbols": [symbol_fields(symbol) for symbol in trace.symbols],
            "merges": [
                {**_rule_fields(step.rule), "start": step.start, "middle": step.middle, "stop": step.stop}
                for step in trace.steps
            ],
            "tokens": [symbol_fields(symbol) for symbol in trace.tokens],
            "makes_the_token": details.is_made,
        },
        "not_applicable": details.not_applicable,
        "used_by": [_rule_fields(rule) for rule in details.uses],
    }


def _rule_fields(rule: MergeRule) -> Mapping[str, Any]:
    return {
        "rank": rule.rank,
        "left": symbol_fields(rule.left),
        "right": symbol_fields(rule.right),
        "merged": symbol_fields(rule.merged),
    }


def check_name(path: Path) -> None:
    """Raise `ConfigError`, before any work, if a file name has neither suffix of the two formats."""
    if path.suffix not in _SUFFIXES or path.is_dir():
        raise ConfigError(f"{path} ends in neither .tsv nor .json", hint="--vocab-out FILE.tsv or FILE.json")


def write_vocabulary(path: Path, vocabulary: VocabularyTokens, *, counts: CorpusCounts | None = None) -> None:
    r"""Write all tokens in the order of their ids, atomically: one token per line (TSV), or JSON.

    In both formats the bytes of a token are in hexadecimal, so every token differs from every other. In JSON its text
    is a string, or null if the bytes are not whole characters; in TSV it is one line with escapes, where a backslash is
    doubled and `\xNN` is a byte that belongs to no character (`tokbench.inspection.vocabulary_tokens.escaped`).

    Args:
        path: a file whose name ends in .tsv or .json.
        vocabulary: the vocabulary.
        counts: the corpus frequency of each id; without them there are no frequencies.

    Raises:
        ConfigError: the name has another suffix.
        StoreError: the file cannot be written.
    """
    import orjson

    check_name(path)
    if path.suffix == ".tsv":
        lines = ("\t".join(row) for row in vocabulary_rows(vocabulary, counts=counts))
        write_file(path, ("\n".join(lines) + "\n").encode())
        return
    document = {
        "schema": _FILE_SCHEMA,
        "tokenizer": tokenizer_fields(vocabulary.contents.tokenizer.info),
        "tokens": [
            {**vocabulary_token_fields(token), "frequency": _frequency(token.id, counts)}
            for token in vocabulary
        ],
    }
    write_file(path, orjson.dumps(document) + b"\n")


def vocabulary_rows(
    vocabulary: Iterable[VocabularyToken], *, counts: CorpusCounts | None = None
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a TSV file as cells, the header first; unknown values are empty."""
    yield COLUMNS
    for token in vocabulary:
        spelling = None if token.spelling is None else escaped(token.spelling.encode())
        values: tuple[Any, ...] = (
            *(token.id, token.data.hex(), escaped(token.data), token.kind.value, spelling),
            *(token.score, token.rank, _frequency(token.id, counts)),
        )
        yield tuple("" if value is None else str(value) for value in values)


def _frequency(id: int, counts: CorpusCounts | None) -> int | None:
    return None if counts is None else int(counts.frequencies[id])
