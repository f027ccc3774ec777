"""Additional checks for schemathesis, and test cases that no schema can describe.

The program `schemathesis` loads this module, not the tests.
"""

import re
from collections import Counter
from datetime import date
from email import policy
from email.parser import BytesParser
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import schemathesis
from jsonschema_rs import Draft202012Validator
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData

# Well formed and still refused: no such resource; no such user id; the own user id; not an amount of the fixed test
# user.
NOT_OF_SHAPE = {"283", "1343", "1356", "502", "503"}
FORMS = {"multipart/form-data", "application/x-www-form-urlencoded"}


@schemathesis.check
def error_envelope(ctx: Any, response: Any, case: Any) -> None:
    """Check that the body of an error is {"error": {"message": text, "code": text or number}} and nothing else."""
    if response.status_code < 400:
        return
    body = response.json()
    assert body.keys() == {"error"}, "The envelope holds more than the error."
    assert body["error"].keys() == {"message", "code"}, "An error is a message and a code."
    message, code = body["error"]["message"], body["error"]["code"]
    assert isinstance(message, str), "The message is text."
    assert message.endswith("."), "The message is a sentence."
    assert type(code) in (str, int), "The code is text or a number."


@schemathesis.check
def accepted_query(ctx: Any, response: Any, case: Any) -> None:
    """Check that each query parameter of an accepted request has at most one value, which matches its schema.

    The program's own check ignores a bad value next to a good one, and every query holds a good token.
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
    """Return the value of a query parameter of this type."""
    if kind == "array":
        return [word.strip() for word in text.split(",") if word.strip()]
    if kind == "integer":
        return int(text) if re.fullmatch("[+-]?[0-9]+", text) else text
    return text


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Remove from a valid body what the service refuses for a reason that no schema can express."""
    if isinstance(case.body, dict) and case.meta is not None and case.meta.generation.mode.is_positive:
        case.body.pop("access_token", None)  # The query holds the real one, and two different tokens are refused.
        for name in ("user_id", "phone"):
            if isinstance(case.body.get(name), float):  # 5.0 is an integer to a schema.
                case.body[name] = int(case.body[name])


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Return whether a failure counts: not if no schema can express why the request was accepted or refused."""
    query = {name: value for name, value in (case.query or {}).items() if isinstance(value, str)}
    if isinstance(failure, AcceptedNegativeData):
        if str(case.media_type) in FORMS and is_described_form(case, response.request):
            return False  # A generated number or boolean is sent as text, and the text is as described.
        return not any(value.isspace() for value in query.values())  # A blank value counts as missing.
    if not isinstance(failure, RejectedPositiveData):
        return True
    code = str(response.json()["error"]["code"])
    if code in NOT_OF_SHAPE and (code != "1343" or case.body.get("user_id")):
        return False
    if case.operation.label == "GET /payments":
        return all(exists(query[name][:10]) for name in ("after", "before") if query.get(name))
    return True


def is_described_form(case: Any, request: Any) -> bool:
    """Return whether the fields of a form, as sent, are valid against the schema of the request body."""
    fields = form_fields(request)
    if max(Counter(name for name, _ in fields).values(), default=1) > 1:
        return False
    schema = case.operation.definition.raw["requestBody"]["content"][str(case.media_type)]["schema"]
    return Draft202012Validator(schema).is_valid(dict(fields))


def form_fields(request: Any) -> list[tuple[str, str]]:
    """Return names and values of a form in the body of a request; the value of a file is not text and left out."""
    body = request.body.encode() if isinstance(request.body, str) else request.body or b""
    kind = request.headers["Content-Type"]
    if not kind.startswith("multipart/"):
        return parse_qsl(body.decode(), keep_blank_values=True)
    parts = BytesParser(policy=policy.HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body).iter_parts()
    return [
        (part.get_param("name", header="content-disposition"), part.get_payload(decode=True).decode())
        for part in parts
        if part.get_filename() is None
    ]


def exists(day: str) -> bool:
    """Return whether a day is in the calendar, which begins with year 1."""
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True
