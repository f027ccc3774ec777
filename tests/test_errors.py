"""The error classes, and the tree of them in the documentation."""

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


def test_the_documented_tree_is_complete() -> None:
    """The documented tree has exactly the classes, each under its parent, with a second base in brackets."""
    tree: dict[str, tuple[str, ...]] = {}
    above: list[str] = []
    for match in filter(None, map(LINE.match, (errors.__doc__ or "").splitlines())):
        depth = len(match["indent"]) // 4 + bool(match["branch"])
        above = [*above[:depth], match["name"]]
        tree[match["name"]] = ((above[-2],) if depth else ("Exception",)) + (
            (match["other"],) if match["other"] else ()
        )
    assert tree == {name: tuple(base.__name__ for base in kind.__bases__) for name, kind in CLASSES.items()}
    assert all(issubclass(kind, errors.P2PAnalyticsError) for kind in CLASSES.values()), "one clause catches all"
    retryable = {name for name, kind in CLASSES.items() if getattr(kind, "retryable", False)}
    assert retryable == {"TransportError", "RateLimitedError", "ServerError"}


def test_a_service_error_holds_the_answer() -> None:
    """Status, code and the seconds to wait are attributes; without an answer they are None."""
    error = errors.RateLimitedError("Too many requests.", status_code=429, code="277", retry_after=7.0)
    assert (str(error), error.status_code, error.code, error.retry_after) == ("Too many requests.", 429, "277", 7.0)
    error.said, error.args = "CANARY", ("Too many requests (CANARY).",)
    quiet = error.without_words()
    assert (str(quiet), quiet.said, quiet.code, str(error)[-9:]) == ("Too many requests.", "", "277", "(CANARY).")
    bare = errors.TransportError("No answer.")
    assert (bare.status_code, bare.code, bare.retry_after) == (None, None, None)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_errors_cross_processes(name: str) -> None:
    """An error from a worker process arrives complete, with the candidates of an unknown outcome."""
    fields = {"status_code": 503, "candidates": (Payment(id="1"),)} if name == "OutcomeUnknownError" else {}
    error = CLASSES[name]("One sentence.", **fields)
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (type(copy), copy.args) == (type(error), ("One sentence.",))
    assert vars(copy) == vars(error)
    if fields:
        assert (copy.status_code, copy.candidates, type(error)("Lost.").candidates) == (503, [Payment(id="1")], [])
