"""Login, refresh and the check that guards every protected route."""

import logging
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from auth.jwt_utils import TokenInvalidError, decode_token, encode_token
from db.connection import Database
from users import crud

logger = logging.getLogger(__name__)

ACCESS_TTL = 15 * 60
REFRESH_TTL = 14 * 24 * 60 * 60


@dataclass(frozen=True)
class TokenPair:
    """What a client holds during a session."""

    access: str
    refresh: str
    expires_in: int = ACCESS_TTL


@dataclass(frozen=True)
class AuthService:
    """Turns credentials into tokens, and tokens into users."""

    db: Database
    secret: bytes
    clock: Callable[[], int]

    def login(self, email: str, password: str) -> TokenPair | None:
        """Return a token pair, or None when the credentials are wrong.

        An unknown email and a wrong password look alike from outside; the reason
        goes to the debug log only.
        """
        user = crud.find_by_email(self.db, email)
        if user is None:
            logger.debug("login refused: email unknown or deleted")
            return None
        if not crud.verify_password(user, password):
            logger.debug("login refused: wrong password for user %d", user.id)
            return None
        return self._issue(user)

    def refresh(self, token: str) -> TokenPair:
        """Swap a refresh token for a new pair; it is refused if it is used twice."""
        user, claims = self._resolve(token, "refresh")
        try:
            self.db.execute("INSERT INTO spent_tokens (jti) VALUES (?)", (claims["jti"],))
        except sqlite3.IntegrityError as error:
            raise TokenInvalidError("refresh token was already used") from error
        return self._issue(user)

    def authenticate(self, authorization: str) -> crud.User:
        """Resolve an ``Authorization: Bearer ...`` header to an active user."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise TokenInvalidError("expected a bearer token")
        return self._resolve(token, "access")[0]

    def _resolve(self, token: str, kind: str) -> tuple[crud.User, dict[str, str]]:
        """Raises TokenInvalidError when the user of a token is gone."""
        claims = decode_token(token, kind, self.secret, now=self.clock())
        user = crud.get_user(self.db, int(claims["sub"]))
        if user is None:
            raise TokenInvalidError("the user of this token is gone")
        return user, claims

    def _issue(self, user: crud.User) -> TokenPair:
        now = self.clock()
        return TokenPair(
            access=encode_token(user.id, "access", self.secret, now=now, ttl=ACCESS_TTL),
            refresh=encode_token(user.id, "refresh", self.secret, now=now, ttl=REFRESH_TTL),
        )
