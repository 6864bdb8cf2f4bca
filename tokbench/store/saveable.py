"""Tokenizers that can be saved: writing the folder, the self-test, and the identity of the training text."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.core.base import BaseTokenizer
from tokbench.core.documents import LineIdentity, TextIdentity
from tokbench.core.manifest import SelfTestSample
from tokbench.core.wording import counted, printable
from tokbench.errors import CorpusError, SelfTestError, StoreError, TokbenchError
from tokbench.formats.tokenizer_config.files import config_files, with_special_tokens
from tokbench.formats.tokenizer_config.roles import TellsRoles

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer, TrainingRecord
    from tokbench.core.manifest import Manifest

_FIXED_TEXTS = (
    "The quick brown fox doesn't jump; it's 'asleep' — WE'LL see, naïve façade.",
    "def f(x):\n    if x:\n\t\treturn {'a_b': [x ** 2, camelCase]}\r\n\n\n    # done\n",
    "東京タワーは高い。价格：¥１２３，안녕하세요 세계",
    "العَرَبِيَّة لغة جميلة، والأرقام ١٢٣٤.",
    "👩‍👩‍👧‍👦 👍🏽 🇩🇪 ❤️‍🔥",
    "0 12 345 6789 1234567 3.14159 1e-10 ½ Ⅻ ٣",
    "  two   three\t\ttabs \n \n\n  end\u3000\u00a0\u2028 ",
    "e\u0301a\u0308 Z\u0351\u036b\u0343 नमस्ते ไทย I\u0307 ſ",
)

# Blocks in which every code point was assigned long ago, so that all versions of Unicode agree on them.
_BLOCKS = (
    (0x0020, 0x007E),  # ASCII
    (0x00A1, 0x017F),  # Latin
    (0x0300, 0x036F),  # combining marks
    (0x0391, 0x03A1),  # Greek
    (0x0410, 0x044F),  # Cyrillic
    (0x05D0, 0x05EA),  # Hebrew
    (0x0621, 0x063A),  # Arabic
    (0x0905, 0x0939),  # Devanagari
    (0x0E01, 0x0E3A),  # Thai
    (0x2000, 0x200F),  # spaces, joiners, directions
    (0x2190, 0x21FF),  # arrows
    (0x3041, 0x3096),  # Hiragana
    (0x4E00, 0x9FA5),  # Han
    (0xAC00, 0xD7A3),  # Hangul
    (0x10330, 0x1034A),  # Gothic
    (0x1F600, 0x1F64F),  # emoji
)
_GENERATED_TEXTS = 4
_RUNS = 12
_LONGEST_RUN = 6
_IDS_SHOWN = 8
_TEXT_SHOWN = 40


class SaveableTokenizer(TellsRoles, BaseTokenizer):
    """A tokenizer that can be saved to a folder, and is checked when the folder is opened.

    Attributes:
        identify_text: returns the identity of its training text; None if it is not known.
    """

    identify_text: Callable[[], TextIdentity] | None = None
    _saved_training: Mapping[str, Any] | None = None

    def write(
        self,
        directory: Path | str,
        files: Mapping[str, bytes],
        *,
        overwrite: bool,
        config: Mapping[str, Any] | None = None,
        versions: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> None:
        """Write files as a saved tokenizer, with the manifest and the self-test.

        Args:
            directory: the folder to create.
            files: plain file name → contents.
            overwrite: whether to replace a saved tokenizer.
            config: the training options, plain JSON.
            versions: the versions of the libraries that its ids depend on.
            seed: the seed of the generated texts of the self-test.

        Raises:
            StoreError: the folder exists, or cannot be written, or the tokenizer gives ids outside its vocabulary.
        """
        from tokbench import __version__, store

        directory = Path(directory)
        info, training = self.info, self.training
        if self.tokenizer_config and "tokenizer_config.json" not in files:
            files = {**files, **config_files(with_special_tokens(self.tokenizer_config, info.special_tokens))}
        manifest = store.Manifest(
            name=printable(directory.absolute().name),
            backend=info.backend,
            kernel=info.kernel,
            vocab_size=info.vocab_size,
            special_tokens=info.special_tokens,
            roles=self.roles,
            config=dict(config or {}),
            training=self._saved_training
            if training is None
            else _training_document(training, self._identity()),
            versions={"tokbench": __version__, "python": platform.python_version(), **(versions or {})},
            self_test=tuple(self._sample(text) for text in self_test_texts(seed=seed)),
        )
        store.write(directory, manifest=manifest, files=files, overwrite=overwrite)

    def _sample(self, text: str) -> SelfTestSample:
        ids = tuple(self.encode(text))
        size = self.info.vocab_size
        if (unknown := next((id for id in ids if not 0 <= id < size), None)) is not None:
            raise StoreError(
                f"{self.info.name!r} cannot be saved: it gives the id {unknown}, outside its vocabulary of "
                f"{counted(size, 'token')}",
                hint=f"this is a fault of the backend {self.info.backend!r}: its vocab_size must be above all ids",
            )
        return SelfTestSample(text=text, ids=ids)

    @property
    def training_text(self) -> TextIdentity | None:
        """The identity of its training text, from its manifest; None if it is not known."""
        saved = self._saved_training or {}
        fingerprint, sample = saved.get("fingerprint"), saved.get("document_sample", [])
        if not isinstance(fingerprint, str) or not isinstance(sample, list):
            return None
        lines, of_lines = saved.get("line_fingerprint"), saved.get("line_sample", [])
        known = isinstance(lines, str) and isinstance(of_lines, list)
        return TextIdentity(
            fingerprint=fingerprint,
            sample=tuple(map(str, sample)),
            lines=LineIdentity(str(lines), tuple(map(str, of_lines))) if known else None,
        )

    def _identity(self) -> TextIdentity | None:
        try:
            return None if self.identify_text is None else self.identify_text()
        except CorpusError:  # standard input is consumed, or the files have changed meanwhile
            return None

    def verify_against(self, manifest: Manifest, *, path: Path) -> None:
        """Run the self-test of an opened tokenizer, and keep the manifest's data on training and roles.

        Raises:
            SelfTestError: its ids differ from those at the time of saving.
        """
        self_test(self, manifest, path=path)
        self._saved_training = manifest.training
        self.file_roles = manifest.roles


def _training_document(training: TrainingRecord, text: TextIdentity | None) -> dict[str, Any]:
    lines = None if text is None else text.lines
    return {
        "documents": training.documents,
        "num_bytes": training.num_bytes,
        "pretokens": training.pretokens,
        "distinct_pretokens": training.distinct_pretokens,
        "tokens": training.tokens,
        "fingerprint": None if text is None else text.fingerprint,
        "document_sample": [] if text is None else list(text.sample),
        "line_fingerprint": None if lines is None else lines.fingerprint,
        "line_sample": [] if lines is None else list(lines.sample),
        **({} if training.words is None else {"words": training.words}),
    }


# --- the self-test ----------------------------------------------------------------------------


def self_test_texts(*, seed: int) -> tuple[str, ...]:
    """Return texts for a self-test: a fixed set of difficult ones, and some generated from the seed.

    >>> from tokbench.store.saveable import self_test_texts
    >>> self_test_texts(seed=1) == self_test_texts(seed=1) != self_test_texts(seed=2)
    True
    """
    import random

    source = random.Random(seed)  # noqa: S311 -- test texts, not secrets
    return _FIXED_TEXTS + tuple(_generated_text(source) for _ in range(_GENERATED_TEXTS))


def self_test(tokenizer: Tokenizer, manifest: Manifest, *, path: Path) -> None:
    """Check that a loaded tokenizer gives the ids that its manifest recorded.

    Args:
        tokenizer: the loaded tokenizer.
        manifest: its manifest.
        path: its name in error messages.

    Raises:
        SelfTestError: the ids of a text differ; the error names the first text.
    """
    for sample in manifest.self_test:
        expected = list(sample.ids)
        try:
            ids = list(map(int, tokenizer.encode(sample.text)))
        except TokbenchError as error:
            raise _self_test_error(manifest, path, sample.text, expected, found=str(error)) from error
        if ids != expected:
            start = _first_difference(expected, ids)
            raise _self_test_error(
                manifest, path, sample.text, expected, found=_shown(ids, start=start), start=start
            )


def _generated_text(source: random.Random) -> str:
    return "".join(_run(source, *source.choice(_BLOCKS)) for _ in range(_RUNS))


def _run(source: random.Random, first: int, last: int) -> str:
    return "".join(chr(source.randint(first, last)) for _ in range(source.randint(1, _LONGEST_RUN)))


def _self_test_error(
    manifest: Manifest, path: Path, text: str, expected: Sequence[int], *, found: str, start: int = 0
) -> SelfTestError:
    versions = ", ".join(f"{name} {version}" for name, version in sorted(manifest.versions.items()))
    text_shown = text if len(text) <= _TEXT_SHOWN else f"{text[: _TEXT_SHOWN - 1]}…"
    return SelfTestError(
        path,
        f"{_shown(expected, start=start)} for the text {text_shown!r}",
        found,
        hint=f"a file of it or a library has changed; it was saved with {versions or 'unknown versions'}: "
        "restore those, or train again",
    )


def _first_difference(expected: Sequence[int], found: Sequence[int]) -> int:
    """Return the first index at which two lists of ids differ.

    >>> _first_difference([1, 2, 3], [1, 2]), _first_difference([1, 2, 3], [1, 5, 3])
    (2, 1)
    """
    pairs = enumerate(zip(expected, found, strict=False))
    return next(
        (index for index, (expected_id, found_id) in pairs if expected_id != found_id),
        min(len(expected), len(found)),
    )


def _shown(ids: Sequence[int], *, start: int) -> str:
    """Return a few ids around `start`, with ellipses for omitted ones.

    >>> _shown(range(20), start=10)
    'ids [… 8, 9, 10, 11, 12, 13, 14, 15 …]'
    """
    first = max(0, start - 2)
    shown = ", ".join(map(str, ids[first : first + _IDS_SHOWN]))
    before, after = "… " if first else "", " …" if first + _IDS_SHOWN < len(ids) else ""
    return f"ids [{before}{shown}{after}]"
