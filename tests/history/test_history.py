"""Building a history from one's own frames, and values that are not a history: each is refused in one sentence."""

import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, SchemaError
from support.archives.statements import row, statements_of
from support.frames import list_rows


@pytest.mark.parametrize("part", ["payments", "friends", "problems", "people"])
def test_a_part_of_a_wrong_form_is_refused(history_of, payment, part: str) -> None:
    """The error names the part, what was given and what to pass."""
    history = history_of(payment(1))
    frame = getattr(history, part)
    for given, kind in (
        (pl.from_pandas(frame), "polars.DataFrame"), (frame.iloc[:, 0], "pandas.Series"), ("people.csv", "str"),
    ):  # fmt: skip
        with pytest.raises(SchemaError) as raised:
            p2p.History(**vars(history) | {part: given})
        assert str(raised.value) == (
            f"History needs {part} as a pandas frame, not {kind}; pass {part} as load_history or p2p.read_csv gives "
            "them."
        )
    column = {"payments": "payment_id", "friends": "user_id", "problems": "code", "people": "also_named"}[part]
    with pytest.raises(SchemaError, match=rf"^History\.{part} needs the columns {column}; pass {part} as "):
        p2p.History(**vars(history) | {part: frame.drop(columns=column)})


def test_people_need_no_mark_of_friends(history_of, payment) -> None:
    """`is_friend` is computed from the friends: Bo (8) is one, Ada is the user."""
    history = history_of(payment(1))
    people = history.people.drop(columns="is_friend")
    marked = p2p.History(**vars(history) | {"people": people}).people
    assert sorted(list_rows(marked, "user_id", "is_friend")) == [("7", None), ("8", True)]


def test_what_has_a_history_is_not_one(tmp_path, history_of, payment) -> None:
    """Report, explorer, household and match_bank say how to get the history of an archive or of statements."""
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(payment(1)))
    for call in (
        lambda each: p2p.render_report(each, as_of="2024-06-01"), p2p.Explorer, lambda each: p2p.household([each]),
    ):  # fmt: skip
        for given in (archive, statements_of(row(1))):
            with pytest.raises(ConfigurationError, match=rf"not {type(given).__name__}: call \.history\(\) of"):
                call(given)
    with pytest.raises(ConfigurationError, match=r"or a history, not an Archive: call \.history\(\) of it\.$"):
        p2p.match_bank(archive, "bank.csv")
