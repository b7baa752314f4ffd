"""The sample project works: a corpus that is searched for answers has to give true ones."""

from __future__ import annotations

import base64
import hashlib
import hmac
import importlib
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

CORPUS = Path(__file__).resolve().parents[1] / "data" / "sample_project"
PACKAGES = ("api", "auth", "billing", "db", "users")
MODULES = (
    "api.routes",
    "auth.handlers",
    "auth.jwt_utils",
    "billing.invoices",
    "billing.stripe_client",
    "db.connection",
    "users.crud",
)
SECRET = b"token secret for tests"
WEBHOOK_SECRET = b"webhook secret for tests"
EMAIL, PASSWORD = "ada@example.org", "correct horse"


def _belongs_to_sample(name: str) -> bool:
    return name.partition(".")[0] in PACKAGES


@contextmanager
def _imported() -> Iterator[SimpleNamespace]:
    """Import the seven modules; afterwards sys.path and sys.modules are as they were."""
    path, bytecode = list(sys.path), sys.dont_write_bytecode
    before = {name: module for name, module in sys.modules.items() if _belongs_to_sample(name)}
    for name in before:
        del sys.modules[name]
    sys.path.insert(0, str(CORPUS))
    # The folder is a corpus: running it must not leave bytecode in it.
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        loaded = {name.rpartition(".")[2]: importlib.import_module(name) for name in MODULES}
        yield SimpleNamespace(**loaded)
    finally:
        for name in [name for name in sys.modules if _belongs_to_sample(name)]:
            del sys.modules[name]
        sys.modules.update(before)
        sys.path[:] = path
        sys.dont_write_bytecode = bytecode


