"""OAuth tables: applications, consents, codes and tokens.

Secrets, codes and tokens are stored as SHA-256 digests only. Each consent is one *allowance*; its code and all tokens
that follow from it refer to it, so that one statement ends them together.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from p2p_analytics.sandbox.errors import (
    ExpiredCodeError,
    ForeignCodeError,
    ForgeryError,
    OAuthError,
    RedeemedCodeError,
)
from p2p_analytics.sandbox.storage import schema
from p2p_analytics.sandbox.storage.rows import LARGEST
from p2p_analytics.sandbox.storage.store import Store

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS oauth_unverified (user_id INTEGER PRIMARY KEY REFERENCES users);
CREATE TABLE IF NOT EXISTS oauth_applications (
    client_id TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, redirect_url TEXT, site_url TEXT,
    owner_id INTEGER REFERENCES users, secret_digest BLOB
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS oauth_owner ON oauth_applications (owner_id);
CREATE TABLE IF NOT EXISTS oauth_allowances (
    allowance_id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users, client_id TEXT NOT NULL,
    scopes TEXT NOT NULL, created_us INTEGER NOT NULL, ended TEXT
);
CREATE INDEX IF NOT EXISTS oauth_allower ON oauth_allowances (user_id, client_id);
CREATE TABLE IF NOT EXISTS oauth_codes (
    digest BLOB PRIMARY KEY, allowance_id INTEGER NOT NULL UNIQUE REFERENCES oauth_allowances,
    redirect_url TEXT NOT NULL, expires_us INTEGER NOT NULL, redeemed INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS oauth_tokens (
    digest BLOB PRIMARY KEY, kind TEXT NOT NULL, user_id INTEGER NOT NULL REFERENCES users, scopes TEXT NOT NULL,
    expires_us INTEGER, allowance_id INTEGER REFERENCES oauth_allowances, ended TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS oauth_family ON oauth_tokens (allowance_id);
"""
_ADD_TOKEN: Final = "INSERT INTO oauth_tokens VALUES (?, ?, ?, ?, ?, ?, NULL)"  # noqa: S105 - a query
_OF_CLIENT: Final = "SELECT allowance_id FROM oauth_allowances WHERE client_id = ?"


class Registration(NamedTuple):
    """Registered application (document: "Application registration"); without an owner it belongs to the town."""

    client_id: str
    name: str
    description: str
    redirect_url: str | None
    site_url: str | None
    owner_id: int | None = None
    secret_digest: bytes | None = None


class EndReason(StrEnum):
    """Why a token, or an allowance with its code and tokens, is no longer valid."""

    REVOKED = "revoked"  # by the user, or because its code was used twice
    DELETED = "deleted"  # replaced by a refresh, or its application was deleted


class Grant(NamedTuple):
    """Access token as stored: user, scopes, expiry, reason of its end, id and name of its application."""

    user_id: int
    scopes: str
    expires_us: int
    ended: str | None
    client_id: str | None = None
    application: str | None = None


class AuthorizedApplication(NamedTuple):
    """Application that has access to a user's account; one row per application."""

    client_id: str
    name: str
    description: str
    site_url: str | None
    scopes: str


class Pair(NamedTuple):
    """Digests of a new access token and refresh token, and the expiry of the access token."""

    access: bytes
    refresh: bytes
    expires_us: int


