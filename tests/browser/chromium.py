"""Debian's Chromium without a window, driven over a pipe (Chrome DevTools Protocol)."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0
"""Seconds that an answer may take."""


def program() -> str | None:
    """The browser, if it is installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Tab:
    """One page. `errors` are what the console and the page's scripts complained of, `requests` the
    addresses that were loaded.
    """

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._number, self._buffer, self._session = 0, b"", ""
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._loaded = False
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        number = self._number
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        """The next message; events are noted."""
        while b"\0" not in self._buffer:
            assert select.select([self._reading], [], [], PATIENCE)[0], "the browser is silent"
            self._buffer += os.read(self._reading, 1 << 20)
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))
        elif event == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif event == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(json.dumps(params["args"]))
        elif event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event == "Page.loadEventFired":
            self._loaded = True

    def show(self, file: Path, width: int, dark: bool, height: int = 900) -> None:
        """Open a file in a window of that width, in light or dark colours, until its charts are
        drawn.
        """
        self.errors, self.requests = [], []
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self._loaded = False
        self.ask("Page.navigate", url=file.resolve().as_uri())
        until = time.monotonic() + PATIENCE
        while not self._loaded:
            assert time.monotonic() < until, "the page does not load"
            self._next()
        self.value("window.chartsDrawn")

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        found = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key."""
        code = {"Enter": 13, "Tab": 9}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **(text if kind == "keyDown" else {}),
            )

    def picture(self, file: Path) -> None:
        """Write the whole page as a PNG."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.ask("Page.printToPDF")["data"])


@contextmanager
def open_tab() -> Iterator[Tab]:
    """A tab of a browser of its own, whose data are thrown away."""
    chromium = program()
    assert chromium is not None
    to_browser, ours_out = os.pipe()
    ours_in, from_browser = os.pipe()

    def pipes() -> None:
        """The browser reads from descriptor 3 and writes to 4."""
        first, second = os.dup(to_browser), os.dup(from_browser)
        os.dup2(first, 3)
        os.dup2(second, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [chromium, *FLAGS, f"--user-data-dir={folder}"],
            preexec_fn=pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        try:
            yield Tab(ours_in, ours_out)
        finally:
            process.terminate()
            process.wait(PATIENCE)
            os.close(ours_in)
            os.close(ours_out)
