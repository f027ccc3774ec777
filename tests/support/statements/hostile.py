"""The sample statement files, full of hostile names and notes."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from support.statements.files import SAMPLES

WITHOUT_PEOPLE = {"cash_app_bitcoin"}
OWNER = "Nora Quill"
_PEOPLE = ("Theo Marsh", "Lena Ortiz", "Imani Cole")
_NOTES = {"Note", "Notes", "Notes and #tags", "Payment Reference", "Hinweis", "Messaggio"}
_GROUP_NOTES = {"Description", "Beschreibung"}
_FEWEST_COLUMNS = 6
_IDS = {"ID", "Transaction ID", "TransferWise ID", "Transaktionscode", "Codice transazione", "Id. de transacción"}


def fill_sample(name: str, texts: Sequence[str]) -> str:
    """Return a sample with one more row for each text, which is the name and the note of a payment.

    The members of a Splitwise group are in its header: there, the texts are notes, and the first one is a member.
    """
    source = io.StringIO(SAMPLES[name].read_text("utf-8-sig"), newline="")
    if name.startswith("splitwise"):
        return _fill_group(list(csv.reader(source)), texts)
    rows: list[list[str]] = []
    header: list[str] = []
    is_filled = False
    for row in csv.reader(source):
        if not header and sum(map(bool, row)) > _FEWEST_COLUMNS:
            header = [cell.strip() for cell in row]
        person = next((person for person in _PEOPLE if any(person in cell for cell in row)), None)
        rows.append(row)
        if header and person and not is_filled:
            rows += [_fill_row(header, row, person, text, number) for number, text in enumerate(texts, 11)]
            is_filled = True
    assert is_filled, f"{name} has no header of more than {_FEWEST_COLUMNS} columns, or no row with one of {_PEOPLE}"
    return _write(rows)


def write_json(texts: Sequence[str]) -> str:
    """Return a JSON history with a payment for each text, from a person with this name and username, and this note."""
    owner = {"username": "nora-quill", "display_name": OWNER}
    target = {"type": "user", "user": owner, "email": None, "phone": None}
    rows: list[dict[str, Any]] = [
        {
            "id": f"40{number}", "type": "payment", "datetime_created": "2024-05-01T10:00:00", "note": text,
            "amount": 5, "payment": {"id": f"50{number}", "status": "settled", "action": "pay", "target": target,
                        "actor": {"username": text, "display_name": text}},
        }
        for number, text in enumerate(texts, 11)
    ]  # fmt: skip
    return json.dumps({"data": {"transactions": rows}})


def _fill_row(header: list[str], row: list[str], person: str, text: str, number: int) -> list[str]:
    cells = [cell.replace(person, text) for cell in row]
    for place, column in enumerate(header):
        if column in _NOTES and person not in row[place]:
            cells[place] = text
        if column in _IDS:
            cells[place] = f"{cells[place]}{number}"
    return cells


def _fill_group(rows: list[list[str]], texts: Sequence[str]) -> str:
    header = [texts[0] if cell in _PEOPLE[:1] else cell for cell in rows[0]]
    note = next(place for place, cell in enumerate(header) if cell in _GROUP_NOTES)
    template = next(row for row in rows[1:] if any(row))
    copies = [[text if place == note else cell for place, cell in enumerate(template)] for text in texts]
    return _write([header, *copies])


def _write(rows: list[list[str]]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue()
