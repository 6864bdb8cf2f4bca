"""Ranks whose split pattern has no scanner: on our kernel by a compiled program, with `tiktoken` for the rest.

tiktoken uses Rust's regular expressions, programs follow Oniguruma's. Patterns that `split_programs/syntax.py`
understands mean the same to both, except for line ends, and for the characters of a class, about which we ask tiktoken.
"""

from __future__ import annotations

import os
import re
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

from tokbench.backends.bpe.split_programs.character_sets import UnknownPatternError
from tokbench.backends.bpe.split_programs.gaps import ends_lines, matches_everywhere
from tokbench.backends.bpe.split_programs.programs import program_of
from tokbench.backends.bpe.split_programs.syntax import RUST
from tokbench.core.kernel_or_library import KernelUse
from tokbench.core.kernel_spans import KernelSpans
from tokbench.core.token_arrays import TiledSpans
from tokbench.core.tokens import Encoded, SpecialPolicy
from tokbench.opening.compiled_steps import compiled_steps
from tokbench.opening.native_with_fallback import NativeBpeWithFallback
from tokbench.opening.split_steps import (
    RUSTS_WORD,
    ProgramStep,
    SplitSteps,
    byte_masks,
    disputed_by_sets,
)
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.opening.unicode_agreement import UnicodeAgreement, tiktoken_members

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.backends.bpe.kernel import Kernel
    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.core.kernel_or_library import OnLibrary
    from tokbench.core.tokens import EncodedSpans
    from tokbench.native import _bpe


class NativeRanks(NativeBpeWithFallback):
    """A rank tokenizer whose split pattern runs as a program."""

    _splitting: SplitSteps

    @classmethod
    def of(
        cls,
        description: ByteLevelBpe,
        *,
        name: str,
        kernel: Kernel,
        splitting: SplitSteps,
        library: Callable[[], OnLibrary],
    ) -> NativeRanks:
        """Build a tokenizer from a description and the result of `rank_splitting`; other arguments as for `build`."""
        agreement = UnicodeAgreement(
            tiktoken_members,
            kernel=kernel.name,
            nfc=False,
            further=partial(disputed_by_sets, splitting, found=tiktoken_members),
        )
        tokenizer = cls.build(description, name=name, kernel=kernel, agreement=agreement, library=library)
        assert isinstance(tokenizer, NativeRanks)
        tokenizer._splitting = splitting
        return tokenizer

    def make_ready(self) -> None:
        """Build the encoder for the program in advance, rather than the one for scanners; see `MakesReady`."""
        from tokbench.native._bpe import PreparedEncoder

        encoder = self._program_encoder
        if not isinstance(encoder, PreparedEncoder):
            encoder.complete()

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        if special is not SpecialPolicy.TEXT and self._special_ids:
            return None
        encoder, agreement = self._program_encoder, self._agreement
        return KernelUse(
            agreement.covers,
            encoder,
            agreement.covers_all,
            partial(agreement.encoded, encoder.encode_marked_batch),
        )

    @property
    def _kernel_spans(self) -> KernelSpans:
        return KernelSpans(self._agreement.covers, self._encode_tiled, super()._kernel_spans.segment)

    def _encode_tiled(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        encoded = self._program_encoder.encode_batch(list(texts), threads or os.cpu_count() or 1)
        return TiledSpans(Encoded(*encoded), self._piece_table)

    @cached_property
    def _program_encoder(self) -> _bpe.Encoder | _bpe.PreparedEncoder:
        from tokbench.native._bpe import PreparedEncoder

        masks = self._splitting.sets.masks()
        compiled = compiled_steps(self._splitting, masks)
        if compiled is not None:
            return cast("_bpe.Encoder", self._encoder.with_pattern(compiled))
        return PreparedEncoder(
            [token or b"" for token in self.description().tokens],
            None,
            whole_tokens_first=True,
            pattern=None,
            added=([], []),
            added_with_specials=([], []),
            steps=self._splitting.rows(),
            sets=masks,
            byte_sets=byte_masks(masks),
            marks_ends=False,
            makes_nfc=False,
        )


def _with_rusts_words(pattern: str) -> str:
    r"""Spell out \w and \W, whose members in Rust are not those in Oniguruma.

    >>> _with_rusts_words(r"\w+|\\w")
    '[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]+|\\\\w'
    """
    spelled = {r"\w": f"[{RUSTS_WORD}]", r"\W": f"[^{RUSTS_WORD}]"}
    return re.sub(r"\\.", lambda escape: spelled.get(escape[0], escape[0]), pattern, flags=re.DOTALL)


def rank_splitting(pattern: str) -> SplitSteps:
    """Return the splitting steps of a pattern, as tiktoken splits by it.

    Raises:
        NotNativeError: the program may split some text differently.
    """
    splitting = SplitSteps()
    try:
        pattern = _with_rusts_words(pattern)
        program = program_of(pattern, splitting.sets, dialect=RUST)
        if ends_lines(pattern, dialect=RUST):
            raise NotNativeError("its split pattern matches ends of lines")
        if not matches_everywhere(pattern, dialect=RUST):
            raise NotNativeError("its split pattern may leave out parts of a text")
    except UnknownPatternError as error:
        raise NotNativeError(f"the native kernel does not run its split pattern: {error}") from None
    splitting.steps.append(ProgramStep(program, of_bytes=False, behavior="Isolated"))
    if wrong := disputed_by_sets(splitting, {chr(code) for code in range(128)}, found=tiktoken_members):
        raise NotNativeError(f"its split pattern means something else to tiktoken for {min(wrong)!a}")
    return splitting