def digest(text: str) -> bytes:
    """Return the digest of a token, code or secret: they are random, so a fast hash without salt suffices."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


class OAuthStore:
    """Applications, allowances, codes and tokens of one store; creates missing tables.

    Parameters
    ----------
    store : Store
        Database of the town.
    applications : iterable of Registration
        Applications to register when the tables are created.
    unverified : iterable of str
        Usernames of the users without a verified identity, stored when the tables are created.
    """

    def __init__(self, store: Store, applications: Iterable[Registration] = (), unverified: Iterable[str] = ()) -> None:
        self._store = store
        with store.writing() as connection:
            new = not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'oauth_tokens'").fetchone()
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            if new:
                connection.executemany("INSERT INTO oauth_applications VALUES (?, ?, ?, ?, ?, ?, ?)", applications)
                query = "INSERT INTO oauth_unverified SELECT user_id FROM users WHERE username = ?"
                connection.executemany(query, [(username,) for username in unverified])
            schema.verify_schema(connection, _SCHEMA.split(";"))

    def counts(self) -> dict[str, int]:
        """Return the number of applications, and the number of all tokens ever issued."""
        tables = ("applications", "tokens")
        query = "SELECT " + ", ".join(f"(SELECT count(*) FROM oauth_{table})" for table in tables)  # noqa: S608 - constants
        return dict(zip(tables, self._store.connection.execute(query).fetchone(), strict=True))

    # -- applications ---------------------------------------------------------------------------

    def application(self, client_id: str) -> Registration | None:
        """Return a registered application."""
        query = "SELECT * FROM oauth_applications WHERE client_id = ?"
        row = self._store.connection.execute(query, (client_id,)).fetchone()
        return Registration(*row) if row else None

    def applications_of(self, owner_id: int) -> list[Registration]:
        """Return a user's own applications by name."""
        query = "SELECT * FROM oauth_applications WHERE owner_id = ? ORDER BY name, client_id"
        return [Registration(*row) for row in self._store.connection.execute(query, (owner_id,))]

    def add_application(self, application: Registration, limit: int = LARGEST) -> bool:
        """Register an application; return False where its owner has `limit` already."""
        query = (
            "INSERT INTO oauth_applications SELECT ?, ?, ?, ?, ?, ?, ? "
            "WHERE (SELECT count(*) FROM oauth_applications WHERE owner_id = ?) < ?"
        )
        return self._store.write(query, (*application, application.owner_id, limit)) == 1

    def set_redirect_url(self, client_id: str, redirect_url: str | None) -> None:
        """Replace or remove the redirect URL on file."""
        self._store.write(
            "UPDATE oauth_applications SET redirect_url = ? WHERE client_id = ?", (redirect_url, client_id)
        )

    def set_secret(self, client_id: str, secret_digest: bytes) -> None:
        """Replace an application's secret."""
        query = "UPDATE oauth_applications SET secret_digest = ? WHERE client_id = ?"
        self._store.write(query, (secret_digest, client_id))

    def remove_application(self, client_id: str) -> None:
        """Delete an application and end its allowances."""
        with self._store.writing() as connection:
            _end(connection, _OF_CLIENT, (client_id,), EndReason.DELETED)
            connection.execute("DELETE FROM oauth_applications WHERE client_id = ?", (client_id,))

    def is_verified(self, user_id: int) -> bool:
        """Return whether a user's identity is verified; only such users register applications."""
        query = "SELECT 1 FROM oauth_unverified WHERE user_id = ?"
        return self._store.connection.execute(query, (user_id,)).fetchone() is None

    def set_verified(self, user_id: int, *, verified: bool) -> None:
        """Mark a user's identity as verified or unverified."""
        delete, insert = (
            "DELETE FROM oauth_unverified WHERE user_id = ?",
            "INSERT OR IGNORE INTO oauth_unverified VALUES (?)",
        )
        self._store.write(delete if verified else insert, (user_id,))

    # -- consents -------------------------------------------------------------------------------

    def add_token(self, token: bytes, grant: Grant, client_id: str | None, now_us: int) -> None:
        """Store a new access token; with a client it gets a separate allowance."""
        with self._store.writing() as connection:
            allowance = None
            if client_id is not None:
                allowance = _allow(connection, grant.user_id, client_id, grant.scopes, now_us)
            connection.execute(_ADD_TOKEN, (token, "access", grant.user_id, grant.scopes, grant.expires_us, allowance))

    def add_code(self, code: bytes, grant: Grant, client_id: str, redirect_url: str, now_us: int) -> None:
        """Store a new code with a separate allowance; ``expires_us`` of the grant is the code's expiry."""
        with self._store.writing() as connection:
            allowance = _allow(connection, grant.user_id, client_id, grant.scopes, now_us)
            query = "INSERT INTO oauth_codes VALUES (?, ?, ?, ?, 0)"
            connection.execute(query, (code, allowance, redirect_url, grant.expires_us))

    def list_authorized_applications(self, user_id: int, now_us: int) -> list[AuthorizedApplication]:
        """Return the applications that have access to the user's account, by name, with all their scopes."""
        query = (
            "SELECT client_id, name, description, site_url, group_concat(scopes, ' ') "
            "FROM oauth_allowances AS allowance JOIN oauth_applications USING (client_id) "
            "WHERE user_id = ? AND ended IS NULL AND ("
            "EXISTS (SELECT 1 FROM oauth_tokens AS token WHERE token.allowance_id = allowance.allowance_id "
            "AND token.ended IS NULL AND (token.expires_us IS NULL OR token.expires_us > ?)) "
            "OR EXISTS (SELECT 1 FROM oauth_codes AS code WHERE code.allowance_id = allowance.allowance_id "
            "AND NOT code.redeemed AND code.expires_us > ?)) GROUP BY client_id ORDER BY name, client_id"
        )
        return [AuthorizedApplication(*row) for row in self._store.connection.execute(query, (user_id, now_us, now_us))]

    def revoke(self, user_id: int, client_id: str) -> None:
        """End all allowances that a user gave an application."""
        with self._store.writing() as connection:
            _end(connection, f"{_OF_CLIENT} AND user_id = ?", (client_id, user_id), EndReason.REVOKED)

    # -- codes and tokens -----------------------------------------------------------------------

    def redeem(
        self, code: bytes, client_id: str, redirect_url: str | None, pair: Pair, now_us: int
    ) -> Grant | OAuthError:
        """Exchange a code for the pair, once, or return why not; a second use ends all its tokens (RFC 6749, 4.1.2)."""
        query = (
            "SELECT allowance_id, client_id, user_id, scopes, ended, redirect_url, expires_us, redeemed "
            "FROM oauth_codes JOIN oauth_allowances USING (allowance_id) WHERE digest = ?"
        )
        with self._store.writing() as connection:
            row = connection.execute(query, (code,)).fetchone()
            if row is None:
                return OAuthError("This sandbox has not issued this code.")
            stored = _Code(*row)
            refusal: OAuthError | None = None
            if stored.client_id != client_id:  # checked first, so that a foreign attempt ends nothing
                refusal = ForeignCodeError()
            elif stored.redeemed:
                refusal = RedeemedCodeError()
                _end(connection, "?", (stored.allowance_id,), EndReason.REVOKED)
            elif stored.ended is not None:
                refusal = OAuthError("The user has revoked the consent of this code.")
            elif stored.expires_us <= now_us:
                refusal = ExpiredCodeError()
            elif redirect_url not in (None, stored.redirect_url):
                refusal = OAuthError("redirect_uri is not the URL that this code was sent to.")
            if refusal is not None:
                return refusal
            connection.execute("UPDATE oauth_codes SET redeemed = 1 WHERE digest = ?", (code,))
            _add_pair(connection, pair, stored.user_id, stored.scopes, stored.allowance_id)
            return Grant(stored.user_id, stored.scopes, pair.expires_us, None)

    def refresh(self, token: bytes, client_id: str, pair: Pair) -> Grant | None:
        """Replace both tokens of a valid refresh token of this client; return None where there is none."""
        query = (
            "SELECT allowance_id, oauth_tokens.user_id, oauth_tokens.scopes FROM oauth_tokens "
            "JOIN oauth_allowances USING (allowance_id) WHERE digest = ? AND kind = 'refresh' "
            "AND oauth_tokens.ended IS NULL AND oauth_allowances.ended IS NULL AND client_id = ?"
        )
        with self._store.writing() as connection:
            row = connection.execute(query, (token, client_id)).fetchone()
            if row is None:
                return None
            allowance, user_id, scopes = row
            connection.execute(
                "UPDATE oauth_tokens SET ended = ? WHERE allowance_id = ? AND ended IS NULL",
                (EndReason.DELETED, allowance),
            )
            _add_pair(connection, pair, user_id, scopes, allowance)
            return Grant(user_id, scopes, pair.expires_us, None)

    def find_access_token(self, token: bytes) -> Grant | None:
        """Return the access token with a digest."""
        query = (
            "SELECT token.user_id, token.scopes, expires_us, token.ended, client_id, name FROM oauth_tokens AS token "
            "LEFT JOIN oauth_allowances USING (allowance_id) LEFT JOIN oauth_applications USING (client_id) "
            "WHERE digest = ? AND kind = 'access'"
        )
        row = self._store.connection.execute(query, (token,)).fetchone()
        return Grant(*row) if row else None

    def expire(self, token: bytes, expires_us: int) -> bool:
        """Change the expiry of an access token; return False for an unknown token."""
        query = "UPDATE oauth_tokens SET expires_us = ? WHERE digest = ? AND kind = 'access'"
        return self._store.write(query, (expires_us, token)) == 1


