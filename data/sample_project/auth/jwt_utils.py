"""JSON Web Tokens, signed with HMAC-SHA256 and limited in time.

A token is three base64url parts joined by dots: header, claims, signature.
"""

import base64
import hashlib
import hmac
import json
import secrets
from typing import Any

HEADER = {"alg": "HS256", "typ": "JWT"}
LEEWAY_SECONDS = 30


class TokenError(Exception):
    """This service refuses the token."""


class TokenInvalidError(TokenError):
    """The token is malformed, was tampered with, or is of the wrong kind."""


class TokenExpiredError(TokenError):
    """The token was fine once, but its time is over."""


def encode_token(subject: int, kind: str, secret: bytes, *, now: int, ttl: int) -> str:
    """Issue an "access" or "refresh" token for a user id; it expires ttl seconds from now."""
    claims = {
        "sub": str(subject),
        "kind": kind,
        "iat": now,
        "exp": now + ttl,
        "jti": secrets.token_hex(16),
    }
    signing_input = f"{_encode(json.dumps(HEADER))}.{_encode(json.dumps(claims))}"
    return f"{signing_input}.{_sign(signing_input, secret)}"


def decode_token(token: str, kind: str, secret: bytes, *, now: int) -> dict[str, Any]:
    """Verify the signature, then the expiry, then the kind; return the claims.

    The claims are believed only after the signature has been checked. Raises
    TokenInvalidError or TokenExpiredError.
    """
    signing_input, _, signature = token.rpartition(".")
    expected = _sign(signing_input, secret)
    if not hmac.compare_digest(signature.encode(), expected.encode()):
        raise TokenInvalidError("bad signature")
    header, claims = (json.loads(_decode(part)) for part in signing_input.split("."))
    if header != HEADER:
        raise TokenInvalidError("unexpected header")
    if now > claims["exp"] + LEEWAY_SECONDS:
        raise TokenExpiredError(f"token expired at {claims['exp']}")
    if claims["kind"] != kind:
        raise TokenInvalidError(f"expected a token of kind {kind}, got {claims['kind']}")
    return claims


def _sign(signing_input: str, secret: bytes) -> str:
    return _encode(hmac.digest(secret, signing_input.encode(), hashlib.sha256))


def _encode(part: str | bytes) -> str:
    raw = part.encode() if isinstance(part, str) else part
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
