"""Invoices: what a customer has to pay, from the first draft to the payment.

Money is counted in whole cents, as integers, to keep rounding errors out.
"""

from collections.abc import Callable
from dataclasses import dataclass

from db.connection import Database

PAYMENT_TERM = 30 * 24 * 60 * 60

# Which status may follow which.
TRANSITIONS = {"draft": {"sent", "void"}, "sent": {"paid", "void"}, "paid": set(), "void": set()}


class InvoiceStatusError(ValueError):
    """The invoice has the wrong status for this step."""


@dataclass(frozen=True)
class Invoice:
    """One bill to one user."""

    id: int
    user_id: int
    amount: int
    currency: str
    status: str
    due_at: int | None

    def total(self) -> str:
        """Write 1999 cents as ``19.99 EUR``."""
        return f"{self.amount // 100}.{self.amount % 100:02d} {self.currency.upper()}"


@dataclass(frozen=True)
class InvoiceService:
    """Writes invoices, mails them and follows their status."""

    db: Database
    mailer: Callable[[str, str], None]
    clock: Callable[[], int]

    def create(self, user_id: int, amount: int, currency: str = "eur") -> Invoice:
        """Draft an invoice; the customer hears of it only when it is sent."""
        sql = "INSERT INTO invoices (user_id, amount, currency, status) VALUES (?, ?, ?, 'draft')"
        return self.get(self.db.execute(sql, (user_id, amount, currency)).lastrowid)

    def get(self, invoice_id: int | None) -> Invoice:
        """Return one invoice, or raise LookupError."""
        row = self.db.query_one("SELECT * FROM invoices WHERE id = ?", invoice_id)
        if row is None:
            raise LookupError(f"no invoice {invoice_id}")
        return Invoice(**row)

    def send(self, invoice_id: int, email: str) -> Invoice:
        """Mail a draft and start its payment term; if mailing fails it remains a draft."""
        due_at = self.clock() + PAYMENT_TERM
        with self.db.transaction():
            invoice = self._move(invoice_id, "sent")
            self.db.execute("UPDATE invoices SET due_at = ? WHERE id = ?", (due_at, invoice_id))
            self.mailer(email, f"Please pay {invoice.total()} for invoice {invoice_id}.")
        return self.get(invoice_id)

    def mark_paid(self, invoice_id: int) -> Invoice:
        """Settle a sent invoice; settling it again changes nothing."""
        invoice = self.get(invoice_id)
        return invoice if invoice.status == "paid" else self._move(invoice_id, "paid")

    def overdue(self) -> list[Invoice]:
        """Sent invoices whose due date has passed, oldest first."""
        sql = "SELECT * FROM invoices WHERE status = 'sent' AND due_at < ? ORDER BY due_at"
        return [Invoice(**row) for row in self.db.query(sql, self.clock())]

    def _move(self, invoice_id: int, status: str) -> Invoice:
        current = self.get(invoice_id).status
        if status not in TRANSITIONS[current]:
            raise InvoiceStatusError(f"invoice {invoice_id} cannot go from {current} to {status}")
        self.db.execute("UPDATE invoices SET status = ? WHERE id = ?", (status, invoice_id))
        return self.get(invoice_id)