class _Code(NamedTuple):
    """Code with its allowance."""

    allowance_id: int
    client_id: str
    user_id: int
    scopes: str
    ended: str | None
    redirect_url: str
    expires_us: int
    redeemed: int


def _allow(connection: sqlite3.Connection, user_id: int, client_id: str, scopes: str, now_us: int) -> int:
    """Store an allowance and return its id; its application may have been deleted since the page was shown."""
    query = (
        "INSERT INTO oauth_allowances (user_id, client_id, scopes, created_us) SELECT ?, client_id, ?, ? "
        "FROM oauth_applications WHERE client_id = ? RETURNING allowance_id"
    )
    row = connection.execute(query, (user_id, scopes, now_us, client_id)).fetchone()
    if row is None:
        raise ForgeryError("This application has been deleted since the page was shown.")
    return int(row[0])


def _add_pair(connection: sqlite3.Connection, pair: Pair, user_id: int, scopes: str, allowance: int) -> None:
    connection.execute(_ADD_TOKEN, (pair.access, "access", user_id, scopes, pair.expires_us, allowance))
    connection.execute(_ADD_TOKEN, (pair.refresh, "refresh", user_id, scopes, None, allowance))


def _end(connection: sqlite3.Connection, which: str, values: tuple[object, ...], reason: EndReason) -> None:
    """End the allowances that a query of this module selects, and their tokens."""
    for table in ("oauth_allowances", "oauth_tokens"):
        query = f"UPDATE {table} SET ended = ? WHERE ended IS NULL AND allowance_id IN ({which})"  # noqa: S608 - constants of this module
        connection.execute(query, (reason, *values))
