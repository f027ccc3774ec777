"""Every testable sentence of the interface document, with its test over HTTP.

A row has its kind, its subject, a summary of the document's sentence, and the file (below ``tests/``) and name
of its test. Questions that the document leaves open ("not shown") have rows of the kind "open" with the sandbox's rule.
The kind "statement" is for sentences about agreements and people, which have no HTTP behaviour to test.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from contract.document_endpoints import (
    AUTHENTICATION,
    CLIENT_SIDE,
    ERRORS,
    EVENTS,
    EVERY_ENDPOINT,
    GET_AUTHORIZE,
    GET_FRIENDS,
    GET_ME,
    GET_PAYMENT,
    GET_PAYMENTS,
    GET_USER,
    LIMITS,
    POST_PAYMENTS,
    PUT_PAYMENT,
    REGISTRATION,
    SCOPES,
    SERVER_SIDE,
    VERSIONING,
)
from contract.document_resources import (
    CURRENT_USER,
    ENVELOPE,
    OUTCOMES,
    PAGINATION,
    PAYMENT,
    SERVICE,
    STATES,
    TARGET,
    USER,
)


class Row(NamedTuple):
    """Sentence of the document; ``path`` and ``name`` of its test are empty for a statement."""

    section: str
    kind: str
    item: str
    says: str
    path: str
    name: str

    @property
    def test(self) -> str:
        """The pytest node id of the test, below the tests folder."""
        return f"{self.path}::{self.name}" if self.path else ""


# The document's headings in order; one of them has no text, only further headings.
DOCUMENT: Final = {
    "What the service does": SERVICE,
    "Resources and their fields": [],
    "User": USER,
    "Current-user envelope (GET /me)": CURRENT_USER,
    "Payment (covers both payments and charges)": PAYMENT,
    "Target": TARGET,
    "Pagination object": PAGINATION,
    "Error envelope": ENVELOPE,
    "States and transitions": STATES,
    "Sandbox outcomes": OUTCOMES,
    "Endpoints": EVERY_ENDPOINT,
    "GET /me": GET_ME,
    "GET /users/:user_id": GET_USER,
    "GET /users/:user_id/friends": GET_FRIENDS,
    "POST /payments": POST_PAYMENTS,
    "GET /payments": GET_PAYMENTS,
    "GET /payments/:payment": GET_PAYMENT,
    "PUT /payments/:payment": PUT_PAYMENT,
    "GET /oauth/authorize": GET_AUTHORIZE,
    "Authentication": AUTHENTICATION,
    "Application registration": REGISTRATION,
    "Client-side flow": CLIENT_SIDE,
    "Server-side flow": SERVER_SIDE,
    "Scopes named": SCOPES,
    "Events": EVENTS,
    "Errors": ERRORS,
    "Limits": LIMITS,
    "Versioning": VERSIONING,
}

ROWS: Final = [Row(section, *row) for section, rows in DOCUMENT.items() for row in rows]
