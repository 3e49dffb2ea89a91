"""Results in an SQLite file: a study that is stopped, however, continues where it ended.

Each result is one transaction, and several processes may share one file. The journal is SQLite's
default, not the write-ahead log: changing to that fails at once, whatever the timeout, when two
processes open a new file together, and network file systems do not support it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.study.execution.record import Record

APPLICATION = 0x534D4150
"""What SQLite calls the application id of a file: "SMAP"."""
MIGRATIONS = (
    """CREATE TABLE solutions (
           digest TEXT PRIMARY KEY, name TEXT NOT NULL, status TEXT NOT NULL,
           record TEXT NOT NULL, changed TEXT NOT NULL
       ) WITHOUT ROWID""",
)
"""`MIGRATIONS[n]` turns a file of schema version n into one of version n + 1."""
_PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""


def opened(store: Store | str | Path | None) -> AbstractContextManager[Store]:
    """A store for one study: one that is open stays so, a file is opened and closed, and without
    any the records are kept in memory.

    Raises: InputError if the file is no store of ours.
    """
    return nullcontext(store) if isinstance(store, Store) else Store(store or ":memory:")


class Store:
    """Records by their digest. Use as a context manager, or `close` it."""

    def __init__(self, path: str | Path = ":memory:") -> None:
        """Open the file, making it where there is none. Raises: InputError if it is no store of
        ours, or of a later version.
        """
        self._place = SourceLocation(str(path))
        with self._errors():
            self._db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            self._migrate()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def get(self, digest: str) -> Record | None:
        """The record stored under `digest`. One that cannot be read counts as missing."""
        with self._errors():
            row = self._db.execute(
                "SELECT record FROM solutions WHERE digest = ?", (digest,)
            ).fetchone()
        try:
            return None if row is None else Record.from_json(row[0])
        except (ValueError, LookupError, TypeError, ArithmeticError):
            return None

    def put(self, digest: str, name: str, record: Record) -> Record:
        """Store `record`, or what it adds to the one that is there; the result is what is stored
        then.
        """
        with self._errors(), self._transaction():
            old = self.get(digest)
            kept = record if old is None else old.merged(record)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self._db.execute(
                "INSERT OR REPLACE INTO solutions VALUES (?, ?, ?, ?, ?)",
                (digest, name, kept.status, kept.to_json(), now),
            )
        return kept

    def remove(self, digest: str) -> None:
        """Forget what is stored under `digest`."""
        with self._errors():
            self._db.execute("DELETE FROM solutions WHERE digest = ?", (digest,))

    def __len__(self) -> int:
        with self._errors():
            return int(self._db.execute("SELECT count(*) FROM solutions").fetchone()[0])

    def _migrate(self) -> None:
        """Bring the schema to the present version."""
        with self._transaction():
            version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
            owner = int(self._db.execute("PRAGMA application_id").fetchone()[0])
            tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if owner != APPLICATION and (owner or tables):
                raise InputError(
                    "this SQLite file is not a store of results", self._place, "name another file"
                )
            if version > len(MIGRATIONS):
                raise InputError(
                    f"this store has schema version {version}; this program knows up to"
                    f" {len(MIGRATIONS)}",
                    self._place,
                    "update solver-mapper, or name another file",
                )
            for step in MIGRATIONS[version:]:
                self._db.execute(step)
            if version < len(MIGRATIONS):
                self._db.execute(f"PRAGMA application_id = {APPLICATION}")
                self._db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, and nobody else writes meanwhile."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # A full disk has ended the transaction by itself.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """SQLite's errors as errors of input: the file is the user's."""
        try:
            yield
        except sqlite3.Error as error:
            raise InputError(
                f"cannot be used as a store of results ({error})", self._place
            ) from None
