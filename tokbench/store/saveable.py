"""A tokenizer that can be saved: its folder, its self-test, and what is known of the text it was trained on."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.core.base import BaseTokenizer
from tokbench.core.documents import LineIdentity, TextIdentity
from tokbench.errors import CorpusError
from tokbench.formats.tokenizer_config.fields import TokenizerConfig
from tokbench.formats.tokenizer_config.files import config_files, with_special_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokbench.core.interfaces import TrainingRecord
    from tokbench.store import Manifest


class SaveableTokenizer(BaseTokenizer):
    """A tokenizer that writes itself into a folder, and is checked when that is opened.

    Attributes:
        identify_text: tells which text it was trained on, by reading it once more; None where that cannot be.
        tokenizer_config: what it is to a model, as far as that is known.
    """

    tokenizer_config: TokenizerConfig = TokenizerConfig()
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
            directory: the folder to make.
            files: plain file name → contents.
            overwrite: whether to replace a saved tokenizer.
            config: the options it was trained with, plain JSON.
            versions: of the libraries that its ids depend on.
            seed: draws the generated texts of the self-test.

        Raises:
            StoreError: the folder exists, or cannot be written.
        """
        from tokbench import __version__, store

        directory = Path(directory)
        info, training = self.info, self.training
        if self.tokenizer_config and "tokenizer_config.json" not in files:
            files = {**files, **config_files(with_special_tokens(self.tokenizer_config, info.special_tokens))}
        manifest = store.Manifest(
            name=directory.name,
            backend=info.backend,
            kernel=info.kernel,
            vocab_size=info.vocab_size,
            special_tokens=info.special_tokens,
            config=dict(config or {}),
            training=self._saved_training
            if training is None
            else _training_document(training, self._identity()),
            versions={"tokbench": __version__, "python": platform.python_version(), **(versions or {})},
            self_test=tuple(
                store.SelfTestSample(text=text, ids=tuple(self.encode(text)))
                for text in store.self_test_texts(seed=seed)
            ),
        )
        store.write(directory, manifest=manifest, files=files, overwrite=overwrite)

    @property
    def training_text(self) -> TextIdentity | None:
        """Which documents it was trained on, as its manifest says; None where that is not known."""
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
        except CorpusError:  # standard input is gone, or the files have changed under it
            return None

    def hold_to(self, manifest: Manifest, *, path: Path) -> None:
        """Check an opened tokenizer by its self-test, and keep what the manifest says of its training.

        Raises:
            SelfTestError: it gives other ids than when it was saved.
        """
        from tokbench import store

        store.self_test(self, manifest, path=path)
        self._saved_training = manifest.training


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
    }
