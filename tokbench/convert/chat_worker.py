"""A process that renders chat templates, started by `config_proof`.

Standard input: JSON, {"folder": …, "templates": {name: text}, "specials": {name: text}, "seconds": …}.
Standard output: JSON, a list of differences, each with the name of the template, the conversation, and both texts,
truncated. A template is an untrusted program: its time and memory are limited.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tokbench.core.time_and_memory import limit_memory, limit_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_MEMORY = 2 * 2**30
_SHOWN = 2000

_USER = {"role": "user", "content": "What is 2 + 2?\n  «quoted» <b>'html'</b> 東京 🙂"}
_ANSWER = {"role": "assistant", "content": " It is 4. "}
_CALL = {"name": "add", "arguments": {"a": 2, "b": "2"}}
_TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    },
}

CONVERSATIONS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "a question": ([_USER], {}),
    "a question, and a prompt for the answer": ([_USER], {"add_generation_prompt": True}),
    "a system message and three turns": (
        [{"role": "system", "content": "Be brief."}, _USER, _ANSWER, _USER],
        {"add_generation_prompt": True},
    ),
    "two answers one after another": ([_USER, _ANSWER, _ANSWER], {}),
    "a call of a tool": (
        [
            _USER,
            {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": _CALL}]},
            {"role": "tool", "name": "add", "content": "4"},
        ],
        {"tools": [_TOOL], "add_generation_prompt": True},
    ),
}
"""Description → messages and options."""


def main() -> int:
    """Run the job from standard input."""
    job = json.load(sys.stdin)
    json.dump(differences(job, begin=lambda: _bound(job["seconds"])), sys.stdout)
    return 0


def differences(job: Mapping[str, Any], *, begin: Callable[[], None] = lambda: None) -> list[dict[str, str]]:
    """Render the templates of a job from its source and from its folder, and return the differences.

    Args:
        job: the job, as read from standard input.
        begin: called before the first template is processed.
    """
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(
        job["folder"], local_files_only=True, trust_remote_code=False
    )
    begin()
    return list(_differences(tokenizer, job["templates"], job["specials"]))


def _bound(seconds: int) -> None:
    limit_time(seconds)
    limit_memory(_MEMORY)


def _differences(
    tokenizer: Any, templates: dict[str, str], specials: dict[str, str]
) -> Iterator[dict[str, str]]:
    """Yield the differences between the source's templates and those that the folder has under their names."""
    for name, text in templates.items():
        for conversation, (messages, options) in CONVERSATIONS.items():
            chosen = {"chat_template": name} if isinstance(tokenizer.chat_template, dict) else {}
            expected = _rendered(tokenizer, messages, {**options, **specials, "chat_template": text})
            found = _rendered(tokenizer, messages, {**options, **chosen})
            if expected != found:
                shown = {"expected": expected[:_SHOWN], "found": found[:_SHOWN]}
                yield {"template": name, "conversation": conversation, **shown}


def _rendered(tokenizer: Any, messages: list[dict[str, Any]], options: dict[str, Any]) -> str:
    try:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, **options))
    except MemoryError:
        raise
    except Exception as error:  # a template may refuse a conversation; then both must
        return f"error: {error}"


if __name__ == "__main__":
    sys.exit(main())
