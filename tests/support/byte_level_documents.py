"""A `tokenizer.json` of the 256 bytes and a few merges; the pre-tokenizers of well-known models, normalizers, texts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from support.huggingface import document, dump
from support.texts import texts
from tokbench.formats.tokenizer_json import to_byte_level

BYTES = [to_byte_level(bytes([byte])) for byte in range(256)]
MERGES = [
    *[("t", "h"), ("th", "e"), ("Ġ", "the"), ("a", "b"), ("ab", "c"), ("1", "2"), ("Ġ", "Ġ"), ("ĠĠ", "Ġ")],
    *[("<", "s"), ("<s", ">"), ("Ã", "©"), ("l", "o"), ("lo", "w"), ("Ġ", "low"), ("Ċ", "Ċ"), ("'", "s")],
    *[("ä", "º"), ("!", "!"), ("a", "Ġ")],
]
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
ONLY_BYTES = BYTE_LEVEL | {"use_regex": False}


def split(pattern: str, behavior: str = "Isolated", *, invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(steps)}


DIGITS = {"type": "Digits", "individual_digits": True}
RUNS_OF_DIGITS = {"type": "Digits", "individual_digits": False}
LLAMA3 = "|".join(
    [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ]
)
SPLITTING = {
    "starcoder": sequence(DIGITS, BYTE_LEVEL),
    "falcon": sequence(
        {"type": "Punctuation", "behavior": "Contiguous"},
        BYTE_LEVEL,
        RUNS_OF_DIGITS,
        split("[0-9][0-9][0-9]"),
    ),
    "deepseek-v3": sequence(
        split(r"\p{N}{1,3}"),
        split("[一-龥぀-ゟ゠-ヿ]+"),
        split(
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
            "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
        ),
        ONLY_BYTES,
    ),
    "deepseek-coder": sequence(
        split("[\r\n]"),
        split(r"\s?\p{L}+"),
        split(r"\s?\p{P}+"),
        split("[一-龥ࠀ-一가-퟿]+"),
        DIGITS,
        ONLY_BYTES,
    ),
    "bloom": sequence(split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), ONLY_BYTES),
    "tekken": sequence(
        split(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
            r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        ONLY_BYTES,
    ),
    "brackets": sequence(
        split(
            r"[[:alpha:]'_-]+|[[:digit:][:punct:]]|[[:blank:]]|[^[:^space:]a]|[[:cntrl:]]|[[:upper:][:lower:]]"
            "|[[:xdigit:]&&[:alnum:]]|[[:word:]]"
        ),
        ONLY_BYTES,
    ),
    "kimi": sequence(
        split(
            r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lo}\p{M}&&[^\p{Han}]]+"
            r"|\p{L}|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        ONLY_BYTES,
    ),
    "clip": sequence(
        split(
            r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
            "Removed",
            invert=True,
        ),
        BYTE_LEVEL,
    ),
    "words and digits": sequence(split(LLAMA3), DIGITS, ONLY_BYTES),
    "optional group": sequence(
        split(r"\p{Lu}?(?i:'s|th)?\p{Ll}+|(?:ab|a)(?=b)|\d{2,}|[^\w\s]++"), ONLY_BYTES
    ),
    "optional end": sequence(split(r"a(?:bc|1)?|\d(?:$|,)|low(?:er)?"), ONLY_BYTES),
    "lazy": sequence(split(r"\[(.*?)\]|\p{L}+?b|.{1,3}?\d|\s*?\S|[^\]]+?\]| {2,}?x|a??b|\w+?"), ONLY_BYTES),
    "same character": sequence(
        split(r"[\(\)\[\]]|([!\"#%&'*+,\-./:;<=>?\\^_`|~])\1*|((?:a))\2b|([x1é])\3+"), DIGITS, BYTE_LEVEL
    ),
    "same character at most": sequence(split(r"([ .a])\1?|([b\n])\2{1,2}|(1)\3*?2|([!x])\4*+x"), ONLY_BYTES),
    "line ends": sequence(split(r"\s+$|[ \n]+\p{L}$|\p{L}+(?=$)"), ONLY_BYTES),
    "joined before": sequence(split(r"\s", "MergedWithPrevious"), ONLY_BYTES),
    "joined after": sequence(split(r"[\s.]", "MergedWithNext"), BYTE_LEVEL),
    "joined together": sequence(split("[a-c]", "Contiguous"), ONLY_BYTES),
    "inverted": sequence(split(r"\p{L}+", "MergedWithNext", invert=True), ONLY_BYTES),
    "fixed text": sequence(
        {"type": "Split", "pattern": {"String": "the"}, "behavior": "Isolated", "invert": False}, BYTE_LEVEL
    ),
    "white space": sequence({"type": "Whitespace"}, ONLY_BYTES),
    "between spaces": sequence({"type": "WhitespaceSplit"}, BYTE_LEVEL),
    "between commas": sequence({"type": "CharDelimiterSplit", "delimiter": ","}, BYTE_LEVEL),
    "spaces put before": BYTE_LEVEL | {"add_prefix_space": True},
    "spaces put before digits": sequence(DIGITS, BYTE_LEVEL | {"add_prefix_space": True}),
    "bytes": ONLY_BYTES | {"add_prefix_space": True},
}
"""The pre-tokenizers of well-known models, and others that try each kind of step."""


def with_parts(splitting: dict[str, Any] | None, normalizer: dict[str, Any] | None, **model: Any) -> bytes:
    vocab = {piece: id for id, piece in enumerate(dict.fromkeys([*BYTES, *map("".join, MERGES)]))}
    fields = {"type": "BPE", "vocab": vocab, "merges": [list(pair) for pair in MERGES], **model}
    return dump(document(fields, pre_tokenizer=splitting, normalizer=normalizer, decoder=BYTE_LEVEL))


def normalizers(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(steps)}


NORMALIZERS: list[dict[str, Any] | None] = [
    None,
    {"type": "NFC"},
    {"type": "NFKC"},
    {"type": "Lowercase"},
    normalizers({"type": "NFKD"}, {"type": "StripAccents"}),
    normalizers(
        {"type": "NFC"},
        {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
        {"type": "Lowercase"},
    ),
    normalizers({"type": "Replace", "pattern": {"String": "a"}, "content": "bb"}, {"type": "NFD"}),
    normalizers(
        {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "Prepend", "prepend": "the "}
    ),
    normalizers(
        {"type": "Replace", "pattern": {"Regex": r"\A +| +\z"}, "content": ""},
        {"type": "Replace", "pattern": {"Regex": r"\Ath"}, "content": "éx"},
    ),
    normalizers({"type": "NFC"}, {"type": "Lowercase"}),
    normalizers({"type": "NFC"}, {"type": "StripAccents"}, {"type": "Nmt"}),
    {"type": "Replace", "pattern": {"Regex": "[[:space:]]+"}, "content": " "},
    {"type": "Replace", "pattern": {"Regex": "[[:punct:]b]"}, "content": "x"},
    normalizers(
        {"type": "Replace", "pattern": {"Regex": r"[\u00a0-\u00ff]|\s"}, "content": ""},
        {"type": "NFKC"},
        {"type": "Replace", "pattern": {"Regex": "[a-cé]"}, "content": "the "},
        {"type": "Replace", "pattern": {"Regex": "[अe]"}, "content": "t"},
        {"type": "Replace", "pattern": {"Regex": "x"}, "content": "अ"},
    ),
]
CLIP_NORMALIZER = NORMALIZERS[5]

TOKENS = [
    "<s>",
    "<S>",
    "<s> ",
    "<mask>",
    "<m",
    "sk>",
    "  ",
    "   ",
    "\n\n",
    "the",
    "é",
    "e\u0301",
    "Σ",
    "x",
    "a b",
    "<s><s>",
]

mixed = st.lists(
    st.sampled_from(
        [*TOKENS, " ", "    ", "\t", "\u3000", "low", "12345", "don'S", "\x00", "q", "字", "_", "ſ", "A"]
    )
    | texts,
    max_size=12,
).map("".join)
