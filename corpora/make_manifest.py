"""Write MANIFEST.toml, the list of the bundled texts: python corpora/make_manifest.py

Run it after a text was added or changed. A language without a title below is an error, so that
none is listed under its bare code.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

CORPORA = Path(__file__).parent
LICENCE = "CC0-1.0"

LANGUAGES = {
    "af": "Afrikaans",
    "am": "Amharic",
    "ar": "Arabic",
    "az": "Azerbaijani",
    "be": "Belarusian",
    "bg": "Bulgarian",
    "bn": "Bengali",
    "bo": "Tibetan",
    "ca": "Catalan",
    "cs": "Czech",
    "cy": "Welsh",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "eo": "Esperanto",
    "es": "Spanish",
    "et": "Estonian",
    "eu": "Basque",
    "fa": "Persian",
    "fi": "Finnish",
    "fil": "Filipino",
    "fr": "French",
    "ga": "Irish",
    "gl": "Galician",
    "gu": "Gujarati",
    "ha": "Hausa",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "hy": "Armenian",
    "id": "Indonesian",
    "ig": "Igbo",
    "is": "Icelandic",
    "it": "Italian",
    "ja": "Japanese",
    "jv": "Javanese",
    "ka": "Georgian",
    "kk": "Kazakh",
    "km": "Khmer",
    "kn": "Kannada",
    "ko": "Korean",
    "ku": "Kurdish",
    "ky": "Kyrgyz",
    "la": "Latin",
    "lo": "Lao",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "mg": "Malagasy",
    "mk": "Macedonian",
    "ml": "Malayalam",
    "mn": "Mongolian",
    "mr": "Marathi",
    "ms": "Malay",
    "mt": "Maltese",
    "my": "Burmese",
    "ne": "Nepali",
    "nl": "Dutch",
    "no": "Norwegian",
    "or": "Odia",
    "pa": "Punjabi",
    "pl": "Polish",
    "ps": "Pashto",
    "pt": "Portuguese",
    "qu": "Quechua",
    "ro": "Romanian",
    "ru": "Russian",
    "si": "Sinhala",
    "sk": "Slovak",
    "sl": "Slovenian",
    "so": "Somali",
    "sq": "Albanian",
    "sr": "Serbian",
    "sv": "Swedish",
    "sw": "Swahili",
    "ta": "Tamil",
    "te": "Telugu",
    "tg": "Tajik",
    "th": "Thai",
    "ti": "Tigrinya",
    "tl": "Tagalog",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "uz": "Uzbek",
    "vi": "Vietnamese",
    "xh": "Xhosa",
    "yi": "Yiddish",
    "yo": "Yoruba",
    "zh": "Chinese",
    "zu": "Zulu",
}

CODE = {
    "bash": "Bash",
    "c": "C",
    "clojure": "Clojure",
    "cpp": "C++",
    "csharp": "C#",
    "css": "CSS",
    "dart": "Dart",
    "elixir": "Elixir",
    "erlang": "Erlang",
    "fortran": "Fortran",
    "go": "Go",
    "haskell": "Haskell",
    "html": "HTML",
    "java": "Java",
    "javascript": "JavaScript",
    "json": "JSON",
    "julia": "Julia",
    "kotlin": "Kotlin",
    "latex": "LaTeX",
    "lua": "Lua",
    "makefile": "Makefile",
    "markdown": "Markdown",
    "ocaml": "OCaml",
    "perl": "Perl",
    "php": "PHP",
    "python": "Python",
    "r": "R",
    "ruby": "Ruby",
    "rust": "Rust",
    "scala": "Scala",
    "shell": "Shell",
    "sql": "SQL",
    "swift": "Swift",
    "toml": "TOML",
    "typescript": "TypeScript",
    "xml": "XML",
    "yaml": "YAML",
    "zig": "Zig",
}


def main() -> None:
    """Write the manifest of all files in parallel/, code/ and edge/."""
    paths = [path for kind in ("parallel", "code", "edge") for path in sorted((CORPORA / kind).iterdir())]
    entries = [entry(path) for path in paths if path.is_file() and not path.name.startswith(".")]
    header = f"# Written by make_manifest.py.\nlicence = {quoted(LICENCE)}\n"
    (CORPORA / "MANIFEST.toml").write_text(header + "".join(entries), encoding="utf-8", newline="\n")
    print(f"MANIFEST.toml: {len(entries)} files")


def entry(path: Path) -> str:
    """The [[file]] table of one text."""
    fields = {
        "path": path.relative_to(CORPORA).as_posix(),
        "group": path.stem,
        "title": title(path),
        "licence": LICENCE,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    return "\n[[file]]\n" + "".join(f"{key} = {quoted(value)}\n" for key, value in fields.items())


def title(path: Path) -> str:
    """The English name of a text's group; of a hard case, its file name in words."""
    if path.parent.name == "edge":
        return path.stem.replace("_", " ")
    titles = LANGUAGES if path.parent.name == "parallel" else CODE
    if path.stem not in titles:
        raise SystemExit(f"error: {path}: no title for {path.stem!r}\nhint:  add one to {Path(__file__).name}")
    return titles[path.stem]


def quoted(text: str) -> str:
    """A TOML string; JSON's are a subset of them."""
    return json.dumps(text)


if __name__ == "__main__":
    main()
