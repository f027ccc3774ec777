"""In privacy mode nothing that people wrote, are called or paid is in anything we make; proportions stay.

A service is scripted whose every private value is a word found nowhere else; then all that can be made
of its history is searched for them, byte by byte.
"""

from __future__ import annotations

import base64
import html
import io
import json
import pickle
import re
import subprocess
import sys
import traceback
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import matplotlib as mpl
import pandas as pd
import pytest
from ipywidgets.embed import dependency_state
from matplotlib.text import Text

import p2p_analytics as p2p
from p2p_analytics import plots
from p2p_analytics.errors import ApiError, ConfigurationError, RecordError, SchemaError
from p2p_analytics.frames.schema import FRIENDS, PAYMENTS, PROBLEMS
from p2p_analytics.privacy import Mask
from p2p_analytics.privacy._pseudonyms import Pseudonyms
from support.frames import frame_from_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

KEY = bytes(range(32))
AS_OF = "2024-06-30T12:00:00Z"
SAYS_SO = "Privacy mode: names and amounts are invented"

ME = {
    "id": "7700770077007700770", "username": "wilhelmax-krumm", "display_name": "Wilhelmax Krummhorn",
    "first_name": "Wilhelmax", "last_name": "Krummhorn", "about": "Collects theremins", "email": "krumm@horn.example",
    "phone": "12025550147", "profile_picture_url": "https://pictures.example.invalid/krummpic.png",
    "date_joined": "2013-02-10T21:58:05", "is_friend": False, "friends_count": 2,
}  # fmt: skip
ZEB = {
    "id": "8811881188118811881", "username": "zebquill", "display_name": "Zébedea <b>O'Quill</b>",
    "first_name": "Zébedea", "last_name": "O'Quill", "about": "Xylophonist 🐙",
    "profile_picture_url": "https://pictures.example.invalid/zebpic.png", "date_joined": "2011-11-11T11:11:11",
}  # fmt: skip
PLAIN = {"id": "9922992299229922992", "username": "yttrium_fan", "display_name": " ", "last_name": ""}
FRIEND = {"id": "6633663366336633663", "username": "friendly-vole", "display_name": "Volodya Umbrage"}


def to(user: dict[str, Any]) -> dict[str, Any]:
    """Return a target that is a user."""
    return {"type": "user", "email": None, "phone": None, "user": user}


def payment(number: int, **fields: Any) -> dict[str, Any]:
    """Return a payment as the service sends it, settled and from the viewer to Zébedea where nothing else is said."""
    day = f"2024-05-{number:02d}T12:00:00"
    return {
        "id": f"55005500550055{number:04d}", "status": "settled", "action": "pay", "amount": 10.01 * number,
        "note": "Bassoon reeds 🎷", "audience": "private", "medium": "api", "date_created": day,
        "date_completed": day, "actor": ME, "target": to(ZEB), **fields,
    }  # fmt: skip


SENT = [
    payment(1, amount=4321987.65),
    payment(2, amount=0.01, note="Gluehwein & <i>Zimtstern</i>"),
    payment(3, actor=ZEB, target=to(ME), note='=HYPERLINK("kumquat")', amount=6549321.87),
    payment(4, action="charge", amount=-7770123.45, status="pending", date_completed=None, note="Kazoo 'lessons'"),
    payment(5, target={"type": "email", "email": "ocarina@tuba.example"}, status="pending", date_completed=None),
    payment(6, target={"type": "phone", "phone": "13035550188"}, fee={"amount": 3344556.61}),
    payment(7, target={"type": "merchant", "merchant": {"display_name": "Quuxmart Emporium"}}),
    payment(8, target=to(PLAIN), note="  "),
    payment(9, target={"type": "email", "email": None}, status="pending", date_completed=None, note=""),
    payment(10, refund={"id": "4400440044004400440", "amount": 2255778.81}, note="Bassoon reeds 🎷"),
    payment(11, actor=PLAIN, target=to(ZEB), note=None),
]  # fmt: skip
STRANGE = [
    payment(12, date_created="Yesterday, said Pfefferminz"),
    payment(13, amount="Rumpelstilz 12.345"),
    payment(14, amount=98.765),
    payment(15, note={"text": "Dudelsack"}),
]
SECRETS = [
    # people: ids, handles, names, addresses, pictures
    "7700770077007700770", "wilhelmax", "Krummhorn", "-krumm", "theremin", "krumm@", "horn.example", "12025550147",
    "krummpic", "8811881188118811881", "zebquill", "Zébedea", "O'Quill", "Xylophonist", "zebpic",
    "9922992299229922992", "yttrium", "6633663366336633663", "friendly-vole", "Volodya", "Umbrage", "ocarina@",
    "tuba.example", "13035550188", "Quuxmart", "Emporium", "🐙", "2013-02-10", "2011-11-11",
    # notes and the ids of payments
    "Bassoon", "🎷", "Gluehwein", "Zimtstern", "kumquat", "Kazoo", "lessons", "5500550055005", "4400440044004400440",
    # amounts, each in cents and in units, plain and as a page shows them
    "432198765", "654932187", "777012345", "334455661", "225577881", "876543219", "6549321.87", "7770123.45",
    "6,549,321.87", "7,770,123.45", "8,765,432.19",
]  # fmt: skip
STRANGE_SECRETS = ["Pfefferminz", "Yesterday", "Rumpelstilz", "12.345", "98.765", "Dudelsack"]


