"""The HTTP surface: every endpoint, and the status code behind every error."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from auth.handlers import AuthService, TokenPair
from auth.jwt_utils import TokenError
from billing import stripe_client
from billing.invoices import InvoiceService
from db.connection import Database
from users import crud

# The first class that matches wins, so subclasses stand before their base.
ERROR_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (TokenError, 401),
    (stripe_client.CardDeclinedError, 402),
    (stripe_client.WebhookSignatureError, 400),
    (stripe_client.StripeError, 502),
    (PermissionError, 403),
    (crud.DuplicateEmailError, 409),
    (KeyError, 422),
    (LookupError, 404),
    (ValueError, 422),
)


@dataclass(frozen=True)
class Request:
    """What the web server hands us."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"{}"

    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


@dataclass(frozen=True)
class Response:
    """What the web server sends on."""

    status: int
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Api:
    """Dispatches requests to the services behind them."""

    db: Database
    auth: AuthService
    stripe: stripe_client.StripeClient
    invoices: InvoiceService
    clock: Callable[[], int]

    def dispatch(self, request: Request) -> Response:
        """Run the handler of a route and turn known errors into a status."""
        handler = ROUTES.get((request.method, request.path))
        if handler is None:
            return Response(404, {"error": "no such route"})
        try:
            return handler(self, request)
        except Exception as error:
            for kind, status in ERROR_STATUS:
                if isinstance(error, kind):
                    return Response(status, {"error": str(error)})
            raise

    def login(self, request: Request) -> Response:
        data = request.json()
        pair = self.auth.login(data["email"], data["password"])
        return Response(401, {"error": "login failed"}) if pair is None else _tokens(pair)

    def refresh(self, request: Request) -> Response:
        return _tokens(self.auth.refresh(request.json()["refresh"]))

    def create_user(self, request: Request) -> Response:
        """Sign up; open to everybody."""
        data = request.json()
        user = crud.create_user(self.db, data["email"], data["name"], data["password"])
        return Response(201, user.public())

    def show_user(self, request: Request) -> Response:
        return Response(200, self._user(request).public())

    def delete_user(self, request: Request) -> Response:
        crud.soft_delete_user(self.db, self._user(request).id, now=self.clock())
        return Response(204)

    def charge(self, request: Request) -> Response:
        """Pay one of the caller's own invoices; a paid one is refused, lest it be paid twice."""
        user, data, key = self._user(request), request.json(), request.headers["Idempotency-Key"]
        bill = self.invoices.get(data["invoice_id"])
        if bill.user_id != user.id or bill.status != "sent":
            raise LookupError(f"no open invoice {bill.id}")
        charge = self.stripe.charge(bill.amount, bill.currency, data["source"], bill.id, key)
        return Response(201, charge)

    def refund(self, request: Request) -> Response:
        """For staff, on behalf of a customer."""
        if not self._user(request).is_staff:
            raise PermissionError("only staff may refund")
        data, key = request.json(), request.headers["Idempotency-Key"]
        return Response(201, self.stripe.refund(data["charge"], data.get("amount"), key))

    def webhook(self, request: Request) -> Response:
        header = request.headers.get("Stripe-Signature", "")
        event = self.stripe.verify_webhook(request.body, header)
        if event["type"] == "charge.succeeded":
            self.invoices.mark_paid(event["data"]["object"]["metadata"]["invoice_id"])
        return Response(200)

    def _user(self, request: Request) -> crud.User:
        return self.auth.authenticate(request.headers.get("Authorization", ""))


def _tokens(pair: TokenPair) -> Response:
    return Response(200, {"access": pair.access, "refresh": pair.refresh, "in": pair.expires_in})


ROUTES: dict[tuple[str, str], Callable[[Api, Request], Response]] = {
    ("POST", "/login"): Api.login,
    ("POST", "/refresh"): Api.refresh,
    ("POST", "/users"): Api.create_user,
    ("GET", "/users/me"): Api.show_user,
    ("DELETE", "/users/me"): Api.delete_user,
    ("POST", "/charges"): Api.charge,
    ("POST", "/refunds"): Api.refund,
    ("POST", "/webhooks/stripe"): Api.webhook,
}
