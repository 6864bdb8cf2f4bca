"""The script of each code point in SentencePiece's trainer, which does not learn pieces across scripts.

The scripts are those of Unicode 17, except that hiragana, katakana and the long vowel mark ー count as Han, because
Japanese words mix them.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INHERITED = "Inherited"
"""The script of marks, which take the script of the character before them."""


@cache
def script_runs() -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the first code point of each run of one script, ascending from 0, and the script of each run.

    >>> starts, scripts = script_runs()
    >>> starts[:2], scripts[:2]
    ((0, 65), ('Common', 'Latin'))
    """
    words = _RUNS.split()
    return tuple(int(start, 16) for start in words[::2]), tuple(words[1::2])


def script_arrays() -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return `script_runs` as arrays of numbers, with 0 for `INHERITED`."""
    import numpy as np

    starts, scripts = script_runs()
    numbers = {name: number for number, name in enumerate([INHERITED, *sorted({*scripts} - {INHERITED})])}
    return np.array(starts, dtype=np.uint32), np.array([numbers[name] for name in scripts], dtype=np.uint8)


@lru_cache(maxsize=1 << 16)
def script_of(character: str) -> str:
    """Return the script of a character.

    >>> script_of("a"), script_of("の"), script_of("漢"), script_of("1")
    ('Latin', 'Han', 'Han', 'Common')
    """
    from bisect import bisect

    starts, scripts = script_runs()
    return scripts[bisect(starts, ord(character)) - 1]


_RUNS = """
0 Common 41 Latin 5b Common 61 Latin 7b Common aa Latin ab Common ba Latin bb Common c0 Latin d7 Common d8
Latin f7 Common f8 Latin 2b9 Common 2e0 Latin 2e5 Common 2ea Bopomofo 2ec Common 300 Inherited 370 Greek 374
Common 375 Greek 378 Common 37a Greek 37e Common 37f Greek 380 Common 384 Greek 385 Common 386 Greek 387
Common 388 Greek 38b Common 38c Greek 38d Common 38e Greek 3a2 Common 3a3 Greek 3e2 Coptic 3f0 Greek 400
Cyrillic 485 Inherited 487 Cyrillic 530 Common 531 Armenian 557 Common 558 Armenian 590 Common 591 Hebrew
5ca Common 5d0 Hebrew 5eb Common 5ef Hebrew 5f5 Common 600 Arabic 605 Common 606 Arabic 60c Common 60d
Arabic 61b Common 61c Arabic 61f Common 620 Arabic 640 Common 641 Arabic 64b Inherited 656 Arabic 670
Inherited 671 Arabic 6dd Common 6de Arabic 700 Syriac 70e Common 70f Syriac 74b Common 74d Syriac 750 Arabic
780 Thaana 7b2 Common 7c0 Nko 7fb Common 7fd Nko 800 Samaritan 82e Common 830 Samaritan 83f Common 840
Mandaic 85c Common 85e Mandaic 85f Common 860 Syriac 86b Common 870 Arabic 892 Common 897 Arabic 8e2 Common
8e3 Arabic 900 Devanagari 951 Inherited 955 Devanagari 964 Common 966 Devanagari 980 Bengali 984 Common 985
Bengali 98d Common 98f Bengali 991 Common 993 Bengali 9a9 Common 9aa Bengali 9b1 Common 9b2 Bengali 9b3
Common 9b6 Bengali 9ba Common 9bc Bengali 9c5 Common 9c7 Bengali 9c9 Common 9cb Bengali 9cf Common 9d7
Bengali 9d8 Common 9dc Bengali 9de Common 9df Bengali 9e4 Common 9e6 Bengali 9ff Common a01 Gurmukhi a04
Common a05 Gurmukhi a0b Common a0f Gurmukhi a11 Common a13 Gurmukhi a29 Common a2a Gurmukhi a31 Common a32
Gurmukhi a34 Common a35 Gurmukhi a37 Common a38 Gurmukhi a3a Common a3c Gurmukhi a3d Common a3e Gurmukhi a43
Common a47 Gurmukhi a49 Common a4b Gurmukhi a4e Common a51 Gurmukhi a52 Common a59 Gurmukhi a5d Common a5e
Gurmukhi a5f Common a66 Gurmukhi a77 Common a81 Gujarati a84 Common a85 Gujarati a8e Common a8f Gujarati a92
Common a93 Gujarati aa9 Common aaa Gujarati ab1 Common ab2 Gujarati ab4 Common ab5 Gujarati aba Common abc
Gujarati ac6 Common ac7 Gujarati aca Common acb Gujarati ace Common ad0 Gujarati ad1 Common ae0 Gujarati ae4
Common ae6 Gujarati af2 Common af9 Gujarati b00 Common b01 Oriya b04 Common b05 Oriya b0d Common b0f Oriya
b11 Common b13 Oriya b29 Common b2a Oriya b31 Common b32 Oriya b34 Common b35 Oriya b3a Common b3c Oriya b45
Common b47 Oriya b49 Common b4b Oriya b4e Common b53 Oriya b58 Common b5c Oriya b5e Common b5f Oriya b64
Common b66 Oriya b78 Common b82 Tamil b84 Common b85 Tamil b8b Common b8e Tamil b91 Common b92 Tamil b96
Common b99 Tamil b9b Common b9c Tamil b9d Common b9e Tamil ba0 Common ba3 Tamil ba5 Common ba8 Tamil bab
Common bae Tamil bba Common bbe Tamil bc3 Common bc6 Tamil bc9 Common bca Tamil bce Common bd0 Tamil bd1
Common bd7 Tamil bd8 Common be6 Tamil bfb Common c00 Telugu c0d Common c0e Telugu c11 Common c12 Telugu c29
Common c2a Telugu c3a Common c3c Telugu c45 Common c46 Telugu c49 Common c4a Telugu c4e Common c55 Telugu
c57 Common c58 Telugu c5b Common c5c Telugu c5e Common c60 Telugu c64 Common c66 Telugu c70 Common c77
Telugu c80 Kannada c8d Common c8e Kannada c91 Common c92 Kannada ca9 Common caa Kannada cb4 Common cb5
Kannada cba Common cbc Kannada cc5 Common cc6 Kannada cc9 Common cca Kannada cce Common cd5 Kannada cd7
Common cdc Kannada cdf Common ce0 Kannada ce4 Common ce6 Kannada cf0 Common cf1 Kannada cf4 Common d00
Malayalam d0d Common d0e Malayalam d11 Common d12 Malayalam d45 Common d46 Malayalam d49 Common d4a
Malayalam d50 Common d54 Malayalam d64 Common d66 Malayalam d80 Common d81 Sinhala d84 Common d85 Sinhala
d97 Common d9a Sinhala db2 Common db3 Sinhala dbc Common dbd Sinhala dbe Common dc0 Sinhala dc7 Common dca
Sinhala dcb Common dcf Sinhala dd5 Common dd6 Sinhala dd7 Common dd8 Sinhala de0 Common de6 Sinhala df0
Common df2 Sinhala df5 Common e01 Thai e3b Common e40 Thai e5c Common e81 Lao e83 Common e84 Lao e85 Common
e86 Lao e8b Common e8c Lao ea4 Common ea5 Lao ea6 Common ea7 Lao ebe Common ec0 Lao ec5 Common ec6 Lao ec7
Common ec8 Lao ecf Common ed0 Lao eda Common edc Lao ee0 Common f00 Tibetan f48 Common f49 Tibetan f6d
Common f71 Tibetan f98 Common f99 Tibetan fbd Common fbe Tibetan fcd Common fce Tibetan fd5 Common fd9
Tibetan fdb Common 1000 Myanmar 10a0 Georgian 10c6 Common 10c7 Georgian 10c8 Common 10cd Georgian 10ce
Common 10d0 Georgian 10fb Common 10fc Georgian 1100 Hangul 1200 Ethiopic 1249 Common 124a Ethiopic 124e
Common 1250 Ethiopic 1257 Common 1258 Ethiopic 1259 Common 125a Ethiopic 125e Common 1260 Ethiopic 1289
Common 128a Ethiopic 128e Common 1290 Ethiopic 12b1 Common 12b2 Ethiopic 12b6 Common 12b8 Ethiopic 12bf
Common 12c0 Ethiopic 12c1 Common 12c2 Ethiopic 12c6 Common 12c8 Ethiopic 12d7 Common 12d8 Ethiopic 1311
Common 1312 Ethiopic 1316 Common 1318 Ethiopic 135b Common 135d Ethiopic 137d Common 1380 Ethiopic 139a
Common 13a0 Cherokee 13f6 Common 13f8 Cherokee 13fe Common 1400 Canadian_Aboriginal 1680 Ogham 169d Common
16a0 Runic 16eb Common 16ee Runic 16f9 Common 1700 Tagalog 1716 Common 171f Tagalog 1720 Hanunoo 1735 Common
1740 Buhid 1754 Common 1760 Tagbanwa 176d Common 176e Tagbanwa 1771 Common 1772 Tagbanwa 1774 Common 1780
Khmer 17de Common 17e0 Khmer 17ea Common 17f0 Khmer 17fa Common 1800 Mongolian 1802 Common 1804 Mongolian
1805 Common 1806 Mongolian 181a Common 1820 Mongolian 1879 Common 1880 Mongolian 18ab Common 18b0
Canadian_Aboriginal 18f6 Common 1900 Limbu 191f Common 1920 Limbu 192c Common 1930 Limbu 193c Common 1940
Limbu 1941 Common 1944 Limbu 1950 Tai_Le 196e Common 1970 Tai_Le 1975 Common 1980 New_Tai_Lue 19ac Common
19b0 New_Tai_Lue 19ca Common 19d0 New_Tai_Lue 19db Common 19de New_Tai_Lue 19e0 Khmer 1a00 Buginese 1a1c
Common 1a1e Buginese 1a20 Tai_Tham 1a5f Common 1a60 Tai_Tham 1a7d Common 1a7f Tai_Tham 1a8a Common 1a90
Tai_Tham 1a9a Common 1aa0 Tai_Tham 1aae Common 1ab0 Inherited 1af1 Common 1b00 Balinese 1b4d Common 1b4e
Balinese 1b80 Sundanese 1bc0 Batak 1bf4 Common 1bfc Batak 1c00 Lepcha 1c38 Common 1c3b Lepcha 1c4a Common
1c4d Lepcha 1c50 Ol_Chiki 1c80 Cyrillic 1c8b Common 1c90 Georgian 1cbb Common 1cbd Georgian 1cc0 Sundanese
1cc8 Common 1cd0 Inherited 1cd3 Common 1cd4 Inherited 1ce1 Common 1ce2 Inherited 1ce9 Common 1ced Inherited
1cee Common 1cf4 Inherited 1cf5 Common 1cf8 Inherited 1cfa Common 1d00 Latin 1d26 Greek 1d2b Cyrillic 1d2c
Latin 1d5d Greek 1d62 Latin 1d66 Greek 1d6b Latin 1d78 Cyrillic 1d79 Latin 1dbf Greek 1dc0 Inherited 1e00
Latin 1f00 Greek 1f16 Common 1f18 Greek 1f1e Common 1f20 Greek 1f46 Common 1f48 Greek 1f4e Common 1f50 Greek
1f58 Common 1f59 Greek 1f5a Common 1f5b Greek 1f5c Common 1f5d Greek 1f5e Common 1f5f Greek 1f7e Common 1f80
Greek 1fb5 Common 1fb6 Greek 1fc5 Common 1fc6 Greek 1fd4 Common 1fd6 Greek 1fdc Common 1fdd Greek 1ff0
Common 1ff2 Greek 1ff5 Common 1ff6 Greek 1fff Common 200c Inherited 200e Common 2071 Latin 2072 Common 207f
Latin 2080 Common 2090 Latin 20a0 Common 20d0 Inherited 20f1 Common 2126 Greek 2127 Common 212a Latin 212c
Common 2132 Latin 2133 Common 214e Latin 214f Common 2160 Latin 2189 Common 2c00 Glagolitic 2c60 Latin 2c80
Coptic 2cf4 Common 2cf9 Coptic 2d00 Georgian 2d26 Common 2d27 Georgian 2d28 Common 2d2d Georgian 2d2e Common
2d30 Tifinagh 2d68 Common 2d6f Tifinagh 2d71 Common 2d7f Tifinagh 2d80 Ethiopic 2d97 Common 2da0 Ethiopic
2da7 Common 2da8 Ethiopic 2daf Common 2db0 Ethiopic 2db7 Common 2db8 Ethiopic 2dbf Common 2dc0 Ethiopic 2dc7
Common 2dc8 Ethiopic 2dcf Common 2dd0 Ethiopic 2dd7 Common 2dd8 Ethiopic 2ddf Common 2de0 Cyrillic 2e00
Common 2e80 Han 2e9a Common 2e9b Han 2ef4 Common 2f00 Han 2fd6 Common 3005 Han 3006 Common 3007 Han 3008
Common 3021 Han 302a Inherited 302e Hangul 3030 Common 3038 Han 303c Common 3041 Han 3097 Common 3099
Inherited 309b Common 309d Han 30a0 Common 30a1 Han 30fb Common 30fc Han 3100 Common 3105 Bopomofo 3130
Common 3131 Hangul 318f Common 31a0 Bopomofo 31c0 Common 31f0 Han 3200 Hangul 321f Common 3260 Hangul 327f
Common 32d0 Han 32ff Common 3300 Han 3358 Common 3400 Han 4dc0 Common 4e00 Han a000 Yi a48d Common a490 Yi
a4c7 Common a4d0 Lisu a500 Vai a62c Common a640 Cyrillic a6a0 Bamum a6f8 Common a722 Latin a788 Common a78b
Latin a7de Common a7e2 Latin a7e3 Common a7f1 Latin a800 Syloti_Nagri a82d Common a840 Phags_Pa a878 Common
a880 Saurashtra a8c6 Common a8ce Saurashtra a8da Common a8e0 Devanagari a900 Kayah_Li a92e Common a92f
Kayah_Li a930 Rejang a954 Common a95f Rejang a960 Hangul a97d Common a980 Javanese a9ce Common a9d0 Javanese
a9da Common a9de Javanese a9e0 Myanmar a9ff Common aa00 Cham aa37 Common aa40 Cham aa4e Common aa50 Cham
aa5a Common aa5c Cham aa60 Myanmar aa80 Tai_Viet aac3 Common aadb Tai_Viet aae0 Meetei_Mayek aaf7 Common
ab01 Ethiopic ab07 Common ab09 Ethiopic ab0f Common ab11 Ethiopic ab17 Common ab20 Ethiopic ab27 Common ab28
Ethiopic ab2f Common ab30 Latin ab5b Common ab5c Latin ab65 Greek ab66 Latin ab6a Common ab6c Latin ab6e
Common ab70 Cherokee abc0 Meetei_Mayek abee Common abf0 Meetei_Mayek abfa Common ac00 Hangul d7a4 Common
d7b0 Hangul d7c7 Common d7cb Hangul d7fc Common f900 Han fa6e Common fa70 Han fada Common fb00 Latin fb07
Common fb13 Armenian fb18 Common fb1d Hebrew fb37 Common fb38 Hebrew fb3d Common fb3e Hebrew fb3f Common
fb40 Hebrew fb42 Common fb43 Hebrew fb45 Common fb46 Hebrew fb50 Arabic fd3e Common fd40 Arabic fdd0 Common
fdf0 Arabic fe00 Inherited fe10 Common fe20 Inherited fe2e Cyrillic fe30 Common fe70 Arabic fe75 Common fe76
Arabic fefd Common ff21 Latin ff3b Common ff41 Latin ff5b Common ff66 Han ff70 Common ff71 Han ff9e Common
ffa0 Hangul ffbf Common ffc2 Hangul ffc8 Common ffca Hangul ffd0 Common ffd2 Hangul ffd8 Common ffda Hangul
ffdd Common 10000 Linear_B 1000c Common 1000d Linear_B 10027 Common 10028 Linear_B 1003b Common 1003c
Linear_B 1003e Common 1003f Linear_B 1004e Common 10050 Linear_B 1005e Common 10080 Linear_B 100fb Common
10140 Greek 1018f Common 101a0 Greek 101a1 Common 101fd Inherited 101fe Common 10280 Lycian 1029d Common
102a0 Carian 102d1 Common 102e0 Inherited 102e1 Common 10300 Old_Italic 10324 Common 1032d Old_Italic 10330
Gothic 1034b Common 10350 Old_Permic 1037b Common 10380 Ugaritic 1039e Common 1039f Ugaritic 103a0
Old_Persian 103c4 Common 103c8 Old_Persian 103d6 Common 10400 Deseret 10450 Shavian 10480 Osmanya 1049e
Common 104a0 Osmanya 104aa Common 104b0 Osage 104d4 Common 104d8 Osage 104fc Common 10500 Elbasan 10528
Common 10530 Caucasian_Albanian 10564 Common 1056f Caucasian_Albanian 10570 Vithkuqi 1057b Common 1057c
Vithkuqi 1058b Common 1058c Vithkuqi 10593 Common 10594 Vithkuqi 10596 Common 10597 Vithkuqi 105a2 Common
105a3 Vithkuqi 105b2 Common 105b3 Vithkuqi 105ba Common 105bb Vithkuqi 105bd Common 105c0 Todhri 105f4
Common 10600 Linear_A 10737 Common 10740 Linear_A 10756 Common 10760 Linear_A 10768 Common 10780 Latin 10786
Common 10787 Latin 107b1 Common 107b2 Latin 107c0 Common 10800 Cypriot 10806 Common 10808 Cypriot 10809
Common 1080a Cypriot 10836 Common 10837 Cypriot 10839 Common 1083c Cypriot 1083d Common 1083f Cypriot 10840
Imperial_Aramaic 10856 Common 10857 Imperial_Aramaic 10860 Palmyrene 10880 Nabataean 1089f Common 108a7
Nabataean 108b0 Common 108e0 Hatran 108f3 Common 108f4 Hatran 108f6 Common 108fb Hatran 10900 Phoenician
1091c Common 1091f Phoenician 10920 Lydian 1093a Common 1093f Lydian 10940 Common 10980 Meroitic_Hieroglyphs
109a0 Meroitic_Cursive 109b8 Common 109bc Meroitic_Cursive 109d0 Common 109d2 Meroitic_Cursive 10a00
Kharoshthi 10a04 Common 10a05 Kharoshthi 10a07 Common 10a0c Kharoshthi 10a14 Common 10a15 Kharoshthi 10a18
Common 10a19 Kharoshthi 10a36 Common 10a38 Kharoshthi 10a3b Common 10a3f Kharoshthi 10a49 Common 10a50
Kharoshthi 10a59 Common 10a60 Old_South_Arabian 10a80 Old_North_Arabian 10aa0 Common 10ac0 Manichaean 10ae7
Common 10aeb Manichaean 10af7 Common 10b00 Avestan 10b36 Common 10b39 Avestan 10b40 Inscriptional_Parthian
10b56 Common 10b58 Inscriptional_Parthian 10b60 Inscriptional_Pahlavi 10b73 Common 10b78
Inscriptional_Pahlavi 10b80 Psalter_Pahlavi 10b92 Common 10b99 Psalter_Pahlavi 10b9d Common 10ba9
Psalter_Pahlavi 10bb0 Common 10c00 Old_Turkic 10c49 Common 10c80 Old_Hungarian 10cb3 Common 10cc0
Old_Hungarian 10cf3 Common 10cfa Old_Hungarian 10d00 Hanifi_Rohingya 10d28 Common 10d30 Hanifi_Rohingya
10d3a Common 10d40 Garay 10d66 Common 10d69 Garay 10d86 Common 10d8e Garay 10d90 Common 10e60 Arabic 10e7f
Common 10e80 Yezidi 10eaa Common 10eab Yezidi 10eae Common 10eb0 Yezidi 10eb2 Common 10ec2 Arabic 10ec8
Common 10ec9 Arabic 10eef Common 10ef0 Arabic 10f00 Old_Sogdian 10f28 Common 10f30 Sogdian 10f5a Common
10f70 Old_Uyghur 10f8a Common 10fb0 Chorasmian 10fcc Common 10fe0 Elymaic 10ff7 Common 11000 Brahmi 1104e
Common 11052 Brahmi 11076 Common 1107f Brahmi 11080 Kaithi 110c3 Common 110cd Kaithi 110ce Common 110d0
Sora_Sompeng 110e9 Common 110f0 Sora_Sompeng 110fa Common 11100 Chakma 11135 Common 11136 Chakma 11148
Common 11150 Mahajani 11177 Common 11180 Sharada 111e0 Common 111e1 Sinhala 111f5 Common 11200 Khojki 11212
Common 11213 Khojki 11242 Common 11280 Multani 11287 Common 11288 Multani 11289 Common 1128a Multani 1128e
Common 1128f Multani 1129e Common 1129f Multani 112aa Common 112b0 Khudawadi 112eb Common 112f0 Khudawadi
112fa Common 11300 Grantha 11304 Common 11305 Grantha 1130d Common 1130f Grantha 11311 Common 11313 Grantha
11329 Common 1132a Grantha 11331 Common 11332 Grantha 11334 Common 11335 Grantha 1133a Common 1133b
Inherited 1133c Grantha 11345 Common 11347 Grantha 11349 Common 1134b Grantha 1134e Common 11350 Grantha
11351 Common 11357 Grantha 11358 Common 1135d Grantha 11364 Common 11366 Grantha 1136d Common 11370 Grantha
11375 Common 11380 Tulu_Tigalari 1138a Common 1138b Tulu_Tigalari 1138c Common 1138e Tulu_Tigalari 1138f
Common 11390 Tulu_Tigalari 113b6 Common 113b7 Tulu_Tigalari 113c1 Common 113c2 Tulu_Tigalari 113c3 Common
113c5 Tulu_Tigalari 113c6 Common 113c7 Tulu_Tigalari 113cb Common 113cc Tulu_Tigalari 113d6 Common 113d7
Tulu_Tigalari 113d9 Common 113e1 Tulu_Tigalari 113e3 Common 11400 Newa 1145c Common 1145d Newa 11462 Common
11480 Tirhuta 114c8 Common 114d0 Tirhuta 114da Common 11580 Siddham 115b6 Common 115b8 Siddham 115de Common
11600 Modi 11645 Common 11650 Modi 1165a Common 11660 Mongolian 1166d Common 11680 Takri 116ba Common 116c0
Takri 116ca Common 116d0 Myanmar 116e4 Common 11700 Ahom 1171b Common 1171d Ahom 1172c Common 11730 Ahom
11747 Common 11800 Dogra 1183c Common 118a0 Warang_Citi 118f3 Common 118ff Warang_Citi 11900 Dives_Akuru
11907 Common 11909 Dives_Akuru 1190a Common 1190c Dives_Akuru 11914 Common 11915 Dives_Akuru 11917 Common
11918 Dives_Akuru 11936 Common 11937 Dives_Akuru 11939 Common 1193b Dives_Akuru 11947 Common 11950
Dives_Akuru 1195a Common 119a0 Nandinagari 119a8 Common 119aa Nandinagari 119d8 Common 119da Nandinagari
119e5 Common 11a00 Zanabazar_Square 11a48 Common 11a50 Soyombo 11aa3 Common 11ab0 Canadian_Aboriginal 11ac0
Pau_Cin_Hau 11af9 Common 11b00 Devanagari 11b0b Common 11b60 Sharada 11b68 Common 11bc0 Sunuwar 11be2 Common
11bf0 Sunuwar 11bfa Common 11c00 Bhaiksuki 11c09 Common 11c0a Bhaiksuki 11c37 Common 11c38 Bhaiksuki 11c46
Common 11c50 Bhaiksuki 11c6d Common 11c70 Marchen 11c90 Common 11c92 Marchen 11ca8 Common 11ca9 Marchen
11cb7 Common 11d00 Masaram_Gondi 11d07 Common 11d08 Masaram_Gondi 11d0a Common 11d0b Masaram_Gondi 11d37
Common 11d3a Masaram_Gondi 11d3b Common 11d3c Masaram_Gondi 11d3e Common 11d3f Masaram_Gondi 11d48 Common
11d50 Masaram_Gondi 11d5a Common 11d60 Gunjala_Gondi 11d66 Common 11d67 Gunjala_Gondi 11d69 Common 11d6a
Gunjala_Gondi 11d8f Common 11d90 Gunjala_Gondi 11d92 Common 11d93 Gunjala_Gondi 11d99 Common 11da0
Gunjala_Gondi 11daa Common 11df0 Bengali 11df2 Common 11ee0 Makasar 11ef9 Common 11f00 Kawi 11f11 Common
11f12 Kawi 11f3b Common 11f3e Kawi 11f5b Common 11fb0 Lisu 11fb1 Common 11fc0 Tamil 11ff2 Common 11fff Tamil
12000 Cuneiform 1239a Common 12400 Cuneiform 12544 Common 12550 Cuneiform 125a8 Common 1264c Cuneiform 12687
Common 12f90 Cypro_Minoan 12ff3 Common 13000 Egyptian_Hieroglyphs 13456 Common 13460 Egyptian_Hieroglyphs
143fb Common 14400 Anatolian_Hieroglyphs 14647 Common 16100 Gurung_Khema 1613a Common 16800 Bamum 16a39
Common 16a40 Mro 16a5f Common 16a60 Mro 16a6a Common 16a6e Mro 16a70 Tangsa 16abf Common 16ac0 Tangsa 16aca
Common 16ad0 Bassa_Vah 16aee Common 16af0 Bassa_Vah 16af6 Common 16b00 Pahawh_Hmong 16b46 Common 16b50
Pahawh_Hmong 16b5a Common 16b5b Pahawh_Hmong 16b62 Common 16b63 Pahawh_Hmong 16b78 Common 16b7d Pahawh_Hmong
16b90 Common 16d40 Kirat_Rai 16d7a Common 16e40 Medefaidrin 16e9b Common 16f00 Miao 16f4b Common 16f4f Miao
16f88 Common 16f8f Miao 16fa0 Common 16fe0 Tangut 16fe1 Nushu 16fe2 Han 16fe4 Khitan_Small_Script 16fe5
Common 16ff0 Han 16ff7 Common 17000 Tangut 18b00 Khitan_Small_Script 18cdb Common 18cff Khitan_Small_Script
18d00 Tangut 18d21 Common 18d80 Tangut 18df3 Common 1aff0 Han 1aff4 Common 1aff5 Han 1affc Common 1affd Han
1afff Common 1b000 Han 1b129 Common 1b132 Han 1b133 Common 1b150 Han 1b153 Common 1b155 Han 1b156 Common
1b164 Han 1b169 Common 1b170 Nushu 1b2fc Common 1bc00 Duployan 1bc6b Common 1bc70 Duployan 1bc7d Common
1bc80 Duployan 1bc89 Common 1bc90 Duployan 1bc9a Common 1bc9c Duployan 1bca0 Common 1cf00 Inherited 1cf2e
Common 1cf30 Inherited 1cf47 Common 1d127 Inherited 1d129 Common 1d167 Inherited 1d16a Common 1d17b
Inherited 1d183 Common 1d185 Inherited 1d18c Common 1d1aa Inherited 1d1ae Common 1d200 Greek 1d246 Common
1d25b Inherited 1d25d Common 1d800 SignWriting 1da8c Common 1da9b SignWriting 1daa0 Common 1daa1 SignWriting
1dab0 Common 1df00 Latin 1df82 Common 1df90 Latin 1df97 Common 1dfcd Latin 1dff3 Greek 1dff5 Latin 1e000
Glagolitic 1e007 Common 1e008 Glagolitic 1e019 Common 1e01b Glagolitic 1e022 Common 1e023 Glagolitic 1e025
Common 1e026 Glagolitic 1e02b Common 1e030 Cyrillic 1e06e Common 1e08f Cyrillic 1e090 Common 1e100
Nyiakeng_Puachue_Hmong 1e12d Common 1e130 Nyiakeng_Puachue_Hmong 1e13e Common 1e140 Nyiakeng_Puachue_Hmong
1e14a Common 1e14e Nyiakeng_Puachue_Hmong 1e150 Common 1e290 Toto 1e2af Common 1e2c0 Wancho 1e2fa Common
1e2ff Wancho 1e300 Common 1e4d0 Nag_Mundari 1e4fa Common 1e5d0 Ol_Onal 1e5fb Common 1e5ff Ol_Onal 1e600
Common 1e7e0 Ethiopic 1e7e7 Common 1e7e8 Ethiopic 1e7ec Common 1e7ed Ethiopic 1e7ef Common 1e7f0 Ethiopic
1e7ff Common 1e800 Mende_Kikakui 1e8c5 Common 1e8c7 Mende_Kikakui 1e8d7 Common 1e900 Adlam 1e94c Common
1e950 Adlam 1e95a Common 1e95e Adlam 1e960 Common 1ee00 Arabic 1ee04 Common 1ee05 Arabic 1ee20 Common 1ee21
Arabic 1ee23 Common 1ee24 Arabic 1ee25 Common 1ee27 Arabic 1ee28 Common 1ee29 Arabic 1ee33 Common 1ee34
Arabic 1ee38 Common 1ee39 Arabic 1ee3a Common 1ee3b Arabic 1ee3c Common 1ee42 Arabic 1ee43 Common 1ee47
Arabic 1ee48 Common 1ee49 Arabic 1ee4a Common 1ee4b Arabic 1ee4c Common 1ee4d Arabic 1ee50 Common 1ee51
Arabic 1ee53 Common 1ee54 Arabic 1ee55 Common 1ee57 Arabic 1ee58 Common 1ee59 Arabic 1ee5a Common 1ee5b
Arabic 1ee5c Common 1ee5d Arabic 1ee5e Common 1ee5f Arabic 1ee60 Common 1ee61 Arabic 1ee63 Common 1ee64
Arabic 1ee65 Common 1ee67 Arabic 1ee6b Common 1ee6c Arabic 1ee73 Common 1ee74 Arabic 1ee78 Common 1ee79
Arabic 1ee7d Common 1ee7e Arabic 1ee7f Common 1ee80 Arabic 1ee8a Common 1ee8b Arabic 1ee9c Common 1eea1
Arabic 1eea4 Common 1eea5 Arabic 1eeaa Common 1eeab Arabic 1eebc Common 1eef0 Arabic 1eef2 Common 1f200 Han
1f201 Common 20000 Han 2a6e0 Common 2a700 Han 2b81f Common 2b820 Han 2ceae Common 2ceb0 Han 2ebe1 Common
2ebf0 Han 2ee5e Common 2f800 Han 2fa1e Common 30000 Han 3134b Common 31350 Han 3347a Common e0100 Inherited
e01f0 Common
"""
