"""Use of the sign-in form as a user in front of a browser."""

import html
import re
from typing import Any

import requests

import p2p_analytics as p2p


def displayed_text(form: p2p.TokenForm) -> str:
    """Return the text below the box, without markup."""
    return html.unescape(re.sub(r"<[^>]*>", " ", form._message_html.value + form._time_html.value))


def complete_sign_in(server: Any, form: p2p.TokenForm, *, allow: bool = True) -> None:
    """Follow the link, agree or decline, and follow the redirect to the last page of the listener."""
    answer = requests.get(server.sign_in(form.link, server.viewer, allow=allow), timeout=10)
    assert answer.url.endswith("/done")
