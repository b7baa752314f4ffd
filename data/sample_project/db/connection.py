"""The SQLite database: connection, transactions and migrations."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

# Entry n brings the schema from version n to n + 1: append, and leave released ones alone.
MIGRATIONS = (
    (
        """CREATE TABLE users (
            id INTEGER PRIMARY KEY,
            email TEXT NOT NULL,
            name TEXT NOT NULL,
            password_hash TEXT NOT NULL,
            deleted_at INTEGER
        )""",
        "CREATE UNIQUE INDEX active_email ON users (email) WHERE deleted_at IS NULL",
        "CREATE TABLE spent_tokens (jti TEXT PRIMARY KEY)",
    ),
    (
        """CREATE TABLE invoices (
            id INTEGER PRIMARY KEY,
            user_id INTEGER NOT NULL REFERENCES users (id),
            amount INTEGER NOT NULL CHECK (amount > 0),
            currency TEXT NOT NULL,
            status TEXT NOT NULL,
            due_at INTEGER
        )""",
    ),
    ("ALTER TABLE users ADD COLUMN is_staff INTEGER NOT NULL DEFAULT 0",),
)


class Database:
    """One connection, with transactions and migrations."""

    def __init__(self, path: str = ":memory:") -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self.execute("PRAGMA foreign_keys = ON")

    def execute(self, sql: str, params: Sequence[object] = ()) -> sqlite3.Cursor:
        """Run one statement; values are bound, never pasted into the SQL."""
        return self._connection.execute(sql, params)

    def query(self, sql: str, *params: object) -> list[dict[str, Any]]:
        """Find the rows of a SELECT, as dicts."""
        return [dict(row) for row in self.execute(sql, params)]

    def query_one(self, sql: str, *params: object) -> dict[str, Any] | None:
        """Return the first row that fits, or None."""
        return next(iter(self.query(sql, *params)), None)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit when the block succeeds, roll back when it raises."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.execute("ROLLBACK")
            raise
        self.execute("COMMIT")

    def migrate(self) -> int:
        """Apply the migrations that are missing here; return the schema version."""
        (current,) = self.execute("PRAGMA user_version").fetchone()
        for version, statements in enumerate(MIGRATIONS[current:], start=current + 1):
            with self.transaction():
                for statement in statements:
                    self.execute(statement)
                self.execute(f"PRAGMA user_version = {version}")
        return len(MIGRATIONS)
