"""HTML pages of the listener, without scripts or external resources; other pages can neither frame nor read them."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import Final

_STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{margin:0;min-height:100vh;display:grid;place-items:center;font:1.05rem/1.6 system-ui,sans-serif;"
    "background:light-dark(#f4f6f8,#16191d);color:light-dark(#1f2933,#e4e7eb)}"
    "main{max-width:28rem;margin:1.5rem;padding:2rem 2.5rem;border-radius:.75rem;"
    "background:light-dark(#fff,#20252b);box-shadow:0 1px 2px #0002,0 8px 24px #0001}"
    "h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25}p{margin:0}"
)
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

HEADERS: Final = (
    "Content-Type: text/html; charset=utf-8",
    "Cache-Control: no-store",
    "Referrer-Policy: no-referrer",
    f"Content-Security-Policy: default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; frame-ancestors 'none'",
    "X-Frame-Options: DENY",
    "X-Content-Type-Options: nosniff",
    "Cross-Origin-Resource-Policy: same-origin",
)


def render_page(title: str, sentence: str) -> bytes:
    """Return a page with a heading and a sentence, both plain text."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1><p>{escape(sentence)}</p></main></body></html>"
    ).encode()
