"""The process that `pool.py` starts: it makes tables and does tasks, one after the other.

It keeps no time and asks for none. It ends when the search is gone, or when something goes wrong:
then the search goes on without it.
"""

from __future__ import annotations

import os
import pickle
from typing import IO, Any

from solver_mapper.core.child_process import to_parent
from solver_mapper.solve.pool.messages import Prepare, Result, Tables, Task


def serve(source: IO[bytes], out: IO[bytes]) -> None:
    """Do what messages ask for. Raises: EOFError when there are no more."""
    tables: dict[int, Tables] = {}
    result = Result()
    while True:
        pickle.dump(result, out, pickle.HIGHEST_PROTOCOL)
        out.flush()
        message = pickle.load(source)
        result = Result()
        if isinstance(message, Prepare):
            tables[message.number] = message.make()
        else:
            result = Result(_done(message, tables[message.number]))


def _done(task: Task, tables: Tables) -> list[Any]:
    """What the parts of a task return."""
    for numbering, met in zip(tables.numberings, task.met, strict=True):
        for number, thing in met.items():
            numbering.learn(number, thing)
    return [part(tables) for part in task.parts]


def main(_words: list[str]) -> None:
    """Serve until the search is gone."""
    try:
        serve(*to_parent())
    finally:
        os._exit(1)
