"""The Unicode script of a text."""

from __future__ import annotations

import re
import string
from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from tokbench.core.wording import meant
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import regex

COMMON = "Common"
"""The script of a text without letters, and of letters that several scripts share."""

SAMPLE_CHARACTERS = 4096
"""The number of characters of a text that are examined."""

# The scripts of Unicode 16; the most common ones come first, because they are tried in this order.
_SCRIPT_NAMES = (
    "Latin Han Cyrillic Arabic Devanagari Hangul Hiragana Katakana Greek Hebrew Thai Bengali Tamil Telugu "
    "Kannada Malayalam Gujarati Gurmukhi Oriya Sinhala Khmer Lao Myanmar Ethiopic Georgian Armenian Tibetan "
    "Mongolian Adlam Ahom Anatolian_Hieroglyphs Avestan Balinese Bamum Bassa_Vah Batak Bhaiksuki Bopomofo "
    "Brahmi Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian "
    "Coptic Cuneiform Cypriot Cypro_Minoan Deseret Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan "
    "Elymaic Garay Glagolitic Gothic Grantha Gunjala_Gondi Gurung_Khema Hanifi_Rohingya Hanunoo Hatran "
    "Imperial_Aramaic Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kawi Kayah_Li Kharoshthi "
    "Khitan_Small_Script Khojki Khudawadi Kirat_Rai Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian "
    "Mahajani Makasar Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui "
    "Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mro Multani Nabataean Nag_Mundari Nandinagari "
    "New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal Old_Hungarian Old_Italic "
    "Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Osage "
    "Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan "
    "Saurashtra Sharada Shavian Siddham SignWriting Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar "
    "Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tangsa Tangut Thaana Tifinagh "
    "Tirhuta Todhri Toto Tulu_Tigalari Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square"
)
SCRIPTS = tuple(_SCRIPT_NAMES.split())

_ASCII_LETTER = re.compile("[A-Za-z]")
_ASCII_LETTERS = string.ascii_letters.encode()


def script_named(name: str, known: Iterable[str] = SCRIPTS) -> str:
    """Return the script that a user names, in any case and with spaces or underscores.

    Args:
        name: the name as the user gave it.
        known: the scripts to choose from.

    Raises:
        ConfigError: no script has this name.

    >>> script_named("old italic")
    'Old_Italic'
    """
    names = {script.lower(): script for script in known}
    match = names.get(name.lower().replace(" ", "_"))
    if match is None:
        hint = meant(
            name, names.values(), otherwise="names are those of Unicode, such as Latin, Cyrillic or Han"
        )
        raise ConfigError(f"there is no script {name!r:.40}", hint=hint)
    return match


def script_of(text: str) -> str:
    r"""Return the Unicode script of most letters among a text's first 4096 characters, as named in `\p{Script=…}`.

    Letters that scripts share (such as the long mark ー of the kana) are not counted. Among scripts with equally many
    letters the alphabetically first one is returned.

    >>> script_of("Москва, 2026"), script_of("東京"), script_of("1 + 1 = 2")
    ('Cyrillic', 'Han', 'Common')
    """
    sample = text[:SAMPLE_CHARACTERS]
    if sample.isascii():
        return "Latin" if _ASCII_LETTER.search(sample) else COMMON
    ascii_only = sample.encode("ascii", "ignore")
    num_letters = len(ascii_only) - len(ascii_only.translate(None, _ASCII_LETTERS))
    if num_letters > len(sample) - len(ascii_only):
        return "Latin"  # no other script can have as many
    letters: Counter[str] = Counter()
    for character, count in Counter(sample).items():
        letters[script_of_letter(character)] += count
    del letters[COMMON]
    return min(letters, key=lambda script: (-letters[script], script), default=COMMON)


@lru_cache(maxsize=1 << 16)
def script_of_letter(character: str) -> str:
    """Return the script of a letter; Common for other characters, and for letters that several scripts share."""
    match = _letter_pattern().match(character)
    return (match and match.lastgroup) or COMMON


@cache
def _letter_pattern() -> regex.Pattern[str]:
    import regex

    scripts = "|".join(rf"(?P<{script}>\p{{Script={script}}})" for script in SCRIPTS)
    return regex.compile(rf"(?=\p{{L}})(?:{scripts})")
