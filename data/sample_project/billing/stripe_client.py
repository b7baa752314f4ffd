"""Charges, refunds and signed webhooks of the Stripe API."""

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MAX_ATTEMPTS = 3
WEBHOOK_TOLERANCE = 5 * 60

Json = dict[str, Any]
Transport = Callable[[str, Json, str], tuple[int, Json]]


class StripeError(Exception):
    """Stripe refused a request, or could not be reached."""


class CardDeclinedError(StripeError):
    """The bank behind the card refused it."""


class WebhookSignatureError(StripeError):
    """The signature of an event is forged, or too old to be trusted."""


@dataclass(frozen=True)
class StripeClient:
    """Talks to Stripe through a transport: HTTPS in production, a fake one in tests."""

    transport: Transport
    webhook_secret: bytes
    clock: Callable[[], int]

    def charge(self, amount: int, currency: str, source: str, invoice_id: int, key: str) -> Json:
        """Charge a card; calls that repeat an idempotency key share one charge."""
        metadata = {"invoice_id": invoice_id}
        form = {"amount": amount, "currency": currency, "source": source, "metadata": metadata}
        return self._post("/v1/charges", form, key)

    def refund(self, charge_id: str, amount: int | None, key: str) -> Json:
        """Refund a part of a charge, or all that remains of it if amount is None."""
        if amount is not None and amount <= 0:
            raise ValueError("a refund needs a positive amount")
        return self._post("/v1/refunds", {"charge": charge_id, "amount": amount}, key)

    def verify_webhook(self, payload: bytes, header: str) -> Json:
        """Check the ``t=...,v1=...`` signature of a webhook and return its event.

        Raises WebhookSignatureError for a bad signature or an old timestamp.
        """
        fields = dict(item.partition("=")[::2] for item in header.split(","))
        timestamp = fields.get("t", "")
        expected = webhook_signature(payload, self.webhook_secret, timestamp)
        if not hmac.compare_digest(expected.encode(), fields.get("v1", "").encode()):
            raise WebhookSignatureError("bad signature")
        if abs(self.clock() - int(timestamp)) > WEBHOOK_TOLERANCE:
            raise WebhookSignatureError("timestamp outside the tolerance")
        return json.loads(payload)

    def _post(self, path: str, form: Json, key: str) -> Json:
        for _ in range(MAX_ATTEMPTS):
            status, body = self.transport(path, form, key)
            if status == 402:
                raise CardDeclinedError(body["error"])
            if status < 400:
                return body
            if status < 500:
                raise StripeError(body["error"])
        raise StripeError(f"{path} failed {MAX_ATTEMPTS} times")


def webhook_signature(payload: bytes, secret: bytes, timestamp: str) -> str:
    """The HMAC-SHA256 of timestamp and payload, as Stripe computes it."""
    return hmac.digest(secret, f"{timestamp}.".encode() + payload, hashlib.sha256).hex()


@dataclass
class FakeTransport:
    """An in-process Stripe that replays its answer to a known idempotency key."""

    remaining: dict[str, int] = field(default_factory=dict)
    answers: dict[str, tuple[int, Json]] = field(default_factory=dict)

    def __call__(self, path: str, form: Json, key: str) -> tuple[int, Json]:
        if key not in self.answers:
            answer = self._charge(form) if path == "/v1/charges" else self._refund(form)
            self.answers[key] = answer
        return self.answers[key]

    def _charge(self, form: Json) -> tuple[int, Json]:
        if form["source"] == "tok_declined":
            return 402, {"error": "card declined"}
        charge_id = f"ch_{len(self.remaining) + 1}"
        self.remaining[charge_id] = form["amount"]
        return 200, {"id": charge_id, "amount": form["amount"], "status": "succeeded"}

    def _refund(self, form: Json) -> tuple[int, Json]:
        rest = self.remaining.get(form["charge"], 0)
        amount = form["amount"] or rest
        if not 0 < amount <= rest:
            return 400, {"error": "refund exceeds the charge"}
        self.remaining[form["charge"]] -= amount
        return 200, {"id": f"re_{len(self.answers) + 1}", "amount": amount, "status": "succeeded"}
