"""The process that renders a template; `worker_process` starts it.

Standard input: frames (see `frames`). The first frame is the job: `templates` by name, `special_tokens`, `date`,
`seconds`. Requests follow: a frame with the name of a `template`, `prompt`, and the number of `conversations`, then a
frame per conversation. Standard output: for each request one frame about the template (`error`, or `asks_prompt`),
then one per conversation (`error`, or the result of `_report`). A request can ask for `beginnings`: for each
conversation numbers of messages, each of which is answered by one frame (`error`, or `text`).
A template is an untrusted program: time and memory are limited for each conversation.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from tokbench.chat.jinja.frames import encode, read_frame, write_frame
from tokbench.chat.jinja.limits import MEMORY, LimitError
from tokbench.core.time_and_memory import limit_memory, limit_time
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tokbench.chat.jinja.program import Given, Program, Written

_GRACE = 1
"""Seconds after which a template that does not react is killed, because it is inside a single operation."""


def main() -> int:
    """Serve rendering requests from standard input until it ends."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    limit_memory(MEMORY)
    try:
        job = json.loads(read_frame(source))
        programs: dict[str, Program] = {}
        while True:
            request = json.loads(read_frame(source))
            conversations = [read_frame(source) for _ in range(request["conversations"])]
            for reply in _replies(job, programs, request, conversations):
                write_frame(target, reply)
                target.flush()
    except EOFError:
        return 0


def _replies(
    job: Mapping[str, Any],
    programs: dict[str, Program],
    request: Mapping[str, Any],
    conversations: Iterable[bytes],
) -> Iterator[bytes]:
    name = request["template"]
    try:
        if name not in programs:
            with _bounded_time(job["seconds"]):
                programs[name] = _compiled(job, name)
    except (TemplateError, LimitError, MemoryError) as error:
        yield encode({"error": str(error) or "it takes too much memory to compile"})
        return
    program = programs[name]
    yield encode({"asks_prompt": program.asks_prompt})
    if "beginnings" in request:
        for encoded, numbers in zip(conversations, request["beginnings"], strict=True):
            yield from _beginnings(job, program, encoded, numbers, prompt=request["prompt"])
        return
    for encoded in conversations:
        yield _reply(job, partial(_written, program, encoded, prompt=request["prompt"]))


def _written(program: Program, encoded: bytes, *, prompt: bool) -> dict[str, Any]:
    return _report(program.write(_decoded(encoded), prompt=prompt))


def _beginnings(
    job: Mapping[str, Any], program: Program, encoded: bytes, numbers: Sequence[int], *, prompt: bool
) -> Iterator[bytes]:
    """Yield a reply for each number of messages; the values of the messages are made only once."""
    made: list[Given] = []

    def beginning(number: int) -> dict[str, Any]:
        if not made:
            made.append(program.given(_decoded(encoded)))
        return {"text": program.write_beginning(made[0], number, prompt=prompt)}

    for number in numbers:
        yield _reply(job, partial(beginning, number))


def _reply(job: Mapping[str, Any], result: Callable[[], Mapping[str, Any]]) -> bytes:
    """Return an encoded result, or the error with which it ends."""
    try:
        with _bounded_time(job["seconds"]):
            return encode(result())
    except TemplateError as error:
        limit = isinstance(error.__cause__, LimitError | MemoryError)
        return encode({"error": error.message, "limit": limit})
    except LimitError as error:
        return encode({"error": f"the template exceeds a limit: {error}", "limit": True})
    except MemoryError:
        return encode({"error": "the template exceeds a limit: it takes too much memory", "limit": True})


def _decoded(encoded: bytes) -> dict[str, Any]:
    try:
        conversation: dict[str, Any] = json.loads(encoded)
    except RecursionError:
        raise TemplateError("the conversation is nested too deeply") from None
    if "error" in conversation:
        raise TemplateError(conversation["error"])
    return conversation


def _compiled(job: Mapping[str, Any], name: str) -> Program:
    from tokbench.chat.jinja.program import Program

    return Program(
        job["templates"][name],
        special_tokens=job["special_tokens"],
        date=datetime.fromisoformat(job["date"]) if job["date"] else None,
    )


def _report(written: Written) -> dict[str, Any]:
    """Return the text, and its runs as lengths and indices into the list of distinct origins."""
    origins = list(dict.fromkeys(origin for _, origin in written.runs))
    indices = {origin: index for index, origin in enumerate(origins)}
    return {
        "text": written.text,
        "lengths": [length for length, _ in written.runs],
        "indices": [indices[origin] for _, origin in written.runs],
        "origins": origins,
        "generated": written.generated,
        "dated": written.dated,
    }


@contextmanager
def _bounded_time(seconds: float) -> Iterator[None]:
    """Raise `LimitError` if the block takes too much processor time, or end the process."""
    import signal

    limit_time(seconds + _GRACE)
    if not hasattr(signal, "setitimer"):  # Windows; the parent process still limits the time
        yield
        return
    signal.signal(signal.SIGPROF, partial(_raise_timeout, seconds))
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _raise_timeout(seconds: float, _signal: int, _frame: object) -> None:
    raise LimitError(f"it takes more than {seconds:g} s of processor time")


if __name__ == "__main__":
    sys.exit(main())
