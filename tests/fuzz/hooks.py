"""What schemathesis is told beyond the description: the envelope of every error, and what no schema can say.

It is loaded by the program `schemathesis`, not by the tests.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import schemathesis
from jsonschema import Draft202012Validator
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData

# Well formed, and yet refused: there is no such resource; nobody has this user id; it is one's own; not an amount of
# the fixed test user.
NOT_OF_SHAPE = {"283", "1343", "1356", "502", "503"}
FORMS = {"multipart/form-data", "application/x-www-form-urlencoded"}


@schemathesis.check
def error_envelope(ctx: Any, response: Any, case: Any) -> None:
    """Every answer from 400 on is {"error": {"message": text, "code": text or a number}}, and nothing else."""
    if response.status_code < 400:
        return
    body = response.json()
    assert body.keys() == {"error"}, "The envelope holds something beside the error."
    assert body["error"].keys() == {"message", "code"}, "An error is a message and a code."
    message, code = body["error"]["message"], body["error"]["code"]
    assert isinstance(message, str), "The message is text."
    assert message.endswith("."), "The message is a sentence."
    assert type(code) in (str, int), "The code is text or a number."


@schemathesis.check
def accepted_query(ctx: Any, response: Any, case: Any) -> None:
    """Each parameter in the query of what is accepted has at most one value, and that is as described.

    The program's own check passes over a bad value beside a good one, and the token is a good one in every query.
    """
    if response.status_code >= 400:
        return
    sent = parse_qsl(urlsplit(response.request.url).query)
    for parameter in case.operation.definition.raw.get("parameters", ()):
        name, schema = parameter["name"], parameter["schema"]
        values = [value.strip() for key, value in sent if key == name and value.strip()]
        assert len(values) <= 1, f"{name} is given more than once and accepted."
        for value in values:
            assert Draft202012Validator(schema).is_valid(read(value, schema["type"])), f"{name} is bad and accepted."


def read(text: str, kind: str) -> object:
    """Return what the text of a query says to whoever expects this type."""
    if kind == "array":
        return [word.strip() for word in text.split(",") if word.strip()]
    if kind == "integer":
        return int(text) if re.fullmatch("[+-]?[0-9]+", text) else text
    return text


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Take out of a good body what makes it a bad one, though no schema can say so."""
    if isinstance(case.body, dict) and case.meta is not None and case.meta.generation.mode.is_positive:
        case.body.pop("access_token", None)  # the real one comes in the query, and two different ones are refused
        for name in ("user_id", "phone"):
            if isinstance(case.body.get(name), float):  # to a schema 5.0 is an integer
                case.body[name] = int(case.body[name])


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Say whether a failure is one: not where a request is taken or refused for what no schema can say."""
    query = {name: value for name, value in (case.query or {}).items() if isinstance(value, str)}
    if isinstance(failure, AcceptedNegativeData):
        if str(case.media_type) in FORMS and "violates `type`" in failure.message:
            return False  # a field of a form is text, whatever was made up for it
        return not any(value.isspace() for value in query.values())  # blanks are as good as nothing
    if not isinstance(failure, RejectedPositiveData):
        return True
    code = str(response.json()["error"]["code"])
    if code in NOT_OF_SHAPE and (code != "1343" or case.body.get("user_id")):
        return False
    if case.operation.label == "GET /payments":
        return all(exists(query[name][:10]) for name in ("after", "before") if query.get(name))
    return True


def exists(day: str) -> bool:
    """Say whether a day is in the calendar, whose years begin with 1."""
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True
