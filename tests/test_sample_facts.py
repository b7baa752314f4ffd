"""Every gold fact of the sample project can be checked in the lines it names.

The table below repeats the provenance of the query file and adds the code that makes each
fact true. A change to the sample project that moves or alters such lines fails here, before
it can spoil the ground truth in silence.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

DATA = Path(__file__).resolve().parents[1] / "data"
CORPUS = DATA / "sample_project"
DOCUMENT = json.loads((DATA / "queries" / "sample_project.json").read_text(encoding="utf-8"))
QUERIES = {query["id"]: query for query in DOCUMENT["queries"]}

MODULES = {
    "api/routes.py",
    "auth/handlers.py",
    "auth/jwt_utils.py",
    "billing/invoices.py",
    "billing/stripe_client.py",
    "db/connection.py",
    "users/crud.py",
}


class Place(NamedTuple):
    """Lines of a module, first and last included, and what must literally stand in them."""

    module: str
    first: int
    last: int
    needles: tuple[str, ...]


FACTS: dict[tuple[str, str], list[Place]] = {
    (
        "auth-flow",
        (
            "A successful login hands out a short-lived access token together with a "
            "longer-lived refresh token."
        ),
    ): [
        Place(
            "auth/handlers.py",
            14,
            15,
            (
                "ACCESS_TTL = 15 * 60",
                "REFRESH_TTL = 14 * 24 * 60 * 60",
            ),
        ),
        Place(
            "auth/handlers.py",
            76,
            79,
            (
                "access=encode_token(",
                "refresh=encode_token(",
            ),
        ),
    ],
    ("auth-flow", "Passwords are compared with the stored hash before any token is issued."): [
        Place(
            "auth/handlers.py",
            45,
            48,
            (
                "if not crud.verify_password(user, password)",
                "return self._issue(user)",
            ),
        ),
        Place(
            "users/crud.py",
            91,
            94,
            (
                "user.password_hash",
                "hmac.compare_digest",
            ),
        ),
    ],
    (
        "auth-flow",
        "In decode_token the claims are believed only after the signature has been checked.",
    ): [
        Place(
            "auth/jwt_utils.py",
            42,
            52,
            (
                "The claims are believed only after the signature has been checked",
                'raise TokenInvalidError("bad signature")',
                "json.loads(_decode(part))",
            ),
        ),
    ],
    (
        "auth-flow",
        (
            "Protected endpoints turn the Authorization header into a user through "
            "AuthService.authenticate."
        ),
    ): [
        Place(
            "api/routes.py",
            117,
            118,
            ('self.auth.authenticate(request.headers.get("Authorization", ""))',),
        ),
    ],
    ("login-silent", "The reason of a refused login goes to the debug log only."): [
        Place(
            "auth/handlers.py",
            35,
            48,
            (
                "goes to the debug log only",
                'logger.debug("login refused: email unknown or deleted',
                'logger.debug("login refused: wrong password',
            ),
        ),
    ],
    (
        "login-silent",
        (
            "An unknown email and a wrong password both make AuthService.login return None "
            "instead of raising."
        ),
    ): [
        Place(
            "auth/handlers.py",
            42,
            48,
            (
                "if user is None:",
                "if not crud.verify_password",
                "return None",
            ),
        ),
    ],
    ("login-silent", "find_by_email does not see users who were soft-deleted."): [
        Place("users/crud.py", 57, 61, ("WHERE email = ? AND deleted_at IS NULL",)),
    ],
    (
        "login-silent",
        "The login route answers 401 with one and the same message, whatever went wrong.",
    ): [
        Place(
            "api/routes.py", 73, 76, ('Response(401, {"error": "login failed"}) if pair is None',)
        ),
    ],
    (
        "add-user-field",
        (
            "The users table grows by a further entry at the end of MIGRATIONS; released "
            "entries stay as they are."
        ),
    ): [
        Place(
            "db/connection.py",
            8,
            9,
            (
                "append, and leave released ones alone",
                "MIGRATIONS = (",
            ),
        ),
    ],
    (
        "add-user-field",
        "The is_staff column is an ALTER TABLE users ADD COLUMN entry in MIGRATIONS.",
    ): [
        Place(
            "db/connection.py",
            9,
            31,
            (
                "MIGRATIONS",
                "ALTER TABLE users ADD COLUMN is_staff",
            ),
        ),
    ],
    (
        "add-user-field",
        (
            "Rows are unpacked into the User dataclass, so a column that the class lacks "
            "breaks every lookup."
        ),
    ): [
        Place(
            "users/crud.py",
            24,
            32,
            (
                "class User:",
                "is_staff: int",
            ),
        ),
        Place(
            "users/crud.py",
            51,
            54,
            (
                "SELECT * FROM users",
                "User(**row)",
            ),
        ),
    ],
    (
        "add-user-field",
        (
            "Clients get to see only what User.public picks, and the create_user endpoint "
            "forwards each field by name."
        ),
    ): [
        Place(
            "users/crud.py",
            34,
            36,
            ('return {"id": self.id, "email": self.email, "name": self.name}',),
        ),
        Place(
            "api/routes.py",
            81,
            85,
            (
                'data["email"], data["name"], data["password"]',
                "user.public()",
            ),
        ),
    ],
    (
        "stripe-event",
        (
            "The webhook route verifies the event first and then settles the invoice named "
            "in its metadata."
        ),
    ): [
        Place(
            "api/routes.py",
            110,
            115,
            (
                "self.stripe.verify_webhook(request.body, header)",
                'if event["type"] == "charge.succeeded"',
                'self.invoices.mark_paid(event["data"]["object"]["metadata"]["invoice_id"])',
            ),
        ),
    ],
    ("stripe-event", "The webhook_signature is the HMAC-SHA256 of timestamp and payload."): [
        Place(
            "billing/stripe_client.py",
            75,
            77,
            (
                "The HMAC-SHA256 of timestamp and payload",
                "hashlib.sha256",
            ),
        ),
    ],
    (
        "stripe-event",
        "A paid invoice stays as it is when the same event is delivered a second time.",
    ): [
        Place(
            "billing/invoices.py",
            66,
            69,
            (
                "settling it again changes nothing",
                'return invoice if invoice.status == "paid"',
            ),
        ),
    ],
    ("closed-account", "active_email is the UNIQUE INDEX ON users (email)."): [
        Place("db/connection.py", 18, 18, ("CREATE UNIQUE INDEX active_email ON users (email)",)),
    ],
    (
        "closed-account",
        (
            "Uniqueness holds among active users only, since the index skips rows with a "
            "deletion stamp."
        ),
    ): [
        Place(
            "db/connection.py",
            18,
            18,
            ("CREATE UNIQUE INDEX active_email ON users (email) WHERE deleted_at IS NULL",),
        ),
    ],
    ("closed-account", "Deleting a user only stamps deleted_at; the old row remains."): [
        Place(
            "users/crud.py",
            74,
            77,
            (
                "Stamp deleted_at and keep the row",
                "UPDATE users SET deleted_at = ?",
            ),
        ),
    ],
    (
        "closed-account",
        (
            "Registration is refused with DuplicateEmailError only while an active user "
            "holds that mailbox."
        ),
    ): [
        Place(
            "users/crud.py",
            19,
            20,
            (
                "class DuplicateEmailError(ValueError)",
                "An active user already has this email",
            ),
        ),
        Place(
            "users/crud.py",
            46,
            47,
            (
                "except sqlite3.IntegrityError",
                "raise DuplicateEmailError",
            ),
        ),
    ],
    ("kicked-out", "An access token lasts fifteen minutes and a refresh token fourteen days."): [
        Place(
            "auth/handlers.py",
            14,
            15,
            (
                "ACCESS_TTL = 15 * 60",
                "REFRESH_TTL = 14 * 24 * 60 * 60",
            ),
        ),
    ],
    ("kicked-out", "POST /refresh trades a refresh token for a fresh pair."): [
        Place("api/routes.py", 78, 79, ('self.auth.refresh(request.json()["refresh"])',)),
        Place("api/routes.py", 127, 127, ('("POST", "/refresh"): Api.refresh',)),
    ],
    ("kicked-out", "A refresh token is refused if it is used twice."): [
        Place(
            "auth/handlers.py",
            50,
            56,
            (
                "it is refused if it is used twice",
                "INSERT INTO spent_tokens",
                "refresh token was already used",
            ),
        ),
    ],
    ("kicked-out", "An expired access token is still let through for another thirty seconds."): [
        Place("auth/jwt_utils.py", 14, 14, ("LEEWAY_SECONDS = 30",)),
        Place(
            "auth/jwt_utils.py",
            55,
            56,
            (
                'if now > claims["exp"] + LEEWAY_SECONDS',
                "raise TokenExpiredError",
            ),
        ),
    ],
    ("removed-today", "_resolve raises TokenInvalidError when the user of a token is gone."): [
        Place(
            "auth/handlers.py",
            66,
            72,
            (
                "Raises TokenInvalidError when the user of a token is gone",
                "if user is None:",
                "raise TokenInvalidError",
            ),
        ),
    ],
    (
        "removed-today",
        (
            "Each authenticated request looks its user up in the database, so removal takes "
            "effect at once."
        ),
    ): [
        Place("api/routes.py", 117, 118, ("self.auth.authenticate(",)),
        Place("auth/handlers.py", 68, 69, ('crud.get_user(self.db, int(claims["sub"]))',)),
    ],
    ("removed-today", "get_user ignores rows that carry a deletion stamp."): [
        Place("users/crud.py", 51, 54, ("WHERE id = ? AND deleted_at IS NULL",)),
    ],
    ("error-status", "In ERROR_STATUS a TokenError is 401."): [
        Place(
            "api/routes.py",
            16,
            17,
            (
                "ERROR_STATUS",
                "(TokenError, 401)",
            ),
        ),
    ],
    ("error-status", "TokenExpiredError is a TokenError."): [
        Place("auth/jwt_utils.py", 25, 25, ("class TokenExpiredError(TokenError)",)),
    ],
    ("error-status", "A declined card surfaces as CardDeclinedError and becomes a 402."): [
        Place(
            "billing/stripe_client.py",
            66,
            67,
            (
                "if status == 402",
                "raise CardDeclinedError",
            ),
        ),
        Place("api/routes.py", 18, 18, ("(stripe_client.CardDeclinedError, 402)",)),
    ],
    (
        "error-status",
        "An exception that ERROR_STATUS does not name passes through dispatch unchanged.",
    ): [
        Place(
            "api/routes.py",
            67,
            71,
            (
                "for kind, status in ERROR_STATUS",
                "            raise",
            ),
        ),
    ],
    (
        "key-rotation",
        (
            "decode_token tries a single secret, so everything signed with the previous one "
            "fails at once."
        ),
    ): [
        Place(
            "auth/jwt_utils.py",
            42,
            51,
            (
                "secret: bytes",
                "expected = _sign(signing_input, secret)",
                'raise TokenInvalidError("bad signature")',
            ),
        ),
    ],
    ("key-rotation", "AuthService holds one secret for access and refresh tokens alike."): [
        Place(
            "auth/handlers.py",
            28,
            32,
            (
                "class AuthService:",
                "secret: bytes",
            ),
        ),
        Place(
            "auth/handlers.py",
            76,
            79,
            (
                '"access", self.secret',
                '"refresh", self.secret',
            ),
        ),
    ],
    ("key-rotation", "The token header has no key id, only an algorithm and a type."): [
        Place("auth/jwt_utils.py", 13, 13, ('HEADER = {"alg": "HS256", "typ": "JWT"}',)),
    ],
    ("token-verify", "JSON Web Tokens are signed with HMAC-SHA256."): [
        Place("auth/jwt_utils.py", 1, 1, ("JSON Web Tokens, signed with HMAC-SHA256",)),
        Place(
            "auth/jwt_utils.py",
            62,
            63,
            (
                "hmac.digest",
                "hashlib.sha256",
            ),
        ),
    ],
    ("token-verify", "decode_token raises TokenInvalidError for a bad signature."): [
        Place(
            "auth/jwt_utils.py",
            42,
            51,
            (
                "def decode_token",
                'raise TokenInvalidError("bad signature")',
            ),
        ),
    ],
    ("token-verify", "Token signatures are compared in constant time."): [
        Place(
            "auth/jwt_utils.py",
            50,
            50,
            ("hmac.compare_digest(signature.encode(), expected.encode())",),
        ),
    ],
    (
        "money-back",
        "A refund is a part of a charge, or all that remains of it if amount is None.",
    ): [
        Place(
            "billing/stripe_client.py",
            43,
            47,
            (
                "Refund a part of a charge, or all that remains of it if amount is None",
                "/v1/refunds",
            ),
        ),
    ],
    ("money-back", "Refunds of zero or less are turned down before anything reaches Stripe."): [
        Place(
            "billing/stripe_client.py",
            45,
            46,
            (
                "amount <= 0",
                'raise ValueError("a refund needs a positive amount")',
            ),
        ),
    ],
    ("money-back", "Through the API, only staff may refund a charge."): [
        Place(
            "api/routes.py",
            103,
            106,
            (
                "if not self._user(request).is_staff",
                'raise PermissionError("only staff may refund")',
            ),
        ),
    ],
    ("half-saved", "transaction: COMMIT when the block succeeds, ROLLBACK when it raises."): [
        Place(
            "db/connection.py",
            56,
            64,
            (
                "Commit when the block succeeds, roll back when it raises",
                'self.execute("ROLLBACK")',
                'self.execute("COMMIT")',
            ),
        ),
    ],
    ("half-saved", "Each migration and its version number go in together or not at all."): [
        Place(
            "db/connection.py",
            70,
            73,
            (
                "with self.transaction():",
                "self.execute(statement)",
                "PRAGMA user_version = {version}",
            ),
        ),
    ],
    ("half-saved", "update_user makes several changes to one user inside a single transaction."): [
        Place(
            "users/crud.py",
            68,
            70,
            (
                "with db.transaction():",
                "for field, value in changes.items():",
            ),
        ),
    ],
    (
        "owes-late",
        "InvoiceService.overdue: sent invoices whose due date has passed, oldest first.",
    ): [
        Place("billing/invoices.py", 38, 38, ("class InvoiceService:",)),
        Place(
            "billing/invoices.py",
            71,
            74,
            (
                "Sent invoices whose due date has passed, oldest first",
                "status = 'sent' AND due_at < ? ORDER BY due_at",
            ),
        ),
    ],
    ("owes-late", "A bill falls due thirty days after it was mailed."): [
        Place("billing/invoices.py", 11, 11, ("PAYMENT_TERM = 30 * 24 * 60 * 60",)),
        Place("billing/invoices.py", 59, 59, ("due_at = self.clock() + PAYMENT_TERM",)),
    ],
    ("owes-late", "Drafts, voided and settled bills never count as overdue."): [
        Place("billing/invoices.py", 73, 73, ("WHERE status = 'sent'",)),
    ],
    ("double-click", "Calls that repeat an idempotency key share one charge."): [
        Place(
            "billing/stripe_client.py",
            37,
            41,
            (
                "calls that repeat an idempotency key share one charge",
                'self._post("/v1/charges", form, key)',
            ),
        ),
    ],
    (
        "double-click",
        (
            "The idempotency key of a charge comes from a request header that the client has "
            "to send."
        ),
    ): [
        Place(
            "api/routes.py",
            94,
            100,
            (
                'request.headers["Idempotency-Key"]',
                "bill.id, key)",
            ),
        ),
    ],
    (
        "double-click",
        ("Automatic retries after a server error reuse the same key, with three attempts at most."),
    ): [
        Place("billing/stripe_client.py", 10, 10, ("MAX_ATTEMPTS = 3",)),
        Place(
            "billing/stripe_client.py",
            64,
            65,
            (
                "for _ in range(MAX_ATTEMPTS)",
                "self.transport(path, form, key)",
            ),
        ),
    ],
    ("webhook-rejected", "A timestamp outside the tolerance raises WebhookSignatureError."): [
        Place(
            "billing/stripe_client.py",
            49,
            60,
            (
                "Raises WebhookSignatureError",
                'raise WebhookSignatureError("timestamp outside the tolerance")',
            ),
        ),
    ],
    ("webhook-rejected", "WEBHOOK_TOLERANCE is 5 * 60."): [
        Place("billing/stripe_client.py", 11, 11, ("WEBHOOK_TOLERANCE = 5 * 60",)),
    ],
    (
        "webhook-rejected",
        (
            "The server clock may be neither more than five minutes behind nor more than "
            "five minutes ahead."
        ),
    ): [
        Place("billing/stripe_client.py", 11, 11, ("WEBHOOK_TOLERANCE = 5 * 60",)),
        Place(
            "billing/stripe_client.py",
            59,
            59,
            ("abs(self.clock() - int(timestamp)) > WEBHOOK_TOLERANCE",),
        ),
    ],
    ("stolen-file", "hash_password: derive a salted PBKDF2 hash."): [
        Place(
            "users/crud.py",
            85,
            88,
            (
                "def hash_password",
                "Derive a salted PBKDF2 hash",
            ),
        ),
    ],
    ("stolen-file", "PBKDF2_ROUNDS is 120_000."): [
        Place("users/crud.py", 11, 11, ("PBKDF2_ROUNDS = 120_000",)),
    ],
    ("stolen-file", "Every password is hashed with a random salt of sixteen bytes."): [
        Place("users/crud.py", 87, 87, ("secrets.token_bytes(16)",)),
    ],
    ("which-database", "The database is SQLite."): [
        Place("db/connection.py", 1, 1, ("The SQLite database",)),
        Place("db/connection.py", 39, 39, ("sqlite3.connect(path",)),
    ],
    ("which-database", "Unless a path is given, the database lives in memory."): [
        Place("db/connection.py", 38, 38, ('path: str = ":memory:"',)),
    ],
    ("which-database", "Every connection enforces foreign keys."): [
        Place("db/connection.py", 41, 41, ("PRAGMA foreign_keys = ON",)),
    ],
    ("token-format", "A token is three base64url parts joined by dots."): [
        Place("auth/jwt_utils.py", 3, 3, ("A token is three base64url parts joined by dots",)),
    ],
    ("token-format", "The claims are sub, kind, iat, exp and jti."): [
        Place(
            "auth/jwt_utils.py",
            31,
            37,
            (
                '"sub": str(subject)',
                '"kind": kind',
                '"iat": now',
                '"exp": now + ttl',
                '"jti": secrets.token_hex(16)',
            ),
        ),
    ],
    ("token-format", "A token is a JWT whose header names HS256 as the algorithm."): [
        Place("auth/jwt_utils.py", 13, 13, ('HEADER = {"alg": "HS256", "typ": "JWT"}',)),
    ],
    ("http-surface", "ROUTES: POST /charges, POST /refunds, POST /webhooks/stripe."): [
        Place(
            "api/routes.py",
            125,
            133,
            (
                "ROUTES",
                '("POST", "/charges")',
                '("POST", "/refunds")',
                '("POST", "/webhooks/stripe")',
            ),
        ),
    ],
    ("http-surface", "Users can be created, shown and deleted over HTTP."): [
        Place(
            "api/routes.py",
            128,
            130,
            (
                "Api.create_user",
                "Api.show_user",
                "Api.delete_user",
            ),
        ),
    ],
    ("http-surface", "A request to a route that is not listed is answered with a 404."): [
        Place(
            "api/routes.py",
            62,
            64,
            (
                "ROUTES.get((request.method, request.path))",
                'return Response(404, {"error": "no such route"})',
            ),
        ),
    ],
}


@pytest.mark.parametrize(("query_id", "fact"), FACTS)
def test_the_lines_named_for_a_fact_state_it(query_id: str, fact: str) -> None:
    for module, first, last, needles in FACTS[query_id, fact]:
        lines = (CORPUS / module).read_text(encoding="utf-8").splitlines()
        assert 1 <= first <= last <= len(lines)
        passage = "\n".join(lines[first - 1 : last])
        missing = [needle for needle in needles if needle not in passage]
        assert needles
        assert not missing, f"{module}:{first}-{last} lacks {missing}"


@pytest.mark.parametrize(("query_id", "fact"), FACTS)
def test_the_query_file_names_the_same_lines(query_id: str, fact: str) -> None:
    expected = [f"{place.module}:{place.first}-{place.last}" for place in FACTS[query_id, fact]]
    assert QUERIES[query_id]["provenance"][fact] == expected


def test_the_table_has_every_fact_and_no_other() -> None:
    in_file = [(query["id"], fact) for query in QUERIES.values() for fact in query["gold_facts"]]
    assert Counter(in_file) == Counter(FACTS.keys())


@pytest.mark.parametrize("query_id", QUERIES)
def test_provenance_covers_exactly_the_gold_facts(query_id: str) -> None:
    query = QUERIES[query_id]
    assert set(query["provenance"]) == set(query["gold_facts"])


@pytest.mark.parametrize(("query_id", "fact"), FACTS)
def test_a_fact_comes_from_modules_that_are_graded_relevant(query_id: str, fact: str) -> None:
    grades = QUERIES[query_id]["relevance_grades"]
    assert all(grades[place.module] >= 1 for place in FACTS[query_id, fact])


def test_query_ids_are_unique() -> None:
    assert len(QUERIES) == len(DOCUMENT["queries"])


def test_the_file_has_nineteen_queries_of_three_shapes() -> None:
    shapes = Counter(query["shape"] for query in QUERIES.values())
    assert shapes == {"cross-file": 9, "focused": 7, "identity": 3}


def test_the_sample_project_has_exactly_the_seven_modules() -> None:
    found = {path.relative_to(CORPUS).as_posix() for path in CORPUS.rglob("*.py")}
    assert found == MODULES


@pytest.mark.parametrize("query_id", QUERIES)
def test_every_query_grades_all_seven_modules(query_id: str) -> None:
    grades = QUERIES[query_id]["relevance_grades"]
    assert set(grades) == MODULES
    assert all(type(grade) is int and 0 <= grade <= 3 for grade in grades.values())


@pytest.mark.parametrize("query_id", QUERIES)
def test_grades_fit_the_shape(query_id: str) -> None:
    query = QUERIES[query_id]
    grades = list(query["relevance_grades"].values())
    if query["shape"] == "cross-file":
        assert 3 in grades
        assert sum(grade >= 2 for grade in grades) >= 2
    else:
        assert grades.count(3) == 1


@pytest.mark.parametrize("query_id", QUERIES)
def test_every_query_has_two_to_four_distinct_facts(query_id: str) -> None:
    facts = QUERIES[query_id]["gold_facts"]
    assert 2 <= len(facts) <= 4
    assert len(set(facts)) == len(facts)
