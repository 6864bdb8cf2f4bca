"""The identity of a text's documents: the fingerprint, the sample, and the overlap of two texts."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from tokbench.corpus.fingerprint import Fingerprint, Lines, overlap
from tokbench.errors import TextError

if TYPE_CHECKING:
    from tokbench.core.documents import TextIdentity


def fingerprint(texts) -> str:
    """Compute the fingerprint by its definition."""
    return f"{sum(int(hashlib.sha256(text.encode()).hexdigest(), 16) for text in texts) % 2**256:064x}"


def sample(texts) -> tuple[str, ...]:
    """Compute the sample by its definition."""
    return tuple(sorted({hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts})[:1024])


def identity(texts) -> TextIdentity:
    counting = Fingerprint()
    for text in texts:
        counting.update(text)
    return counting.identity()


def numbered(start: int, stop: int) -> list[str]:
    return [f"document {number}" for number in range(start, stop)]


class TestFingerprint:
    def test_fingerprint_equals_its_definition(self):
        texts = ["one", "zwei", "三"]
        counting = Fingerprint()
        assert list(counting.watch(iter(texts))) == texts
        assert counting.hexdigest() == fingerprint(texts)
        assert (counting.documents, counting.num_bytes) == (3, 10)

    def test_fingerprint_of_bytes_and_blocks_equals_that_of_strings(self):
        assert len({self.after("update", "é" * 5), self.after("update", "é".encode() * 5)}) == 1
        assert self.after("update_blocks", ["é".encode()] * 5) == self.after("update", "é" * 5)

    def after(self, method, document):
        counting = Fingerprint()
        getattr(counting, method)(document)
        return counting.hexdigest()

    def test_fingerprint_depends_on_the_number_of_documents_not_their_order(self):
        assert identity(["a", "b"]) == identity(["b", "a"])
        assert self.after("update", "ab") != fingerprint(["a", "b"])
        assert identity(["a", "a"]).fingerprint != identity(["a"]).fingerprint

    def test_empty_documents_do_not_count(self):
        for method, empty in (("update", ""), ("update", b""), ("update_blocks", [])):
            assert self.after(method, empty) == "0" * 64

    def test_surrogates_are_refused(self):
        with pytest.raises(TextError, match=r"U\+D800"):
            Fingerprint().update("a\ud800")


class TestSample:
    @pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 5000])
    def test_sample_has_the_smallest_hashes_in_any_order(self, size):
        texts = numbered(0, size)
        assert identity(texts).sample == sample(texts)
        assert identity([*reversed(texts), *texts]).sample == sample(texts)


class TestOverlap:
    def test_overlap_of_small_texts_is_exact(self):
        assert overlap(identity(numbered(0, 30)), identity(numbered(20, 40))) == 0.5
        assert overlap(identity(numbered(0, 30)), identity(numbered(30, 40))) == 0.0
        assert overlap(identity(numbered(0, 30)), identity(numbered(10, 20))) == 1.0

    def test_overlap_of_large_texts_is_an_estimate(self):
        # Half of the 20,000 documents are among the 20,000 trained on: about 512 of 1,024 comparable hashes.
        share = overlap(identity(numbered(0, 20_000)), identity(numbered(10_000, 30_000)))
        assert share == pytest.approx(0.5, abs=0.08)

    def test_overlap_ignores_hashes_beyond_a_full_sample(self):
        trained_on, evaluated_on = numbered(0, 20_000), numbered(0, 100)
        known = set(sample(trained_on))
        comparable = [value for value in sample(evaluated_on) if value <= max(known)]
        assert 0 < len(comparable) < 100
        assert overlap(identity(trained_on), identity(evaluated_on)) == 1.0

    def test_overlap_without_comparable_hashes_is_none(self):
        assert overlap(identity(["a"]), identity([])) is None
        unlucky = next(
            text for text in numbered(0, 10**6) if sample([text]) > (sample(numbered(0, 20_000))[-1],)
        )
        assert overlap(identity(numbered(0, 20_000)), identity([unlucky])) is None


class TestJoining:
    """Joining identities from elsewhere equals reading everything here, whatever the samples leave out."""

    @pytest.mark.parametrize("cut", [0, 1, 1_500, 6_000])
    def test_joined_parts_equal_the_whole(self, cut: int) -> None:
        texts = [f"line number {number} of them\n" * (1 + number % 2) for number in range(6_000)]
        documents, lines = Fingerprint(), Lines()
        together, lines_together = Fingerprint(), Lines()
        for part in (texts[:cut], texts[cut:]):
            here, lines_here = Fingerprint(), Lines()
            for text in part:
                for counting in (here, lines_here, documents, lines):
                    counting.update(text)
            together.join(here.identity(), documents=here.documents, num_bytes=here.num_bytes)
            lines_together.join(lines_here.identity())
        assert together.identity() == documents.identity()
        assert (together.documents, together.num_bytes) == (documents.documents, documents.num_bytes)
        assert lines_together.identity() == lines.identity()
