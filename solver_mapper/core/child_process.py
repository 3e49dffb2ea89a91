"""A Python process of this package beside the one that runs, and messages to and from it.

Messages are pickled objects on its standard input and output. It starts anew, without a copy of
this process or its threads, and ends when this process does. It runs this package alone, never the
user's main module, so that scripts without a guard and notebooks may start one.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

PERIOD = 1.0
"""Seconds that a process has to end after it closed its output."""


BARE = f"""
import sys, types
package = sys.modules["solver_mapper"] = types.ModuleType("solver_mapper")
package.__path__ = [{str(Path(__file__).parents[1])!r}]
"""
"""Makes the package known without importing all that it offers."""


class ChildProcess:
    """Calls `serve`, as "module:function", with `words`. Each message that it sends is handed to
    `receive`, in a thread; None when it is gone. What a `quiet` one has to say is lost. A `bare`
    one imports what it needs alone, not all that users may call, and so begins sooner.

    Raises: OSError or MemoryError if there is no room for it.
    """

    def __init__(
        self,
        serve: str,
        words: list[str],
        receive: Callable[[object | None], None],
        *,
        quiet: bool = False,
        bare: bool = False,
    ):
        paths = [path or os.getcwd() for path in sys.path]
        module, function = serve.split(":")
        code = BARE if bare else "import sys\n"
        code += f"from {module} import {function}; {function}(sys.argv[1:])"
        # A session of its own: Ctrl-C on the terminal reaches the parent, which tells the child.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        self._receive, self._sending = receive, threading.Lock()
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        try:
            threading.Thread(target=self._read, daemon=True).start()
        except RuntimeError as error:
            self.end()
            raise MemoryError("there is no room for another thread") from error

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def send(self, message: object, patience: float | None = None) -> bool:
        """Whether the process has taken the message, as far as that is known; one that is gone does
        not. Nor does one that takes nothing for so many seconds; it may take no others then.
        """
        assert self._process.stdin is not None
        data = memoryview(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
        with (
            self._sending,
            contextlib.suppress(OSError, ValueError),  # closed, or it is gone
            selectors.DefaultSelector() as room,
        ):
            out = self._process.stdin.fileno()
            room.register(out, selectors.EVENT_WRITE)
            while data:
                if not room.select(patience):
                    return False
                data = data[os.write(out, data) :]
            return True
        return False

    def end(self) -> int:
        """End the process; its exit code, or minus the signal that ended it."""
        before = self._process.poll()
        self._process.kill()
        code = self._process.wait() if before is None else before
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        return code

    def _read(self) -> None:
        assert self._process.stdout is not None
        # Whatever ends this, also want of memory: the process is of no use any more.
        with contextlib.suppress(Exception):
            while True:
                self._receive(pickle.load(self._process.stdout))
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=PERIOD)
        self._receive(None)


def to_parent() -> tuple[IO[bytes], IO[bytes]]:
    """In the child: where messages come from, and where they go to."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get between the messages
    source: Any = sys.stdin.buffer
    return source, out
