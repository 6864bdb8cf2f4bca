"""A headless Chromium that a test controls over its DevTools pipe: pages, keys, windows, console messages."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60
"""Seconds after which a browser counts as hung."""

# The browser reads commands from file 3 and writes answers to file 4.
_ON_FILES_3_AND_4 = """if True:
    import os, sys
    read, write = map(int, sys.argv[1:3])
    read, write = os.dup2(read, 10), os.dup2(write, 11)
    os.dup2(read, 3), os.dup2(write, 4)
    os.execv(sys.argv[3], sys.argv[3:])
"""

_KEYS = {
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    " ": 32,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
}


def find_browser() -> str:
    """Return the path of a browser, or skip the test if none is installed."""
    program = next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no browser is installed: none of {', '.join(NAMES)} is found")
    return program


class Browser:
    """A browser with one page.

    Attributes:
        complaints: the console messages, log entries and uncaught errors.
        requests: the addresses that the page requested.
    """

    def __init__(self, path: str, profile: Path) -> None:
        to_browser, self._commands = os.pipe()
        self._answers, from_browser = os.pipe()
        options = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu"]
        options += ["--disable-dev-shm-usage", "--no-sandbox", f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ON_FILES_3_AND_4, str(to_browser), str(from_browser), path, *options],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._events: deque[dict[str, Any]] = deque()
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser."""
        os.close(self._commands)  # the browser exits when its pipe is closed
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command of the DevTools protocol and return its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            block = os.read(self._answers, 1 << 16) if ready else b""
            assert block, "the browser does not answer"
            self._buffer += block
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded":
                self.complaints.append(json.dumps(parameters))
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Page.loadEventFired":
                self._events.append(event)

    def open(self, path: Path) -> None:
        """Open a file by its file URL, and wait until it has loaded."""
        self._events.clear()
        self.complaints.clear()
        self.requests.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not self._events:
            self._note(self._receive())

    def resize(self, width: int, height: int = 900) -> None:
        """Resize the window."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, *, dark: bool = False, paper: bool = False) -> None:
        """Set the preferred colour scheme and the medium."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="print" if paper else "screen", features=[scheme])

    def ask(self, expression: str) -> Any:
        """Return the value of a JavaScript expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, *keys: str) -> None:
        """Press keys, one after another, as a user does."""
        for key in keys:
            code = _KEYS.get(key) or ord(key.upper())
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            pressed = {"key": key, "windowsVirtualKeyCode": code, "text": text}
            self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **pressed)
            self.call("Input.dispatchKeyEvent", type="keyUp", **pressed | {"text": ""})

    def point(self, selector: str) -> None:
        """Move the mouse over an element."""
        place = self.ask(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'}); const b = e.getClientRects()[0];"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