def forms(secret: str) -> set[bytes]:
    """Return a text's bytes in the encodings and escapes that files, pages and logs use; a number's in binary too."""
    escaped = {
        secret, quote(secret), quote_plus(secret), html.escape(secret), json.dumps(secret)[1:-1], ascii(secret)[1:-1],
        "".join(f"&#{ord(letter)};" for letter in secret), "".join(f"&#x{ord(letter):x};" for letter in secret),
        "".join(letter if letter.isascii() else f"&#{ord(letter)};" for letter in secret),
    }  # fmt: skip
    number = {int(secret).to_bytes(8, "little")} if secret.isdecimal() and len(secret) < 19 else set()
    return {text.encode() for text in escaped} | {secret.encode("utf-16-le"), secret.encode("utf-16-be")} | number


def encoded(secret: str) -> set[bytes]:
    """Return what base64 makes of a text, at each of the three places where it can stand: as in a data address."""
    wholes = [base64.b64encode(b"\0" * shift + secret.encode()) for shift in range(3)]
    return {whole[4 * (shift > 0) : len(whole) // 4 * 4 - 4] for shift, whole in enumerate(wholes)}


def found_in(artefacts: Mapping[str, bytes], secrets: list[str]) -> list[tuple[str, str]]:
    """Return which artefact holds which secret; but for base64, upper and lower case are one."""
    lowered = {secret: {form.lower() for form in forms(secret)} for secret in secrets}
    exact = {secret: {form for form in encoded(secret) if len(form) > 4} for secret in secrets}
    return [
        (name, secret)
        for name, content in artefacts.items()
        for lower in [content.lower()]
        for secret in secrets
        if any(form in lower for form in lowered[secret]) or any(form in content for form in exact[secret])
    ]


@pytest.fixture
def service(scripted):
    """Serve the history above."""
    lists = {
        "/v1/me": {"data": {"balance": "8765432.19", "user": ME}},
        "/v1/payments": {"data": SENT[::-1], "pagination": None},
        f"/v1/users/{ME['id']}/friends": {"data": [ZEB, FRIEND], "pagination": None},
    }
    return scripted(lambda path, _sent: lists[path]), lists


def load(service, **options: Any) -> p2p.History:
    """Load it."""
    with p2p.Client("token", base_url=service[0].base_url, cache_dir=False) as client:
        return p2p.load_history(client, **options)


def tables_of(history: p2p.History) -> dict[str, pd.DataFrame]:
    """Return every table that there is."""
    payments = history.payments
    return {
        "payments": payments,
        "friends": history.friends,
        "problems": history.problems,
        "spend_by_friend": p2p.spend_by_friend(payments, history.friends),
        "monthly_flow": p2p.monthly_flow(payments),
        "status_mix": p2p.status_mix(payments),
        "status_mix by direction": p2p.status_mix(payments, by="direction"),
        "pending_ageing": p2p.pending_ageing(payments, as_of=AS_OF),
        "pending_requests": p2p.pending_requests(payments, as_of=AS_OF),
    }


def shown(table: pd.DataFrame) -> bytes:
    """Return all that a table shows of itself, and holds."""
    parts = [table.to_string(), table.to_html(), table.to_csv(), repr(table.attrs), repr(table.to_dict("records"))]
    return "\n".join(parts).encode() + pickle.dumps(table)


def drawn(name: str, table: pd.DataFrame) -> dict[str, bytes]:
    """Return a plot as SVG, with its text as text and as outlines, as PNG, and the texts in it."""
    ax = plots.mark_private(getattr(plots, name)(table))
    pictures = {f"{name} texts": "\n".join(text.get_text() for text in ax.figure.findobj(Text)).encode()}
    for form, outlines in (("svg", "none"), ("svg", "path"), ("png", "path")):
        picture = io.BytesIO()
        with mpl.rc_context({"svg.fonttype": outlines}):
            ax.figure.savefig(picture, format=form)
        pictures[f"{name} {form} {outlines}"] = picture.getvalue()
    return pictures


def explored(history: p2p.History, folder: Path) -> dict[str, bytes]:
    """Return what an explorer shows, and a notebook saves of its widgets, for each analysis and then for a person."""
    made = {}
    explorer = p2p.Explorer(history, as_of=AS_OF, folder=folder)
    analyses = [name for _, name in explorer.analysis.options]
    someone = next(person for label, person in explorer.person.options if "@" in label)
    for analysis, person in [*((name, ()) for name in analyses), ("pending_requests", someone)]:
        explorer.analysis.value, explorer.person.value = analysis, person
        explorer.save_csv.click()
        explorer.save_plot.click()
        state = json.dumps(dependency_state(explorer.widget), ensure_ascii=False)
        made[f"explorer {analysis} {len(person)}"] = (state + repr(explorer)).encode()
    explorer.widget.close()
    return made


def artefacts_of(history: p2p.History, folder: Path) -> dict[str, bytes]:
    """Return everything that can be made of a history."""
    made = {
        "repr": repr(history).encode(),
        "attributes": repr(vars(history)).encode() + history.me.raw,
        "me": repr(history.me).encode() + pickle.dumps(history.me.user),
        "card": history._repr_html_().encode(),
        "report": p2p.render_report(history, as_of=AS_OF).encode(),
    }
    for name, table in tables_of(history).items():
        made[name] = shown(table)
        p2p.to_csv(table, folder / f"{name}.csv")
        p2p.to_parquet(table, folder / f"{name}.parquet")
        made[f"{name} unpacked"] = shown(p2p.read_parquet(folder / f"{name}.parquet"))
        if name in plots.__all__:
            made |= drawn(name, table)
    made |= explored(history, folder)
    return made | {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    mpl.use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_nothing_private_is_in_anything(service, tmp_path: Path) -> None:
    """Every table, plot, page and file of a history that was loaded in privacy mode, strange records and all."""
    service[1]["/v1/payments"]["data"] = [*SENT, *STRANGE][::-1]
    history = load(service, privacy=True, on_bad_record="report")
    assert history.private
    assert len(history.payments) == 15
    assert len(history.problems) == 5
    made = artefacts_of(history, tmp_path)
    assert len(made) > 60
    assert found_in(made, [*SECRETS, *STRANGE_SECRETS, str(tmp_path)]) == []


def test_the_search_would_find_each_secret(service, tmp_path: Path) -> None:
    """Without privacy mode each of them is there, in pages, tables, plots and files; so the search can fail."""
    service[1]["/v1/payments"]["data"] = [*SENT, *STRANGE][::-1]
    made = artefacts_of(load(service, on_bad_record="report"), tmp_path)
    found = found_in(made, [*SECRETS, *STRANGE_SECRETS])
    assert {secret for _, secret in found} == {*SECRETS, *STRANGE_SECRETS}
    assert found_in({"explorer": made["explorer status_mix 0"]}, [str(tmp_path)])
    assert {name for name, _ in found} >= {
        "repr", "me", "attributes", "card", "report", "payments", "friends", "problems", "payments.csv",
        "friends.csv", "spend_by_friend", "spend_by_friend.csv", "spend_by_friend.parquet", "spend_by_friend unpacked",
        "pending_requests", "spend_by_friend texts", "spend_by_friend svg none", "spend_by_friend svg path",
        "pending_requests svg none", "monthly_flow", "explorer spend_by_friend 0", "explorer pending_requests 2",
    }  # fmt: skip


@pytest.mark.parametrize(
    "leak",
    [
        "Zébedea O'Quill".encode("utf-16-le"),
        b"Z%C3%A9bedea+O%27Quill",
        "Zébedea O&#x27;Quill".encode(),
        b"Z\\u00e9bedea O'Quill",
        *(base64.b64encode(b"x" * shift + "Zébedea O'Quill, and more".encode()) for shift in range(3)),
    ],
)
def test_the_search_knows_the_form(leak: bytes) -> None:
    """Encodings and escapes are found in the midst of other bytes."""
    assert found_in({"leak": b"..." + leak + b"..."}, ["Zébedea O'Quill"]) == [("leak", "Zébedea O'Quill")]


@pytest.mark.parametrize("strange", STRANGE, ids=lambda item: item["id"][-2:])
def test_an_error_of_a_load_quotes_nothing(service, strange: dict[str, Any]) -> None:
    """The sentence names the field and what to do, and not the value; without privacy mode it does quote it."""
    service[1]["/v1/payments"]["data"] = [strange]
    texts = []
    for privacy in (True, False):
        with pytest.raises(RecordError, match="on_bad_record") as caught:
            load(service, privacy=privacy)
        texts.append(f"{caught.value}{caught.value!r}{caught.value.args}{vars(caught.value)}".encode())
    assert found_in({"error": texts[0]}, [*SECRETS, *STRANGE_SECRETS]) == []
    assert len(found_in({"error": texts[1]}, STRANGE_SECRETS)) > 0
    assert b"cannot be read" in texts[0]


@pytest.mark.parametrize("at", ["/v1/me", "/v1/payments", f"/v1/users/{ME['id']}/friends"])
@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_an_error_of_a_load_quotes_no_words_of_the_service(service, at: str, status: int, monkeypatch) -> None:
    """What the service says may name people; without privacy mode it is quoted."""
    refusal = (status, {}, {"error": {"message": "Wilhelmax owes Volodya.", "code": "Quuxmart"}})
    service[1][at] = refusal
    monkeypatch.setattr("p2p_analytics.client.http.transport.MAX_ATTEMPTS", 1)
    texts = []
    for privacy in (True, False):
        with pytest.raises(ApiError) as caught:
            load(service, privacy=privacy)
        told = "".join(traceback.format_exception(caught.value))
        texts.append(f"{told}{caught.value!r}{caught.value.args}{vars(caught.value)}".encode())
        assert caught.value.status_code == status
    assert found_in({"error": texts[0]}, SECRETS) == []
    assert {secret for _, secret in found_in({"error": texts[1]}, SECRETS)} == {"wilhelmax", "Volodya", "Quuxmart"}


def test_words_that_nobody_knows_are_masked(service) -> None:
    """An application's name as the medium, and other words of nobody's list; equal ones stay equal, known ones stay."""
    strange = dict.fromkeys(["status", "action", "audience", "medium"], "Quuxmart Ledger")
    service[1]["/v1/payments"]["data"] = [payment(2, **strange), payment(1)]
    history = load(service, privacy=True)
    for name in strange:
        assert history.payments[name][0] not in {"Quuxmart Ledger", history.payments[name][1]}
    assert len(set(history.payments.loc[0, list(strange)])) == 1
    assert history.payments.loc[1, list(strange)].tolist() == ["settled", "pay", "private", "api"]
    assert found_in({name: shown(table) for name, table in tables_of(history).items()}, ["Quuxmart"]) == []


def test_a_table_of_ones_own_may_use_our_names() -> None:
    """A column that is called as one of ours is masked all the same where it does not hold what ours do."""
    names = ["source", "problem", "field", "month", "band", "direction", "target_type", "payments", "share", "age_days"]
    own = pd.DataFrame({name: ["Volodya gave this"] for name in names})
    assert found_in({"own": shown(Mask(KEY).frame(own))}, ["Volodya"]) == []


def rows_of(history: p2p.History, private: p2p.History) -> pd.DataFrame:
    """Return the masked payments in the order of the real ones: masked rows of one date are in another order."""
    masked = private.payments.set_index("payment_id", drop=False)
    return masked.loc[[Pseudonyms(KEY).identifier(text) for text in history.payments["payment_id"]]].reset_index(
        drop=True
    )


def test_amounts_of_a_payment_agree(service) -> None:
    """Amount and flow differ by the sign alone, as they do in fact; null, zero and signs stay; shares of counts too."""
    refunded = [payment(12, amount=0, refund={"id": "1", "amount": 12.5})]
    refunded += [payment(13, amount=12.5, refund={"id": "2", "amount": 12.5})]
    service[1]["/v1/payments"]["data"] = [*SENT, *refunded][::-1]
    history = load(service)
    private = history.masked(key=KEY)
    masked = rows_of(history, private)
    factor = Pseudonyms(KEY)._factor
    for column in ("amount_cents", "flow_cents", "fee_cents", "refund_amount_cents"):
        real, scaled = history.payments[column], masked[column]
        assert scaled.isna().equals(real.isna())
        assert ((scaled.dropna() * real.dropna() > 0) == (real.dropna() != 0)).all()
        assert ((scaled.dropna() / (real[real != 0].dropna() * factor) - 1).abs().dropna() < 0.75).all()
    real, scaled = history.payments, masked
    assert (scaled["flow_cents"].abs() == scaled["amount_cents"].abs())[scaled["flow_cents"].notna()].all()
    full = (real["refund_amount_cents"] == real["amount_cents"]).fillna(value=False)
    assert full.sum() == 1
    assert (scaled["refund_amount_cents"] == scaled["amount_cents"])[full].all()
    assert abs(private.me.balance_cents / (876543219 * factor) - 1) < 0.05
    assert p2p.status_mix(history.payments)["share"].equals(p2p.status_mix(private.payments)["share"])
    flow = p2p.monthly_flow(private.payments)
    assert (flow["net"] - (flow["received"] - flow["sent"])).abs().max() < 1e-6


def test_a_later_report_gives_no_second_sample(service) -> None:
    """A payment shows the same in a history with more payments, with fewer, and in a table of requests."""
    first = load(service).masked(key=KEY).payments.set_index("payment_id")
    service[1]["/v1/payments"]["data"] = [payment(20), *SENT[5::-1]]
    later = load(service)
    masked = later.masked(key=KEY).payments.set_index("payment_id")
    both = first.index.intersection(masked.index)
    assert len(both) == 6
    pd.testing.assert_frame_equal(
        first.loc[both].astype("object"), masked.loc[both].astype("object"), check_categorical=False
    )
    requests = Mask(KEY).frame(p2p.pending_requests(later.payments, as_of=AS_OF)).set_index("payment_id")
    assert len(requests) == 2
    assert (requests["amount"] * 100).round().eq(masked["amount_cents"].abs().loc[requests.index].astype(float)).all()


@pytest.mark.parametrize(("strict", "starts"), [(False, "D"), (True, "M")], ids=["days", "months"])
def test_dates_are_days_or_months(service, strict, starts: str) -> None:
    """Every instant is the start of its day or month in UTC, in all its columns; durations follow."""
    odd = {"date_created": "2024-05-31T23:59:59.999999", "date_completed": "2024-06-01T00:00:00.000001"}
    old = payment(29, status="pending", date_created="1969-12-31T23:00:00", date_completed=None)
    service[1]["/v1/payments"]["data"] = [payment(30, **odd), *STRANGE[:1], *SENT[::-1], old]
    history = load(service, on_bad_record="report")
    private = history.masked(key=KEY, strict=strict)
    assert (private.private, private.strict) == (True, strict)
    real, masked = history.payments, rows_of(history, private)
    for name, number in (("date_created", "created_us"), ("date_completed", "completed_us")):
        expected = real[name].dt.tz_localize(None).dt.to_period(starts).dt.start_time.dt.tz_localize("UTC")
        assert masked[name].equals(expected.astype(masked[name].dtype))
        micros = masked[name].dropna().astype("int64").rename(number)
        assert masked[number].dropna().astype("int64").equals(micros)
        assert masked[number].isna().equals(real[number].isna())
    assert masked["settle_us"].dropna().eq((masked["completed_us"] - masked["created_us"]).dropna()).all()
    assert masked["settle_us"].dropna().ge(0).all()
    assert masked["settle_us"].max() == (31 if strict else 1) * 86_400_000_000
    spent = p2p.spend_by_friend(history.payments)
    for name in ("first_date", "last_date"):
        shown = Mask(KEY, strict=strict).frame(spent)[name]
        assert shown.equals(
            shown.dt.tz_localize(None).dt.to_period(starts).dt.start_time.dt.tz_localize("UTC").astype(shown.dtype)
        )


def test_the_order_of_rows_tells_nothing(scripted) -> None:
    """Payments of one date, friends and problems come in the order of their pseudonyms, whatever the order was."""
    friends = [{"id": f"77{number:017d}", "display_name": f"Friend {number:02d}"} for number in range(20)]
    sent = [payment(3, id=f"66{number:016d}", date_created=f"2024-05-{3 + number // 20:02d}T{number % 20:02d}:00:00",
                    date_completed=None, action=f"strange {number}") for number in range(40)]  # fmt: skip
    lists = {
        "/v1/me": {"data": {"balance": "1.00", "user": ME}},
        "/v1/payments": {"data": sent[::-1], "pagination": None},
        f"/v1/users/{ME['id']}/friends": {"data": friends, "pagination": None},
    }
    history = load([scripted(lambda path, _sent: lists[path])], on_bad_record="report")
    private = history.masked(key=KEY)
    for frame, name, groups in (
        (private.payments, "payment_id", private.payments.groupby("date_created").indices.values()),
        (private.friends, "user_id", [range(20)]),
        (private.problems, "payment_id", [range(40)]),
    ):
        for rows in groups:
            ids = frame[name].iloc[list(rows)].tolist()
            assert len(ids) >= 20
            assert ids == sorted(ids, reverse=True)
    assert private.payments["date_created"].is_monotonic_decreasing


def test_strict_mode_hides_what_joins_with_a_feed(service) -> None:
    """Equal notes differ, blank and null ones stay, the audience is null; words, shares and months are as they were."""
    history = load(service)
    strict, days = history.masked(key=KEY, strict=True), history.masked(key=KEY)
    masked = rows_of(history, strict)
    notes = masked["note"].iloc[::-1].tolist()
    assert len({notes[0], notes[4], notes[9]}) == 3
    assert notes[7:9] == ["", ""]
    assert masked["note"].isna().equals(history.payments["note"].isna())
    assert masked["audience"].isna().all()
    assert not days.payments["audience"].isna().any()
    for name in ("status", "action", "medium", "direction", "target_type", "source"):
        assert masked[name].astype("str").equals(history.payments[name].astype("str"))
    assert masked["amount_cents"].equals(rows_of(history, days)["amount_cents"])
    pd.testing.assert_frame_equal(p2p.monthly_flow(strict.payments), p2p.monthly_flow(days.payments))
    assert repr(strict).endswith(", strict privacy mode>")


def test_a_history_of_days_is_not_made_strict(service) -> None:
    """It would keep its days and say months; a strict one stays as it is."""
    history = load(service)
    with pytest.raises(ConfigurationError, match="strict=True"):
        history.masked().masked(strict=True)
    strict = history.masked(strict=True)
    assert strict.masked() is strict.masked(strict=True) is strict


@pytest.mark.parametrize("way", ["argument", "environment"])
def test_strict_mode_is_turned_on_everywhere(service, tmp_path: Path, monkeypatch, way: str) -> None:
    """By privacy="strict" or P2P_PRIVACY=strict: a load, an archive and both kinds of file show months."""
    history = load(service)
    p2p.open_archive(tmp_path / "archive").merge(history)
    p2p.to_csv(history.payments, tmp_path / "payments.csv")
    p2p.to_parquet(history.payments, tmp_path / "payments.parquet")
    if way == "environment":
        monkeypatch.setenv("P2P_PRIVACY", "strict")
    privacy = "strict" if way == "argument" else None
    expected = history.masked(strict=True).payments
    for payments in (
        load(service, privacy=privacy).payments,
        p2p.open_archive(tmp_path / "archive").history(privacy=privacy).payments,
        p2p.read_csv(tmp_path / "payments.csv", privacy=privacy),
        p2p.read_parquet(tmp_path / "payments.parquet", privacy=privacy),
    ):
        pd.testing.assert_frame_equal(payments, expected)


def test_strict_mode_shows_months_in_all_that_is_made(service, tmp_path: Path) -> None:
    """No day of a payment is in the card, the report, the explorer, plots and demo's tables; each says its mode."""
    days = [f"{day} May 2024" for day in range(2, 16)] + [f"2024-05-{day:02d}" for day in range(2, 16)]
    strict = load(service).masked(key=KEY, strict=True)
    made = artefacts_of(strict, tmp_path)
    assert found_in(made, [*SECRETS, *days]) == []
    report = p2p.render_report(strict, as_of=AS_OF, tz="America/New_York")
    assert report == p2p.render_report(strict, as_of=AS_OF)
    assert "11 payments from May 2024 to May 2024" in report
    assert "from May 2024 to May 2024" in strict._repr_html_()
    assert "Strict privacy mode: names and amounts are invented, dates are months" in strict._repr_html_()
    assert "Since</th>" in report
    assert '<td class="date">May 2024</td>' in report
    assert "31 to 61 days" in report  # requests of May, counted from its first day to 30 June
    ordinary = p2p.render_report(load(service).masked(key=KEY), as_of=AS_OF)
    assert {secret for _, secret in found_in({"report": ordinary.encode()}, days)} >= {"4 May 2024", "5 May 2024"}


def test_a_person_is_the_same_everywhere(service) -> None:
    """Actor, target, counterparty, friend and me agree on name and id; different people differ."""
    private = load(service).masked(key=KEY)
    payments, friends, me = private.payments.set_index("payment_id", drop=False), private.friends, private.me.user
    oldest = payments.iloc[-1]
    assert (oldest["actor_id"], oldest["actor_display_name"], oldest["actor_username"]) == (
        me.id, me.display_name, me.username,
    )  # fmt: skip
    friends = friends.set_index("user_id", drop=False).loc[[Pseudonyms(KEY).identifier("8811881188118811881")]]
    friends = friends.reset_index(drop=True)
    zeb = {oldest["target_user_display_name"], oldest["counterparty_name"], friends["display_name"][0]}
    assert zeb == {Pseudonyms(KEY).name("8811881188118811881")}
    assert {oldest["target_user_id"], oldest["counterparty_id"], friends["user_id"][0]} == {
        Pseudonyms(KEY).identifier("8811881188118811881")
    }
    (name,) = zeb
    assert friends["first_name"][0] + " " + friends["last_name"][0] == name
    assert friends["username"][0] == name.lower().replace(" ", "-")
    assert len({me.display_name, *payments["counterparty_name"]}) == 7
    spent = p2p.spend_by_friend(private.payments, private.friends)
    assert spent["is_friend"].sum() == 1


def test_an_address_is_an_address_and_its_own_name(service) -> None:
    """Emails and phones without an account look like some; a merchant has a name; what shows nothing says so."""
    payments = load(service).masked(key=KEY).payments.iloc[::-1].reset_index(drop=True)
    kinds = Pseudonyms(KEY)
    expected = {
        4: kinds.email("ocarina@tuba.example"),
        5: kinds.phone("13035550188"),
        6: kinds.name("Quuxmart Emporium"),
        8: "unregistered email",
    }
    for row, shown_as in expected.items():
        assert (payments["counterparty_id"][row], payments["counterparty_name"][row]) == (shown_as, shown_as)
    assert payments["target_email"][4] == expected[4]
    assert payments["target_phone"][5] == expected[5]


def test_equal_notes_stay_equal_and_blank_ones_blank(service) -> None:
    """So counts by note are real; null stays null; ids, refunds and statuses keep their places."""
    history = load(service)
    payments, private = history.payments, rows_of(history, history.masked(key=KEY))
    notes = private["note"].iloc[::-1].tolist()
    assert notes[0] == notes[4] == notes[9]
    assert len({notes[0], notes[1], notes[2], notes[3]}) == 4
    assert notes[7:9] == ["", ""]
    assert private["note"].isna().tolist() == payments["note"].isna().tolist()
    for name in ("status", "action", "direction", "medium", "target_type"):
        assert private[name].equals(payments[name])
    assert private["payment_id"].nunique() == len(payments)
    for prefix in ("actor_", "target_user_"):
        assert (
            private[[prefix + name for name in ("about", "profile_picture_url", "date_joined")]].isna().all(axis=None)
        )


def test_problems_say_where_but_not_what(service) -> None:
    """Field and payment are told; the value is hidden, and so is a sentence that would quote it."""
    service[1]["/v1/payments"]["data"] = [payment(14, action="Dudelsack"), payment(13, amount=98.765)]
    problems = load(service, on_bad_record="report").masked(key=KEY).problems
    assert problems.to_numpy().tolist() == [
        [
            Pseudonyms(KEY).identifier("550055005500550014"), "action", "hidden",
            "a word the document does not know; direction and flow stay empty",
        ],
        [Pseudonyms(KEY).identifier("550055005500550013"), "amount", "hidden", "not shown in privacy mode"],
    ]  # fmt: skip


@pytest.mark.parametrize("schema", [PAYMENTS, FRIENDS, PROBLEMS], ids=["payments", "friends", "problems"])
def test_an_empty_frame_stays_one(schema: Mapping[str, str]) -> None:
    """Same columns, same dtypes, no rows."""
    empty = frame_from_rows([], schema)
    pd.testing.assert_frame_equal(Mask(KEY).frame(empty), empty)


def test_columns_and_dtypes_stay(service) -> None:
    """Masked frames are as the schema says, rows in the same order, nothing in their attrs or index."""
    history = load(service)
    for frame in (history.payments, history.friends, history.problems):
        frame.attrs["whose"] = "Krummhorn"
        masked = Mask(KEY).frame(frame.set_axis(["Krummhorn"] * len(frame)))
        assert list(map(str, masked.dtypes)) == list(map(str, frame.dtypes))
        assert masked.index.equals(pd.RangeIndex(len(frame)))
        assert masked.attrs == {}


def test_categories_hold_no_names(service) -> None:
    """A categorical of people comes back as one, whose categories are the pseudonyms alone."""
    payments = load(service).payments
    text = [name for name, dtype in payments.dtypes.items() if dtype == "str"]
    masked = Mask(KEY).frame(payments.astype(dict.fromkeys(text, "category")))
    assert {masked[name].dtype.name for name in text} == {"category"}
    pd.testing.assert_frame_equal(masked.astype(dict.fromkeys(text, "str")), Mask(KEY).frame(payments))
    assert found_in({"categories": pickle.dumps(masked)}, SECRETS) == []


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("way", ["argument", "environment"])
def test_reading_a_file_masks_it(service, tmp_path: Path, monkeypatch, kind: str, way: str) -> None:
    """Each table of a real history, read in privacy mode: nothing private is in it, and payments are as loaded."""
    history = load(service)
    write, read = (p2p.to_csv, p2p.read_csv) if kind == "csv" else (p2p.to_parquet, p2p.read_parquet)
    for name, table in tables_of(history).items():
        write(table, tmp_path / name)
    if way == "environment":
        monkeypatch.setenv("P2P_PRIVACY", "1")
    privacy = True if way == "argument" else None
    made = {name: shown(read(tmp_path / name, privacy=privacy)) for name in tables_of(history)}
    assert found_in(made, SECRETS) == []
    pd.testing.assert_frame_equal(read(tmp_path / "payments", privacy=privacy), history.masked().payments)
    again = read(tmp_path / "payments", privacy=False)
    pd.testing.assert_frame_equal(again, history.payments)


def test_an_error_of_a_file_quotes_no_cell(tmp_path: Path) -> None:
    """A word where an amount should be is named without privacy mode, and not in it."""
    (tmp_path / "odd.csv").write_text('"payment_id","amount_cents"\n"1",Rumpelstilz\n')
    with pytest.raises(SchemaError, match="Rumpelstilz"):
        p2p.read_csv(tmp_path / "odd.csv")
    with pytest.raises(SchemaError, match="not shown in privacy mode") as caught:
        p2p.read_csv(tmp_path / "odd.csv", privacy=True)
    assert "Rumpelstilz" not in f"{caught.value!r}{caught.value.args}"


def test_a_table_of_an_analysis_joins_with_the_history(service, tmp_path: Path) -> None:
    """Read back under pseudonyms, it names the same people by the same ids, and each sum is scaled once.

    A sum is changed on its own, so it is near the sum of the masked amounts, but not that.
    """
    history = load(service)
    p2p.to_csv(p2p.spend_by_friend(history.payments, history.friends), tmp_path / "spend.csv")
    read = p2p.read_csv(tmp_path / "spend.csv", privacy=True)
    made = p2p.spend_by_friend(history.masked().payments, history.masked().friends)
    assert dict(zip(read["counterparty_id"], read["counterparty_name"], strict=True)) == dict(
        zip(made["counterparty_id"], made["counterparty_name"], strict=True)
    )
    assert read["is_friend"].sum() == made["is_friend"].sum()
    assert read["payments"].sum() == made["payments"].sum()
    sums = [table.set_index("counterparty_name")["sent"].sort_index() for table in (read, made)]
    assert (sums[0].eq(0) == sums[1].eq(0)).all()
    assert sums[0].div(sums[1]).dropna().between(0.26 / 1.74, 1.74 / 0.26).all()


def test_shares_of_money_do_not_give_the_money(service) -> None:
    """A share to all its digits times the right whole is whole cents, so of a table's shares two digits are kept."""
    history = load(service)
    spent = p2p.spend_by_friend(history.payments)
    masked = Mask(KEY).frame(spent)
    assert masked["share_of_sent"].equals(spent["share_of_sent"].round(2))
    assert not masked["share_of_sent"].equals(spent["share_of_sent"])
    mix = p2p.status_mix(history.payments)
    assert Mask(KEY).frame(mix)["share_of_amount"].equals(mix["share_of_amount"].round(2))


def test_columns_that_nobody_knows_are_masked(tmp_path: Path) -> None:
    """Text is taken for notes and numbers for amounts, so a table of one's own leaks nothing; dates and truth stay."""
    own = pd.DataFrame(
        {
            "Liebling": ["Volodya", None],
            "spent": [4321.57, None],
            "total": pd.array([1065432, None], "Int64"),
            "seen": pd.to_datetime(["2024-05-01", None], utc=True),
            "paid": [True, False],
        }
    )
    p2p.to_csv(own, tmp_path / "own.csv")
    masked, real = (p2p.read_csv(tmp_path / "own.csv", privacy=privacy) for privacy in (True, False))
    assert found_in({"own": shown(masked)}, ["Volodya", "4321.57", "1065432"]) == []
    assert list(map(str, masked.dtypes)) == list(map(str, real.dtypes))
    assert masked.isna().equals(real.isna())
    assert masked[["seen", "paid"]].equals(real[["seen", "paid"]])


def test_narrow_integers_are_widened() -> None:
    """A masked amount need not fit the integers of the real one, so these become 64 bits wide; nulls stay."""
    own = pd.DataFrame({name: pd.array([100, 0], dtype=name) for name in ("int8", "uint8", "int16", "int32")})
    own["Int8"] = pd.array([100, None], dtype="Int8")
    masked = Mask(KEY).frame(own)
    assert [str(dtype) for dtype in masked.dtypes] == ["int64", "int64", "int64", "int64", "Int64"]
    assert masked.iloc[0].tolist() == [Pseudonyms(KEY).cents(100)] * 5
    assert masked["Int8"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    "column",
    [pd.period_range("2024-05", periods=2, freq="M"), pd.interval_range(0, 2)],
    ids=["period", "interval"],
)
def test_a_column_that_cannot_be_masked_is_refused_by_name(column) -> None:
    """The sentence names the column and its dtype and says what to do, and no value."""
    with pytest.raises(SchemaError, match=r"'when' has dtype (period|interval).*convert it") as caught:
        Mask(KEY).frame(pd.DataFrame({"when": column}))
    assert "2024" not in str(caught.value)


def test_the_environment_turns_it_on_and_the_argument_decides(service, monkeypatch) -> None:
    """P2P_PRIVACY=1 masks a load; privacy=False shows it; another word is refused before anything is sent."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    assert load(service).private
    assert not load(service, privacy=False).private
    monkeypatch.setenv("P2P_PRIVACY", "0")
    assert not load(service).private
    service[0].asked.clear()
    monkeypatch.setenv("P2P_PRIVACY", "yes please")
    with pytest.raises(ConfigurationError, match="P2P_PRIVACY is 1"):
        load(service)
    with pytest.raises(ConfigurationError, match="privacy is True"):
        load(service, privacy="no")
    assert service[0].asked == []


def test_a_private_history_stays_as_it_is(service) -> None:
    """Masked twice it would be other people's; loaded and masked, in one step or in two, it is the same."""
    private = load(service, privacy=True)
    assert private.masked() is private
    again = load(service).masked()
    for name in ("payments", "friends", "problems"):
        pd.testing.assert_frame_equal(getattr(private, name), getattr(again, name))
    assert private.me == again.me
    assert repr(private) == repr(again).replace(f"{again.fetched_at:%H:%M}", f"{private.fetched_at:%H:%M}")


def test_it_says_so_wherever_it_shows(service) -> None:
    """Card, report and its four figures, plots and repr, each once; and never without privacy mode."""
    for history, times in ((load(service, privacy=True), 1), (load(service), 0)):
        report = p2p.render_report(history, as_of=AS_OF)
        figures = [base64.b64decode(part.partition('"')[0]) for part in report.split("base64,")[1:]]
        assert [figure.count(SAYS_SO.encode()) for figure in figures] == [times] * 4
        assert report.count(SAYS_SO) == times
        assert history._repr_html_().count(SAYS_SO) == times
        assert repr(history).count("privacy mode") == times


@pytest.mark.parametrize("rows", [None, 0], ids=["all", "none"])
@pytest.mark.parametrize("name", ["spend_by_friend", "monthly_flow", "pending_requests", "status_mix"])
def test_a_mark_hides_nothing(service, name: str, rows: int | None) -> None:
    """It is inside the figure, and on no other text that shows."""
    ax = plots.mark_private(getattr(plots, name)(tables_of(load(service))[name].iloc[:rows]))
    ax.figure.canvas.draw()
    hidden = [] if ax.axison else ax.xaxis.findobj(Text) + ax.yaxis.findobj(Text)
    boxes = {
        text.get_text(): text.get_window_extent()
        for text in ax.figure.findobj(Text)
        if text.get_text() and text not in hidden
    }
    mark = boxes.pop(SAYS_SO)
    assert len(boxes) > 1
    assert [text for text, box in boxes.items() if mark.overlaps(box)] == []
    assert 0 <= mark.y0 < mark.y1 <= ax.figure.bbox.y1
    assert 0 <= mark.x0 < mark.x1 <= ax.figure.bbox.x1


def test_the_demo_shows_nobody(tmp_path: Path) -> None:
    """The command with --privacy: output and files hold nobody of the town, their notes or ids; without it they do."""
    command = [sys.executable, "-m", "p2p_analytics", "demo", "--people", "6", "--years", "1"]
    made: dict[str, dict[str, bytes]] = {}
    for name, options in (("private", ["--privacy"]), ("plain", [])):
        out = tmp_path / name
        done = subprocess.run(  # noqa: S603 - our own interpreter and words
            [*command, "--out", str(out), *options], capture_output=True, cwd=tmp_path, check=True, timeout=120
        )
        made[name] = {"output": done.stdout + done.stderr, **{path.name: path.read_bytes() for path in out.iterdir()}}
    town = p2p.read_csv(tmp_path / "plain" / "payments.csv", privacy=False)
    people = [f"{prefix}_{name}" for prefix in ("actor", "target_user") for name in ("id", "username", "display_name")]
    secrets = {text for name in ["payment_id", "target_email", *people] for text in town[name].dropna()}
    secrets |= {note for note in town["note"] if len(note) > 10}
    # A short id may occur inside a longer invented id, so it is searched as a whole number.
    short = {text for text in secrets if text.isdecimal() and len(text) < 12}
    assert short
    numbers = re.compile(rb"(?<!\d)(?:%b)(?!\d)" % b"|".join(text.encode() for text in sorted(short)))
    assert {name for name, content in made["plain"].items() if numbers.search(content)} == {"payments.csv"}
    assert [name for name, content in made["private"].items() if numbers.search(content)] == []
    secrets -= short
    assert len(secrets) > 100
    assert {name for name, _ in found_in(made["plain"], sorted(secrets))} == {
        "output", "report.html", "payments.csv", "friends.csv",
    }  # fmt: skip
    assert found_in(made["private"], sorted(secrets)) == []
    assert SAYS_SO.encode() in made["private"]["output"]
    assert SAYS_SO.encode() not in made["plain"]["output"]
