"""The process that `helper.py` starts: it makes walks.

It keeps no time and asks for none: the next task ends the walk under way, and the process ends when
the search is gone.
"""

from __future__ import annotations

import os
import pickle
import threading
from functools import partial
from queue import SimpleQueue
from typing import IO

from solver_mapper.core.child_process import to_parent
from solver_mapper.core.spec import Spec
from solver_mapper.solve.beside.messages import READY, Told, WalkTask
from solver_mapper.solve.outward.cases import Cases, walk_of
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.verify.mapspace import EnumeratedMapspace


class _NextTask(Exception):
    """There is another task."""


class _Process:
    def __init__(self, out: IO[bytes]):
        self._out = out
        self._specs, self._tasks = SimpleQueue[Spec](), SimpleQueue[WalkTask]()

    def listen(self, source: IO[bytes]) -> None:
        """Take messages until the search is gone; then the process ends."""
        while True:
            try:
                message = pickle.load(source)
            except (EOFError, OSError, pickle.UnpicklingError):
                os._exit(0)
            if isinstance(message, WalkTask):
                self._tasks.put(message)
            else:
                self._specs.put(message)

    def work(self) -> None:
        """Make walk after walk."""
        self._send(READY)
        spec = self._specs.get()
        mapspace = EnumeratedMapspace(
            spec.need_architecture(), spec.need_problem(), spec.constraints
        )
        walk: Walk | Cases | None = None
        while True:
            task = self._tasks.get()
            walk = (walk or walk_of(mapspace, task.goal)).toward(task.goal, task.limits)
            try:
                ends = walk.ends(task.target, advanced=partial(self._advanced, task))
            except _NextTask:
                continue
            self._send(Told(task.serial, ends.work, ends))

    def _advanced(self, task: WalkTask, work: int) -> None:
        if not self._tasks.empty():
            raise _NextTask
        self._send(Told(task.serial, work))

    def _send(self, message: object) -> None:
        pickle.dump(message, self._out)
        self._out.flush()


def main(_words: list[str]) -> None:
    """Make walks until the search is gone. Where something goes wrong the search goes on without
    this process.
    """
    source, out = to_parent()
    process = _Process(out)
    threading.Thread(target=process.listen, args=(source,), daemon=True).start()
    try:
        process.work()
    finally:
        os._exit(1)