@pytest.fixture
def project() -> Iterator[SimpleNamespace]:
    """The seven modules by their short names."""
    with _imported() as modules:
        yield modules


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class Service:
    """The whole service, wired up in memory, with a client that speaks JSON to it."""

    def __init__(self, project: SimpleNamespace) -> None:
        self.clock = Clock(1_700_000_000)
        self.mails: list[tuple[str, str]] = []
        self.db = project.connection.Database()
        self.db.migrate()
        self.auth = project.handlers.AuthService(self.db, SECRET, self.clock)
        self.transport = project.stripe_client.FakeTransport()
        self.stripe = project.stripe_client.StripeClient(self.transport, WEBHOOK_SECRET, self.clock)
        self.invoices = project.invoices.InvoiceService(
            self.db, lambda to, text: self.mails.append((to, text)), self.clock
        )
        self.api = project.routes.Api(self.db, self.auth, self.stripe, self.invoices, self.clock)
        self._request = project.routes.Request
        self._sign = project.stripe_client.webhook_signature

    def call(self, method: str, path: str, data: Any = None, **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.api.dispatch(self._request(method, path, named, json.dumps(data).encode()))

    def sign_up(self, email: str = EMAIL) -> int:
        data = {"email": email, "name": "Ada", "password": PASSWORD}
        return self.call("POST", "/users", data).body["id"]

    def log_in(self, email: str = EMAIL, password: str = PASSWORD) -> Any:
        return self.call("POST", "/login", {"email": email, "password": password})

    def bearer(self) -> str:
        return f"Bearer {self.log_in().body['access']}"

    def sent_invoice(self, user_id: int, amount: int = 1999) -> int:
        return self.invoices.send(self.invoices.create(user_id, amount).id, EMAIL).id

    def pay(self, bearer: str, invoice_id: int, source: str = "tok_visa", key: str = "k1") -> Any:
        data = {"invoice_id": invoice_id, "source": source}
        return self.call("POST", "/charges", data, Authorization=bearer, Idempotency_Key=key)

    def deliver(self, event: dict[str, Any], secret: bytes = WEBHOOK_SECRET) -> Any:
        payload, timestamp = json.dumps(event).encode(), str(self.clock.now)
        header = f"t={timestamp},v1={self._sign(payload, secret, timestamp)}"
        return self.api.dispatch(
            self._request("POST", "/webhooks/stripe", {"Stripe-Signature": header}, payload)
        )


@pytest.fixture
def service(project: SimpleNamespace) -> Service:
    return Service(project)


def succeeded(invoice_id: int) -> dict[str, Any]:
    return {
        "type": "charge.succeeded",
        "data": {"object": {"metadata": {"invoice_id": invoice_id}}},
    }


def test_the_import_is_undone() -> None:
    path, modules = list(sys.path), dict(sys.modules)
    with _imported() as loaded:
        assert Path(loaded.routes.__file__) == CORPUS / "api" / "routes.py"
        assert sys.path != path
    assert sys.path == path
    assert {name: sys.modules.get(name) for name in modules} == modules
    assert not [name for name in sys.modules.keys() - modules if _belongs_to_sample(name)]


# Users, login and tokens


def test_a_new_user_logs_in_and_sees_themselves(service: Service) -> None:
    user_id = service.sign_up()
    shown = service.call("GET", "/users/me", Authorization=service.bearer())
    assert (shown.status, shown.body) == (200, {"id": user_id, "email": EMAIL, "name": "Ada"})


def test_an_email_matches_whatever_its_case(service: Service) -> None:
    service.sign_up()
    assert service.log_in(email=" ADA@Example.org").status == 200


def test_a_taken_email_is_a_conflict(service: Service) -> None:
    service.sign_up()
    data = {"email": EMAIL, "name": "Eve", "password": PASSWORD}
    assert service.call("POST", "/users", data).status == 409


@pytest.mark.parametrize(
    ("email", "password", "reason"),
    [
        (EMAIL, "wrong horse", "wrong password"),
        ("eve@example.org", PASSWORD, "email unknown or deleted"),
    ],
)
def test_login_refusals_look_alike_but_are_logged(
    service: Service, caplog: pytest.LogCaptureFixture, email: str, password: str, reason: str
) -> None:
    service.sign_up()
    with caplog.at_level(logging.DEBUG, logger="auth.handlers"):
        answer = service.log_in(email, password)
    assert (answer.status, answer.body) == (401, {"error": "login failed"})
    assert reason in caplog.text


def test_passwords_are_stored_salted(project: SimpleNamespace) -> None:
    first = project.crud.hash_password(PASSWORD)
    assert first != project.crud.hash_password(PASSWORD)
    assert PASSWORD not in first


def test_a_short_password_is_refused(service: Service) -> None:
    data = {"email": EMAIL, "name": "Ada", "password": "short"}
    assert service.call("POST", "/users", data).status == 422


def test_refresh_gives_a_working_pair(service: Service) -> None:
    service.sign_up()
    fresh = service.call("POST", "/refresh", {"refresh": service.log_in().body["refresh"]})
    bearer = f"Bearer {fresh.body['access']}"
    assert service.call("GET", "/users/me", Authorization=bearer).status == 200


def test_a_refresh_token_works_once(service: Service) -> None:
    service.sign_up()
    token = {"refresh": service.log_in().body["refresh"]}
    assert service.call("POST", "/refresh", token).status == 200
    assert service.call("POST", "/refresh", token).status == 401


def test_a_refresh_token_opens_no_route(service: Service) -> None:
    service.sign_up()
    bearer = f"Bearer {service.log_in().body['refresh']}"
    assert service.call("GET", "/users/me", Authorization=bearer).status == 401


@pytest.mark.parametrize(("past_expiry", "status"), [(30, 200), (31, 401)])
def test_an_access_token_ends_with_its_leeway(
    service: Service, past_expiry: int, status: int
) -> None:
    service.sign_up()
    bearer = service.bearer()
    service.clock.now += 15 * 60 + past_expiry
    assert service.call("GET", "/users/me", Authorization=bearer).status == status


def test_an_expired_token_is_told_from_an_invalid_one(project: SimpleNamespace) -> None:
    token = project.jwt_utils.encode_token(1, "access", SECRET, now=0, ttl=60)
    with pytest.raises(project.jwt_utils.TokenExpiredError):
        project.jwt_utils.decode_token(token, "access", SECRET, now=91)


def test_a_token_has_the_hs256_signature_of_rfc_7515(project: SimpleNamespace) -> None:
    token = project.jwt_utils.encode_token(7, "access", SECRET, now=0, ttl=60)
    signed, _, signature = token.rpartition(".")
    digest = hmac.new(SECRET, signed.encode(), hashlib.sha256).digest()
    assert signature == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _with_claims(token: str, **claims: Any) -> str:
    header, body, signature = token.split(".")
    padded = body + "=" * (-len(body) % 4)
    changed = json.loads(base64.urlsafe_b64decode(padded)) | claims
    body = base64.urlsafe_b64encode(json.dumps(changed).encode()).rstrip(b"=").decode()
    return f"{header}.{body}.{signature}"


@pytest.mark.parametrize(
    "tamper",
    [
        lambda token: _with_claims(token, sub="2"),
        lambda token: _with_claims(token, exp=2**40),
        lambda token: token[:-2],
        lambda token: "",
        lambda token: "a.b.c",
    ],
    ids=["other user", "later expiry", "cut off", "empty", "garbage"],
)
def test_a_tampered_token_is_refused(
    service: Service, project: SimpleNamespace, tamper: Any
) -> None:
    service.sign_up()
    token = tamper(service.log_in().body["access"])
    with pytest.raises(project.jwt_utils.TokenInvalidError):
        service.auth.authenticate(f"Bearer {token}")


def test_a_token_signed_with_another_secret_is_refused(
    service: Service, project: SimpleNamespace
) -> None:
    user_id = service.sign_up()
    token = project.jwt_utils.encode_token(
        user_id, "access", b"not the secret", now=service.clock.now, ttl=60
    )
    assert service.call("GET", "/users/me", Authorization=f"Bearer {token}").status == 401


def test_a_request_without_a_token_is_refused(service: Service) -> None:
    assert service.call("GET", "/users/me").status == 401


def test_a_soft_deleted_user_can_neither_log_in_nor_go_on(service: Service) -> None:
    user_id = service.sign_up()
    pair = service.log_in().body
    bearer = f"Bearer {pair['access']}"
    assert service.call("DELETE", "/users/me", Authorization=bearer).status == 204
    assert service.log_in().status == 401
    assert service.call("GET", "/users/me", Authorization=bearer).status == 401
    assert service.call("POST", "/refresh", {"refresh": pair["refresh"]}).status == 401
    row = service.db.query_one("SELECT email, deleted_at FROM users WHERE id = ?", user_id)
    assert row == {"email": EMAIL, "deleted_at": service.clock.now}


def test_the_email_of_a_deleted_user_is_free_again(service: Service) -> None:
    first = service.sign_up()
    service.call("DELETE", "/users/me", Authorization=service.bearer())
    assert service.sign_up() != first
    assert service.log_in().status == 200


def test_only_editable_fields_can_be_updated(service: Service, project: SimpleNamespace) -> None:
    user_id = service.sign_up()
    assert project.crud.update_user(service.db, user_id, name="Ada L.").name == "Ada L."
    with pytest.raises(ValueError, match="password_hash"):
        project.crud.update_user(service.db, user_id, password_hash="x")


# Charges, refunds and webhooks


def test_a_charge_takes_the_amount_of_the_invoice(service: Service) -> None:
    invoice_id = service.sent_invoice(service.sign_up())
    answer = service.pay(service.bearer(), invoice_id)
    assert (answer.status, answer.body["amount"]) == (201, 1999)
    assert service.transport.remaining == {answer.body["id"]: 1999}


def test_a_repeated_idempotency_key_charges_once(service: Service) -> None:
    invoice_id, bearer = service.sent_invoice(service.sign_up()), service.bearer()
    first, second = (service.pay(bearer, invoice_id) for _ in range(2))
    assert first == second
    assert len(service.transport.remaining) == 1


def test_a_declined_card_is_payment_required(service: Service) -> None:
    invoice_id = service.sent_invoice(service.sign_up())
    assert service.pay(service.bearer(), invoice_id, source="tok_declined").status == 402


def test_somebody_elses_invoice_cannot_be_paid(service: Service) -> None:
    invoice_id = service.sent_invoice(service.sign_up("eve@example.org"))
    service.sign_up()
    assert service.pay(service.bearer(), invoice_id).status == 404


def test_staff_refund_in_part_and_then_the_rest(service: Service, project: SimpleNamespace) -> None:
    user_id = service.sign_up()
    project.crud.update_user(service.db, user_id, is_staff=1)
    bearer = service.bearer()
    charge = service.pay(bearer, service.sent_invoice(user_id)).body["id"]

    def refund(key: str, amount: int | None = None) -> Any:
        data = {"charge": charge, "amount": amount}
        return service.call("POST", "/refunds", data, Authorization=bearer, Idempotency_Key=key)

    assert refund("r1", 500).body["amount"] == 500
    assert refund("r2", 1500).status == 502
    assert refund("r3", 0).status == 422
    assert refund("r4").body["amount"] == 1499
    assert service.transport.remaining == {charge: 0}


def test_only_staff_may_refund(service: Service) -> None:
    invoice_id, bearer = service.sent_invoice(service.sign_up()), service.bearer()
    data = {"charge": service.pay(bearer, invoice_id).body["id"]}
    answer = service.call("POST", "/refunds", data, Authorization=bearer, Idempotency_Key="r1")
    assert answer.status == 403
    assert service.transport.remaining[data["charge"]] == 1999


def test_server_errors_are_tried_three_times_with_one_key(
    service: Service, project: SimpleNamespace
) -> None:
    keys = []

    def down(path: str, form: dict[str, Any], key: str) -> tuple[int, dict[str, Any]]:
        keys.append(key)
        return 503, {"error": "down"}

    client = project.stripe_client.StripeClient(down, WEBHOOK_SECRET, service.clock)
    with pytest.raises(project.stripe_client.StripeError):
        client.charge(100, "eur", "tok_visa", 1, "k1")
    assert keys == ["k1"] * 3


def test_a_signed_webhook_settles_the_invoice(service: Service) -> None:
    invoice_id = service.sent_invoice(service.sign_up())
    for _ in range(2):
        assert service.deliver(succeeded(invoice_id)).status == 200
        assert service.invoices.get(invoice_id).status == "paid"


def test_a_webhook_with_a_bad_signature_changes_nothing(service: Service) -> None:
    invoice_id = service.sent_invoice(service.sign_up())
    assert service.deliver(succeeded(invoice_id), secret=b"forged").status == 400
    assert service.invoices.get(invoice_id).status == "sent"


@pytest.mark.parametrize("header", ["", "v1=00", "t=,v1=", "t=soon,v1=00", "nonsense"])
def test_a_malformed_signature_header_is_refused(
    service: Service, project: SimpleNamespace, header: str
) -> None:
    with pytest.raises(project.stripe_client.WebhookSignatureError):
        service.stripe.verify_webhook(b"{}", header)


@pytest.mark.parametrize(("drift", "accepted"), [(300, True), (301, False), (-301, False)])
def test_a_webhook_outside_the_tolerance_is_refused(
    service: Service, project: SimpleNamespace, drift: int, accepted: bool
) -> None:
    timestamp = str(service.clock.now)
    signature = project.stripe_client.webhook_signature(b"{}", WEBHOOK_SECRET, timestamp)
    service.clock.now += drift
    header = f"t={timestamp},v1={signature}"
    if accepted:
        assert service.stripe.verify_webhook(b"{}", header) == {}
    else:
        with pytest.raises(project.stripe_client.WebhookSignatureError, match="tolerance"):
            service.stripe.verify_webhook(b"{}", header)


# Invoices


def test_sending_an_invoice_mails_it_and_starts_its_term(service: Service) -> None:
    draft = service.invoices.create(service.sign_up(), 1905)
    sent = service.invoices.send(draft.id, EMAIL)
    assert (draft.status, sent.status) == ("draft", "sent")
    assert sent.due_at == service.clock.now + 30 * 24 * 60 * 60
    assert service.mails == [(EMAIL, f"Please pay 19.05 EUR for invoice {draft.id}.")]


def test_an_invoice_whose_mail_fails_stays_a_draft(
    service: Service, project: SimpleNamespace
) -> None:
    def broken(to: str, text: str) -> None:
        raise ConnectionError("no mail today")

    invoices = project.invoices.InvoiceService(service.db, broken, service.clock)
    draft = invoices.create(service.sign_up(), 1999)
    with pytest.raises(ConnectionError):
        invoices.send(draft.id, EMAIL)
    assert invoices.get(draft.id) == draft


def test_an_invoice_is_not_sent_twice(service: Service, project: SimpleNamespace) -> None:
    invoice_id = service.sent_invoice(service.sign_up())
    with pytest.raises(project.invoices.InvoiceStatusError):
        service.invoices.send(invoice_id, EMAIL)


def test_overdue_lists_open_invoices_past_their_due_date(service: Service) -> None:
    user_id = service.sign_up()
    service.invoices.create(user_id, 100)
    open_id, paid_id = service.sent_invoice(user_id), service.sent_invoice(user_id)
    service.invoices.mark_paid(paid_id)
    service.clock.now += 30 * 24 * 60 * 60
    assert service.invoices.overdue() == []
    service.clock.now += 1
    assert [invoice.id for invoice in service.invoices.overdue()] == [open_id]


# The database and the dispatcher


def test_migrations_run_once(project: SimpleNamespace, tmp_path: Path) -> None:
    path = str(tmp_path / "service.db")
    versions = [project.connection.Database(path).migrate() for _ in range(2)]
    assert versions == [len(project.connection.MIGRATIONS)] * 2


def test_migrations_bring_an_older_file_up_to_date(
    project: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, migrations = str(tmp_path / "service.db"), project.connection.MIGRATIONS
    monkeypatch.setattr(project.connection, "MIGRATIONS", migrations[:1])
    project.connection.Database(path).migrate()
    monkeypatch.setattr(project.connection, "MIGRATIONS", migrations)
    db = project.connection.Database(path)
    db.migrate()
    assert project.crud.create_user(db, EMAIL, "Ada", PASSWORD).is_staff == 0


def test_a_failed_transaction_leaves_no_trace(service: Service) -> None:
    def fail_halfway() -> None:
        with service.db.transaction():
            service.db.execute("INSERT INTO spent_tokens (jti) VALUES ('x')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    assert service.db.query("SELECT * FROM spent_tokens") == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("GET", "/login", 404), ("POST", "/login", 422)],
)
def test_bad_requests_get_a_client_error(
    service: Service, method: str, path: str, status: int
) -> None:
    assert service.call(method, path, {}).status == status


def test_an_unforeseen_error_is_not_swallowed(service: Service) -> None:
    with pytest.raises(TypeError):
        service.call("POST", "/login", None)
