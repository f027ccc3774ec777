"""A history full of secrets, all that can be made from it, and a search for the secrets."""

import base64
import html
import io
import json
import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, quote_plus

import matplotlib as mpl
import pandas as pd
from ipywidgets.embed import dependency_state
from matplotlib.text import Text

import p2p_analytics as p2p
from p2p_analytics import plots
from p2p_analytics.analyses.build import build_table
from p2p_analytics.catalogue import ANALYSES

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


def encode_secret(secret: str) -> set[bytes]:
    """Return what base64 makes of a text, at each of the three places where it can stand: as in a data address."""
    wholes = [base64.b64encode(b"\0" * shift + secret.encode()) for shift in range(3)]
    return {whole[4 * (shift > 0) : len(whole) // 4 * 4 - 4] for shift, whole in enumerate(wholes)}


def find_secrets(artefacts: Mapping[str, bytes], secrets: list[str]) -> list[tuple[str, str]]:
    """Return which artefact holds which secret; but for base64, upper and lower case are one."""
    lowered = {secret: {form.lower() for form in forms(secret)} for secret in secrets}
    exact = {secret: {form for form in encode_secret(secret) if len(form) > 4} for secret in secrets}
    return [
        (name, secret)
        for name, content in artefacts.items()
        for lower in [content.lower()]
        for secret in secrets
        if any(form in lower for form in lowered[secret]) or any(form in content for form in exact[secret])
    ]


def load(service, *, max_attempts: int = 5, **options: Any) -> p2p.History:
    """Load it."""
    with p2p.Client("token", base_url=service[0].base_url, cache_dir=False, max_attempts=max_attempts) as client:
        return p2p.load_history(client, **options)


def tables_of(history: p2p.History) -> dict[str, pd.DataFrame]:
    """Return every table that there is."""
    payments = history.payments
    return {
        "payments": payments,
        "friends": history.friends,
        "people": history.people,
        "problems": history.problems,
        **{name: build_table(name, payments, history, as_of=AS_OF) for name in ANALYSES},
        "status_mix by direction": p2p.status_mix(payments, by="direction"),
        "spending_over_time by person": p2p.spending_over_time(payments, by="counterparty"),
    }


def render_table(table: pd.DataFrame) -> bytes:
    """Return all that a table shows of itself, and holds."""
    parts = [table.to_string(), table.to_html(), table.to_csv(), repr(table.attrs), repr(table.to_dict("records"))]
    return "\n".join(parts).encode() + pickle.dumps(table)


_EXPLORED: Final = frozenset({"spend_by_friend", "pending_requests", "unusual"})


def draw_table(name: str, table: pd.DataFrame) -> dict[str, bytes]:
    """Return a plot as SVG, with its text as text and as outlines, as PNG, and the texts in it."""
    ax = plots.mark_private(getattr(plots, name)(table))
    pictures = {f"{name} texts": "\n".join(text.get_text() for text in ax.figure.findobj(Text)).encode()}
    # Outlines and pixels come from the same texts, so one plot is enough.
    is_outlined = name == "spend_by_friend"
    for form, outlines in (("svg", "none"), *((("svg", "path"), ("png", "path")) if is_outlined else ())):
        picture = io.BytesIO()
        with mpl.rc_context({"svg.fonttype": outlines}):
            ax.figure.savefig(picture, format=form)
        pictures[f"{name} {form} {outlines}"] = picture.getvalue()
    return pictures


def explore_history(history: p2p.History, folder: Path) -> dict[str, bytes]:
    """Return what an explorer shows, and a notebook saves of its widgets, for some analyses and then for a person."""
    made = {}
    explorer = p2p.Explorer(history, as_of=AS_OF, folder=folder)
    analyses = [name for _, name in explorer.analysis.options if name in _EXPLORED]
    someone = next(person for label, person in explorer.person.options if "@" in label)
    for analysis, person in [*((name, ()) for name in analyses), ("pending_requests", someone)]:
        explorer.analysis.value, explorer.person.value = analysis, person
        explorer.save_csv.click()
        explorer.save_plot.click()
        state = json.dumps(dependency_state(explorer.widget), ensure_ascii=False)
        made[f"explorer {analysis} {len(person)}"] = (state + repr(explorer)).encode()
    explorer.widget.close()
    return made


def export_all(history: p2p.History, folder: Path, *, as_of: Any) -> None:
    """Write the payments of a history in each kind of file, and the parts of the workbook unpacked."""
    p2p.to_csv(history.payments, folder / "payments.csv")
    p2p.to_parquet(history.payments, folder / "payments.parquet")
    p2p.to_jsonl(history, folder / "payments.jsonl")
    p2p.to_beancount(history, folder / "payments.beancount")
    p2p.to_hledger(history, folder / "payments.journal")
    p2p.to_sqlite(history, folder / "payments.sqlite", as_of=as_of)
    p2p.to_excel(history, folder / "payments.xlsx", as_of=as_of)
    with zipfile.ZipFile(folder / "payments.xlsx") as parts:
        for part in parts.namelist():
            (folder / f"workbook {part.replace('/', ' ')}").write_bytes(parts.read(part))


def artefacts_of(history: p2p.History, folder: Path) -> dict[str, bytes]:
    """Return everything that can be made of a history."""
    made = {
        "repr": repr(history).encode(),
        "attributes": repr(vars(history)).encode() + history.me.raw,
        "me": repr(history.me).encode() + pickle.dumps(history.me.user),
        "card": history._repr_html_().encode(),
        "report": p2p.render_report(history, as_of=AS_OF).encode(),
        "report in Markdown": p2p.render_report(history, as_of=AS_OF, kind="markdown").encode(),
        "year in review": p2p.render_year(history, as_of=AS_OF, privacy=False).encode(),
        "year in Markdown": p2p.render_year(history, as_of=AS_OF, privacy=False, kind="markdown").encode(),
        "reminders": render_table(p2p.reminders(history, as_of=AS_OF)),
    }
    for name, table in tables_of(history).items():
        made[name] = render_table(table)
        p2p.to_csv(table, folder / f"{name}.csv")
        p2p.to_parquet(table, folder / f"{name}.parquet")
        made[f"{name} unpacked"] = render_table(p2p.read_parquet(folder / f"{name}.parquet"))
        if name in ANALYSES:
            made |= draw_table(name, table)
    made |= explore_history(history, folder)
    export_all(history, folder, as_of=AS_OF)
    return made | {path.name: path.read_bytes() for path in folder.iterdir()}
