"""`tokbench train --parity`: merges for the language that is behind, and the messages about it."""

from __future__ import annotations

import json

import pytest
from support.texts import bundled_texts

import tokbench
from tokbench.backends.bpe.parity import training
from tokbench.backends.bpe.parity.reference import ParityRules, train_for_parity
from tokbench.backends.bpe.reference import NUM_BYTES
from tokbench.core.word_input import merger_room
from tokbench.errors import ConfigError, TrainingError

LANGUAGES = ("am", "en", "th")


@pytest.fixture
def parallel(tmp_path):
    """Write sixty lines of three languages as training text, and their other forty lines as development text."""
    for language in LANGUAGES:
        lines = bundled_texts()[f"parallel/{language}.txt"].splitlines(keepends=True)
        for folder, part in (("text", lines[:60]), ("dev", lines[60:])):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / f"{language}.txt").write_text("".join(part), encoding="utf-8")
    return tmp_path


def tokens_of(folder, text):
    return len(tokbench.load(folder).encode(text))


@pytest.mark.slow
def test_merges_equal_the_reference(train, parallel):
    from support.kernels import counted_by_definition

    data = train(
        "text", "--parity", "dev", "--vocab-size", "500", "--parity-global-merges", "40", "--out", "t"
    )
    texts = [
        counted_by_definition([(parallel / "text" / f"{name}.txt").read_text("utf-8")]) for name in LANGUAGES
    ]
    held = [
        counted_by_definition([(parallel / "dev" / f"{name}.txt").read_text("utf-8")]) for name in LANGUAGES
    ]
    rules = ParityRules(global_merges=40, divisors=(1, 1, 1))
    expected = train_for_parity(texts, held, num_merges=500 - NUM_BYTES, rules=rules)
    assert tokbench.load(parallel / "t").merges == tuple(merge for merge, _ in expected)
    record = json.loads((parallel / "t" / "tokbench.json").read_text("utf-8"))["config"]["parity"]
    assert [language["merges"] for language in record["languages"].values()] == [
        sum(language == number for _, language in expected) for number in range(3)
    ]
    assert record["global_merges"] == 40
    assert data["tokens"] == sum(
        tokens_of(parallel / "t", (parallel / "text" / f"{name}.txt").read_text("utf-8"))
        for name in LANGUAGES
    )


def test_parity_reduces_the_differences_between_languages(train, parallel):
    def spread(*options):
        folder = train("text", "--vocab-size", "800", "--out", "t", "--force", *options)["directory"]
        tokens = [
            tokens_of(parallel / folder, (parallel / "dev" / f"{name}.txt").read_text("utf-8"))
            for name in LANGUAGES
        ]
        return max(tokens) / min(tokens)

    plain, parity = spread(), spread("--parity", "dev")
    assert plain > 1.15
    assert parity < 1.02


def test_window_limits_the_merges_of_one_language(train, parallel):
    train("text", "--parity", "dev", "--vocab-size", "300", "--out", "free")
    turns = ("--parity-window", "10", "--parity-alpha", "1")
    train("text", "--parity", "dev", "--vocab-size", "300", "--out", "even", *turns)

    def merges(name):
        config = json.loads((parallel / name / "tokbench.json").read_text("utf-8"))["config"]
        return [language["merges"] for language in config["parity"]["languages"].values()]

    assert min(merges("free")) == 0
    assert min(merges("even")) >= 12


@pytest.mark.parametrize("rule", ["tokens-per-byte", "tokens-per-character"])
def test_unaligned_texts_are_compared_by_their_length(train, parallel, rule):
    (parallel / "dev" / "en.txt").write_text("Another text.\nOf another length.\n", encoding="utf-8")
    data = train("text", "--parity", "dev", "--vocab-size", "400", "--parity-rule", rule)
    assert f"times the {rule.replace('-', ' ')} of" in data["notes"][0]
    assert data["notes"][0].startswith("3 languages: ")


def test_languages_that_are_not_compared_are_reported(train, parallel):
    (parallel / "text" / "code.txt").write_text("x = 1\n" * 50, encoding="utf-8")
    (parallel / "dev" / "xx.txt").write_text("\n".join(["a line"] * 40), encoding="utf-8")
    (parallel / "dev" / "SOURCE.txt").write_text("From somewhere.\n", encoding="utf-8")
    data = train("text", "--parity", "dev", "--vocab-size", "300", "--out", "t")
    assert data["notes"][1:] == [
        "development text without training text: xx",
        "development text with a different number of lines: SOURCE",
        "without development text, not used: code",
    ]
    data = train(
        "text", "--parity", "dev", "--vocab-size", "300", "--parity-global-merges", "9", "--out", "u"
    )
    assert data["notes"][-1] == "without development text, used by global merges only: code"


