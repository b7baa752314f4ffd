"""Create, read, update and soft-delete users."""

import hashlib
import hmac
import secrets
import sqlite3
from dataclasses import dataclass

from db.connection import Database

PBKDF2_ROUNDS = 120_000
MIN_PASSWORD_LENGTH = 10
EDITABLE_FIELDS = {
    "name": "UPDATE users SET name = ? WHERE id = ?",
    "is_staff": "UPDATE users SET is_staff = ? WHERE id = ?",
}


class DuplicateEmailError(ValueError):
    """An active user already has this email."""


@dataclass(frozen=True)
class User:
    """One row of the users table."""

    id: int
    email: str
    name: str
    password_hash: str
    deleted_at: int | None
    is_staff: int

    def public(self) -> dict[str, object]:
        """The fields that a client may see; never the password hash."""
        return {"id": self.id, "email": self.email, "name": self.name}


def create_user(db: Database, email: str, name: str, password: str) -> User:
    """Insert a user and return it."""
    if len(password) < MIN_PASSWORD_LENGTH:
        raise ValueError(f"a password needs at least {MIN_PASSWORD_LENGTH} characters")
    sql = "INSERT INTO users (email, name, password_hash) VALUES (?, ?, ?) RETURNING *"
    try:
        (row,) = db.query(sql, normalize_email(email), name, hash_password(password))
    except sqlite3.IntegrityError as error:
        raise DuplicateEmailError(f"{email} is taken") from error
    return User(**row)


def get_user(db: Database, user_id: int) -> User | None:
    """Find an active user by id."""
    row = db.query_one("SELECT * FROM users WHERE id = ? AND deleted_at IS NULL", user_id)
    return User(**row) if row else None


def find_by_email(db: Database, email: str) -> User | None:
    """Find an active user by email, whatever its case."""
    sql = "SELECT * FROM users WHERE email = ? AND deleted_at IS NULL"
    row = db.query_one(sql, normalize_email(email))
    return User(**row) if row else None


def update_user(db: Database, user_id: int, **changes: object) -> User | None:
    """Set some of the EDITABLE_FIELDS of a user: all that were given, or none."""
    if unknown := sorted(changes.keys() - EDITABLE_FIELDS.keys()):
        raise ValueError(f"fields that cannot be edited: {unknown}")
    with db.transaction():
        for field, value in changes.items():
            db.execute(EDITABLE_FIELDS[field], (value, user_id))
    return get_user(db, user_id)


def soft_delete_user(db: Database, user_id: int, *, now: int) -> None:
    """Stamp deleted_at and keep the row, since invoices refer to it."""
    sql = "UPDATE users SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL"
    db.execute(sql, (now, user_id))


def normalize_email(email: str) -> str:
    """Trim and lower-case, so that one mailbox is one user."""
    return email.strip().lower()


def hash_password(password: str) -> str:
    """Derive a salted PBKDF2 hash, written as ``salt$digest`` in hex."""
    salt = secrets.token_bytes(16)
    return f"{salt.hex()}${_derive(password, salt).hex()}"


def verify_password(user: User, password: str) -> bool:
    """Compare a password with the stored hash in constant time."""
    salt, _, digest = user.password_hash.partition("$")
    return hmac.compare_digest(_derive(password, bytes.fromhex(salt)), bytes.fromhex(digest))


def _derive(password: str, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt, PBKDF2_ROUNDS)
