"""The error classes, and the tree of them in the documentation."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from p2p_analytics import errors
from p2p_analytics.records import Payment

LINE = re.compile(r"^ {4}(?P<indent>(?:│   |    )*)(?P<branch>├── |└── )?(?P<name>[A-Z]\w+)(?: \((?P<other>\w+)\))?")
CLASSES = {
    name: kind for name, kind in vars(errors).items() if inspect.isclass(kind) and kind.__module__ == errors.__name__
}


def tree_in_documentation() -> dict[str, tuple[str, ...]]:
    """Return each class of the documented tree with the names of its parents."""
    tree: dict[str, tuple[str, ...]] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := LINE.match(line):
            depth = len(match["indent"]) // 4 + bool(match["branch"])
            above = [*above[:depth], match["name"]]
            parents = (above[-2],) if depth else ("Exception",)
            tree[match["name"]] = parents + ((match["other"],) if match["other"] else ())
    return tree


def test_the_documented_tree_is_complete() -> None:
    """The documented tree has exactly the classes, each under its parent, with a second base in brackets."""
    assert tree_in_documentation() == {
        name: tuple(base.__name__ for base in kind.__bases__) for name, kind in CLASSES.items()
    }
    assert {"P2PAnalyticsError", "ServiceError", "RecordError"} <= tree_in_documentation().keys()


def test_one_root_catches_all() -> None:
    """A caller needs one except clause."""
    assert all(issubclass(kind, errors.P2PAnalyticsError) for kind in CLASSES.values())


@pytest.mark.parametrize("kind", [errors.ConfigurationError, errors.MoneyError, errors.SchemaError])
def test_bad_arguments_are_value_errors(kind: type[Exception]) -> None:
    """An error about an argument is also a ValueError, as Python users expect."""
    assert issubclass(kind, ValueError)


def test_which_errors_are_retryable() -> None:
    """A retry can help only if no complete answer arrived, the service was busy, or it failed."""
    retryable = {name for name, kind in CLASSES.items() if getattr(kind, "retryable", False)}
    assert retryable == {"TransportError", "RateLimitedError", "ServerError"}


def test_a_service_error_holds_the_answer() -> None:
    """Status, code and the seconds to wait are attributes; without an answer they are None."""
    error = errors.RateLimitedError("Too many requests.", status_code=429, code="277", retry_after=7.0)
    assert (str(error), error.status_code, error.code, error.retry_after) == ("Too many requests.", 429, "277", 7.0)
    bare = errors.TransportError("No answer.")
    assert (bare.status_code, bare.code, bare.retry_after) == (None, None, None)


def test_an_unknown_outcome_holds_what_was_found() -> None:
    """Its candidates are payments and survive pickling; without any the list is empty."""
    error = errors.OutcomeUnknownError("Lost.", status_code=503, candidates=(Payment(id="1"),))
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (str(copy), copy.status_code, copy.candidates) == ("Lost.", 503, [Payment(id="1")])
    assert errors.OutcomeUnknownError("Lost.").candidates == []


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_errors_cross_processes(name: str) -> None:
    """An error from a worker process arrives complete."""
    error = CLASSES[name]("One sentence.")
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(copy) is type(error)
    assert copy.args == error.args == ("One sentence.",)