def test_language_of_records_is_read_from_a_field(train, parallel):
    records = [
        json.dumps({"text": line, "lang": name})
        for name in LANGUAGES
        for line in (parallel / "text" / f"{name}.txt").read_text("utf-8").splitlines()
    ]
    (parallel / "records.jsonl").write_text("\n".join(records), encoding="utf-8")
    by_field = train("records.jsonl", "--parity", "dev", "--group-by", "field:lang", "--vocab-size", "300")
    assert by_field["notes"][0].startswith("3 languages: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["text", "--parity", "nowhere"], "nowhere does not exist"),
        (["text", "--parity", "dev/am.txt"], "has text of one language only: am"),
        (["text/am.txt", "--parity", "dev"], "fewer than two languages are in both"),
        (["text", "--parity", "uneven"], "no two languages of uneven have the same number of lines"),
        (["text", "--parity", "dev", "--parity-alpha", "0.5"], "parity_alpha is 0.5"),
        (["text", "--parity", "dev", "--parity-rule", "gini"], "unknown parity_rule 'gini'"),
        (["text", "--parity", "dev", "--parity-window", "-1"], "parity_window is -1"),
        (
            ["text", "--parity", "dev", "--vocab-size", "300", "--parity-global-merges", "45"],
            "parity_global_merges is 45, but the vocabulary has only 44 merges",
        ),
        (["text", "--parity", "dev", "--memory", "1GB"], "which counted words do not record"),
        (["text", "--parity-window", "9"], "--parity-… and --group-by need --parity"),
        (["text", "--group-by", "path"], "--parity-… and --group-by need --parity"),
        (["text", "--option", "parity_window=9"], "need parity"),
        (["text", "--parity", "dev", "--backend", "unigram"], "parity"),
    ],
)
def test_invalid_options_are_refused(run, parallel, arguments, said):
    (parallel / "uneven").mkdir()
    for number, language in enumerate(LANGUAGES):
        (parallel / "uneven" / f"{language}.txt").write_text("line\n" * (number + 1), encoding="utf-8")
    done = run("train", *arguments, "--out", "t")
    assert done.code in {1, 2}
    assert said in " ".join(done.stderr.split())
    assert not (parallel / "t").exists()


def test_texts_without_groups_are_refused(parallel):
    with pytest.raises(ConfigError, match="these have no groups"):
        tokbench.train(["a text"], parity=str(parallel / "dev"))


def test_train_function_gives_the_same_as_the_command(train, parallel):
    train("text", "--parity", "dev", "--vocab-size", "300", "--out", "t")
    corpus = tokbench.open_corpus(parallel / "text", group_by="path")
    tokenizer = tokbench.train(corpus, parity=str(parallel / "dev"), vocab_size=300)
    assert tokenizer.merges == tokbench.load(parallel / "t").merges


def test_counted_words_are_refused_before_counting(parallel):
    from tokbench.backends.bpe import BpeBackend
    from tokbench.backends.bpe.config import BpeConfig

    with pytest.raises(ConfigError, match="counted words do not record their languages"):
        BpeBackend().word_counting(BpeConfig(parity=str(parallel / "dev")))


def test_both_kernels_write_the_same_files(train, parallel, monkeypatch, kernel):
    train("text", "--parity", "dev", "--vocab-size", "320", "--out", "as-is")
    monkeypatch.setenv("TOKBENCH_KERNEL", kernel.name)
    train("text", "--parity", "dev", "--vocab-size", "320", "--out", "chosen", "--threads", "2")
    read = [(parallel / name / "merges.npy").read_bytes() for name in ("as-is", "chosen")]
    assert read[0] == read[1]


@pytest.mark.parametrize("merges", [0, 5])
def test_too_many_words_to_merge_are_refused(parallel, monkeypatch, merges):
    """The words are those of one language, or of all languages if some merges are learned from all together."""
    corpus = tokbench.open_corpus(parallel / "text", group_by="path")

    def learn(most):
        monkeypatch.setattr(training, "merger_room", lambda step: merger_room(most, step=step))
        return tokbench.train(
            corpus, vocab_size=300, parity=str(parallel / "dev"), parity_global_merges=merges
        )

    with pytest.raises(TrainingError, match="times what can be merged at once") as error:
        learn(1_000)
    assert error.value.hint == "train on less text"
    learn(1 << 31)
