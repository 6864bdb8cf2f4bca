"""Conversations encoded with masks per second: `python tests/benchmarks/chat_speed.py TEXT`

Conversations of four messages with 300 characters of a text each, as ChatML, on a byte-level BPE of 32,768 tokens
that is trained on the text. tokbench renders and encodes all of them on one thread; `transformers`, where installed,
encodes a tenth of them through `apply_chat_template` with masks. They take turns in five rounds after a first one;
medians of processor time.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from speed_table import heading

import tokbench
from tokbench.chat.conversation import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, MESSAGES, CHARACTERS, VOCAB_SIZE = 5, 4, 300, 32_768
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}"
    "{{ m.content }}<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}\n{% endfor %}"
)


def conversations(text: str, count: int) -> list[Conversation]:
    chosen = random.Random(1)
    starts = iter(lambda: chosen.randrange(len(text) - CHARACTERS), None)
    return [
        Conversation(
            tuple(
                {
                    "role": ("user", "assistant")[number % 2],
                    "content": text[start : start + CHARACTERS].strip(),
                }
                for number, start in zip(range(MESSAGES), starts, strict=False)
            )
        )
        for _ in range(count)
    ]


def rates(subjects: dict[str, tuple[int, Callable[[], Any]]]) -> dict[str, float]:
    """Return the conversations per second of each subject, given as their number and the call that encodes them."""
    taken: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(ROUNDS + 1):
        for name, (count, run) in subjects.items():
            started = time.process_time()
            run()
            if number:
                taken[name].append(count / (time.process_time() - started))
    return {name: statistics.median(found) for name, found in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--conversations", type=int, default=4000)
    arguments = parser.parse_args()
    text = arguments.text.read_text(encoding="utf-8")[: 20 << 20]
    tokenizer = tokbench.train([text], vocab_size=VOCAB_SIZE, special_tokens=("<|im_start|>", "<|im_end|>"))
    talks = conversations(text, arguments.conversations)
    template = tokbench.ChatTemplate("chatml")
    subjects: dict[str, tuple[int, Callable[[], Any]]] = {
        "tokbench": (len(talks), lambda: template.encode_many(tokenizer, talks, threads=1))
    }
    try:
        import transformers
    except ImportError:
        pass
    else:
        with TemporaryDirectory() as folder:
            tokenizer.save(Path(folder) / "saved")
            theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=f"{folder}/saved/tokenizer.json")
        few = [list(map(dict, talk.messages)) for talk in talks[: len(talks) // 10]]

        def apply() -> None:
            for messages in few:
                theirs.apply_chat_template(
                    messages, chat_template=CHATML, return_dict=True, return_assistant_tokens_mask=True
                )

        subjects["transformers"] = len(few), apply
    print(heading())
    for name, rate in rates(subjects).items():
        print(f"{name:<13} {rate:>9,.0f} conversations/s")


if __name__ == "__main__":
    main()
