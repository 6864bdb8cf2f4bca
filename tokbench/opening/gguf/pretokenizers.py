r"""The pre-tokenizers named in GGUF files: how llama.cpp splits text for each value of `tokenizer.ggml.pre`.

In llama.cpp a name selects a `LLAMA_VOCAB_PRE_TYPE_*`, for which the constructor of `llm_tokenizer_bpe`
(llama-vocab.cpp) lists regular expressions, `regex_exprs`; `unicode_regex_split` (unicode.cpp) applies them in order,
each to the parts left by the previous ones. Every match is a part, and so is every gap between matches; the final parts
are the pre-tokens. The expressions here split as that function does, which differs from the expressions as they are
written: categories of letters are all \p{L} to it, and white space beyond ASCII is in no range of characters. Some
names have functions of their own instead. Where that splits some texts other than the model's own tokenizer, as for
gpt-4o, tekken and kimi-k2, the difference is noted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_ENDINGS = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_PUNCTUATION = r"[\p{P}\$\+<=>\^~\|`]+"
_THREE_DIGITS = "[0-9][0-9][0-9]"
_DEEPSEEK_WORDS = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
_THREE_DIGITS_FROM_THE_RIGHT = r"\P{N}*\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"
_CASE = "letters other than a-z and A-Z have no case"
_MARKS_AND_CASE = f"combining marks, as in Hindi, are no letters, and {_CASE}"
_ANY_CASE = "no pre-token begins at a capital"
_MARKS_AND_ANY_CASE = f"combining marks, as in Hindi, are no letters, and {_ANY_CASE}"
_WHITE_SPACE = "white space beyond ASCII joins no other characters"
_WORDS_BETWEEN_SIGNS = r" ?[^(\s|.,!?…。，、।۔،)]+"


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """How a text is split into pre-tokens.

    Attributes:
        expressions: the regular expressions, applied in order.
        whole_tokens_first: whether a pre-token found in the vocabulary becomes that token without merging.
        differs: where llama.cpp splits a text other than the model's own tokenizer; empty if nowhere known.
    """

    expressions: tuple[str, ...]
    whole_tokens_first: bool = False
    differs: str = ""


def pre_tokenizer_named(name: str) -> PreTokenizer | None:
    r"""Return the pre-tokenizer with this name, or None if it is not known here.

    >>> pre_tokenizer_named("starcoder").expressions[0] == r"\p{N}"
    True
    >>> pre_tokenizer_named("llama-bpe").whole_tokens_first
    True
    """
    for names, found in _named():
        if name in names:
            return found
    return None


def known_names() -> list[str]:
    """Return all known names, sorted."""
    return sorted({name for names, _ in _named() for name in names})


@cache
def _named() -> tuple[tuple[frozenset[str], PreTokenizer], ...]:
    """Return sets of names with the pre-tokenizer that they stand for."""

    def named(
        names: str, *expressions: str, whole: bool = False, differs: str = ""
    ) -> tuple[frozenset[str], PreTokenizer]:
        return frozenset(names.split()), PreTokenizer(expressions, whole_tokens_first=whole, differs=differs)

    return (
        named(
            "gpt-2 phi-2 olmo mpt jais roberta-bpe jina-es jina-de jina-v1-en jina-v2-code jina-v2-es jina-v2-de "
            "gigachat a.x-4.0 mellum modern-bert exaone4 trillion granite-docling",
            _GPT2,
        ),
        named(
            "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
            r"\p{N}",
            _GPT2,
        ),
        named("falcon", _PUNCTUATION, _GPT2, _THREE_DIGITS),
        named("default", _PUNCTUATION.replace("`", ""), _GPT2, r"\p{N}+", _THREE_DIGITS),
        named(
            "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano glm4 glm5",
            _llama3(r"\p{N}{1,3}"),
            whole=True,
        ),
        named("gpt-4o llama4 kanana2 talkie minimax-m2", _gpt4o(), differs=_MARKS_AND_CASE),
        named(
            "granite-embed-multi-97m",
            _gpt4o(letters=r"\p{L}\p{M}"),
            whole=True,
            differs=_CASE,
        ),
        named("tekken", _gpt4o(digits=r"\p{N}", contractions=""), whole=True, differs=_MARKS_AND_CASE),
        named(
            "tiny_aya cohere2moe",
            _THREE_DIGITS_FROM_THE_RIGHT,
            _caseless(r"[\p{L}\p{M}]"),
            differs=_ANY_CASE,
        ),
        named(
            "kimi-k2",
            f"[{_ranges(_HAN)}]+|" + _caseless(rf"[\p{{L}}&&[^{_ranges(_HAN)}]]", after_signs=r"[\r\n]*"),
            differs=_MARKS_AND_ANY_CASE,
        ),
        named(
            "youtu",
            f"[{_ranges('AC00-D7A3 3131-318E')}]+"
            f"|[{_ranges('FF01 2026 201C 201D 2018 2019 2014 FF1A FF1B FF0C 3001-303F FE30-FE4F')}]+"
            f"|[{_ranges('3105-312F')}]+|[{_ranges('4E00-9FA5 3040-309F 30A0-30FF')}]+",
            _caseless(r"[\p{L}\p{M}]", digits=r"\p{N}"),
            whole=True,
            differs=_ANY_CASE,
        ),
        named("superbpe", r"\p{N}+", r"(?=(\d{3})+(?!\d))"),
        named("dbrx smaug-bpe chatglm-bpe", _llama3(r"\p{N}{1,3}")),
        named("jais-2", _llama3(r"\p{N}{1,3}", spaces=_halved_spaces())),
        named("laguna", r"[^\n]+|[\n]+", _llama3(r"\p{N}")),
        named(
            "exaone-moe",
            rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}"
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",
        ),
        named(
            "chameleon",
            "<sentinel:[0-9]+>",
            "IMGIMG[A-I]{1,4}Z",
            r"[\t\n]|    |  ",
            r"\p{N}",
            r"[\p{P}!-/:-@\[-`{-~]",
            _GPT2,
        ),
        named(
            "qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 hunyuan solar-open megrez grok-2",
            _llama3(r"\p{N}"),
        ),
        named(
            "qwen35",
            rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
            rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_SPACES}",
        ),
        named("ufakzeka", _llama3(r"\p{N}").removeprefix(f"{_CONTRACTIONS}|")),
        named("minicpm5", r"\p{N}{1,3}", _llama3(r"\p{N}+"), whole=True),
        named(
            "seed-coder",
            rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_SPACES}",
        ),
        named(
            "bailingmoe bailingmoe2 llada-moe",
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        ),
        named("bloom poro-chat gpt3-finnish", _WORDS_BETWEEN_SIGNS),
        named("viking", _WORDS_BETWEEN_SIGNS, r"\p{N}"),
        named(
            "deepseek-llm",
            r"[\r\n]",
            rf"\s?[{_ranges(_CASED)}]+",
            rf"\s?[{_ranges(_SIGNS)}]+",
            r"\s+$",
            f"[{_ranges(_EAST_ASIAN)}]+",
            r"\p{N}+",
            differs=_WHITE_SPACE,
        ),
        named(
            "deepseek-coder",
            r"[\r\n]",
            r"\s?\p{L}+",
            r"\s?\p{P}+",
            f"[{_ranges(_EAST_ASIAN)}]+",
            r"\p{N}",
            differs=_WHITE_SPACE,
        ),
        named(
            "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
            r"\p{N}{1,3}",
            f"[{_ranges('4E00-9FA5 3040-309F 30A0-30FF')}]+",
            rf"{_DEEPSEEK_WORDS}| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACES}",
        ),
        named(
            "spark2_5",
            r"\p{N}{1,3}",
            f"[{_ranges('4E00-9FA5 3040-309F 30A0-30FF')}]+",
            rf"{_DEEPSEEK_WORDS}| ?[\p{{P}}\p{{S}}]+|[\r\n]|\s+(?!\S)|\s+",
            r"\p{N}",
        ),
        named(
            "afmoe",
            _THREE_DIGITS_FROM_THE_RIGHT,
            f"[{_ranges(_ASIAN)}]+",
            rf"{_DEEPSEEK_WORDS}| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACES}",
            differs="characters from U+8C48 to U+FAFF count as Chinese",
        ),
    )


def _llama3(digits: str, *, spaces: str = _SPACES) -> str:
    return rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{spaces}"


def _gpt4o(
    *, digits: str = r"\p{N}{1,3}", contractions: str = f"{_ENDINGS}?", letters: str = r"\p{L}"
) -> str:
    """Return llama.cpp's form of GPT-4o's pattern: letters other than a-z and A-Z are of both cases."""
    upper, lower = f"[{letters}&&[^a-z]]", f"[{letters}&&[^A-Z]]"
    words = (
        rf"[^\r\n\p{{L}}\p{{N}}]?{word}{contractions}" for word in (f"{upper}*{lower}+", f"{upper}+{lower}*")
    )
    return "|".join([*words, digits, r" ?[^\s\p{L}\p{N}]+[\r\n/]*", _SPACES])


def _caseless(letters: str, *, digits: str = r"\p{N}{1,3}", after_signs: str = r"[\r\n/]*") -> str:
    """Return GPT-4o's pattern for a llama.cpp that does not tell upper from lower case."""
    word = rf"[^\r\n\p{{L}}\p{{N}}]?{letters}+{_ENDINGS}?"
    return "|".join([word, digits, rf" ?[^\s\p{{L}}\p{{N}}]+{after_signs}", _SPACES])


