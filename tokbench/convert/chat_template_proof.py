"""Render chat templates in a separate process, from a source and from its conversion."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tokbench.core.python_processes import module_environment
from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

SECONDS = 10
"""Limit on processor time, for all templates together."""

_WAIT = 120


def rendered_differently(folder: Path, config: TokenizerConfig) -> Mapping[str, str] | None:
    """Return the first conversation that a folder renders differently from a configuration's templates.

    Args:
        folder: a folder that `AutoTokenizer` opens.
        config: the templates, and the special tokens that they may use.

    Returns:
        "template", "conversation", "expected" and "found"; None if there is no difference.

    Raises:
        ConversionError: a template does not terminate, or exhausts the memory.
    """
    job = job_of(folder, config)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "tokbench.convert.chat_worker"],
            input=json.dumps(job).encode(),
            capture_output=True,
            timeout=_WAIT,
            check=False,
            env=module_environment(),
        )
    except subprocess.TimeoutExpired:
        raise _endless() from None
    if done.returncode < 0 or b"MemoryError" in done.stderr:
        raise _endless()
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise ConversionError(f"the chat templates cannot be rendered: {''.join(last)[:200]}")
    differences: list[dict[str, str]] = json.loads(done.stdout)
    return differences[0] if differences else None


def job_of(folder: Path, config: TokenizerConfig) -> dict[str, Any]:
    """Return the job for `chat_worker`."""
    specials = {f"{role}_token": text for role, text in config.roles.items()} | dict(config.named_tokens)
    return {
        "folder": str(folder),
        "templates": dict(config.chat_templates),
        "specials": specials,
        "seconds": SECONDS,
    }


def _endless() -> ConversionError:
    return ConversionError(
        f"the chat templates are not rendered within {SECONDS} s of processor time and 2 GiB",
        hint="`tokbench inspect` shows them; --chat-template FILE replaces them",
    )