def _halved_spaces() -> str:
    """Return a pattern for runs of white space whose lengths are powers of two, the longest first."""
    powers = "|".join(rf"\s{{{1 << power}}}(?!\S)" for power in range(9, 1, -1))
    return rf"\s*[\r\n]+|{powers}|\s{{1,2}}(?!\S)|\s{{1}}"


def _ranges(listed: str) -> str:
    """Return the inside of a character class for ranges of code points in hexadecimal."""
    ends = (range_ends.split("-") for range_ends in listed.split())
    return "".join("-".join(rf"\x{{{int(end, 16):04X}}}" for end in range_ends) for range_ends in ends)


_EAST_ASIAN = "0800-167F 1681-1FFF 200B-2027 202A-202E 2030-205E 2060-2FFF 3001-9FA5 AC00-D7FF"
_HAN = "4E00-9FFF 3400-4DBF 20000-2A6DF 2A700-2B73F 2B740-2B81F 2B820-2CEAF 2CEB0-2EBEF F900-FAFF 2F800-2FA1F"
"""The characters that llama.cpp's function for Kimi K2 treats as Chinese."""
_ASIAN = (
    "4E00-9FFF 3400-4DBF 8C48-FAFF 3040-309F 30A0-30FF FF65-FF9F 2F00-2FDF 0E40-0E7F 0E80-0EFF 1780-17FF "
    "1000-109F AA60-AA7F A9E0-A9FF AC00-D7AF 1100-11FF"
)
_SIGNS = "21-2F 3A-7E 2018-201F 3001-3002 FF01-FF0F FF1A-FF5E"
_CASED = (
    "41-5A 61-7A B5 C0-D6 D8-F6 F8-1BA 1BC-1BF 1C4-293 295-2AF 370-373 376 377 37B-37D 37F 386 388-38A "
    "38C 38E-3A1 3A3-3F5 3F7-481 48A-52F 531-556 10A0-10C5 13A0-13F5 13F8-13FD 1C90-1CBA 1CBD-1CBF "
    "1D00-1D2B 1D6B-1D77 1D79-1D9A 1E00-1F15 1F18-1F1D 1F20-1F45 1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D "
    "1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE 1FC2-1FC4 1FC6-1FCC 1FD0-1FD3 1FD6-1FDB 1FE0-1FEC 1FF2-1FF4 "
    "1FF6-1FFC 2102 2107 210A-2113 2115 2119-211D 2124 2126 2128 212A-212D 212F-2134 2139 213C-213F "
    "2145-2149 214E 2183 2184 2C00-2C7B 2C7E-2CE4 2CEB-2CEE 2CF2 2CF3 A640-A66D A680-A69B A722-A76F "
    "A771-A787 A78B-A78E AB70-ABBF FB00-FB06 FB13-FB17 FF21-FF3A FF41-FF5A 10400-1044F 104B0-104D3 "
    "104D8-104FB 10C80-10CB2 10CC0-10CF2 118A0-118DF 1E900-1E943 "
)
"""The characters that DeepSeek LLM treats as cased letters: those of some version of Unicode, with gaps."""
