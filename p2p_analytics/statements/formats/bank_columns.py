"""Names of the columns of a date, a description and an amount, in many languages, as banks write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.statements.formats.format import normalize_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BANK_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "date": (
        "Date", "Transaction Date", "Posting Date", "Post Date", "Posted Date", "Date Posted", "Booking Date",
        "Buchungstag", "Buchungsdatum", "Datum", "Wertstellung", "Valutadatum", "Fecha", "Fecha operación",
        "Fecha de operación", "Fecha valor", "Date opération", "Date de l'opération", "Date comptable",
        "Date de comptabilisation", "Data", "Data operazione", "Data contabile", "Data valuta", "Data mov.",
        "Data movimento", "Data Lançamento", "Boekdatum", "Transactiedatum", "Bokföringsdag", "Bogføringsdato",
        "Data księgowania", "Data operacji",
    ),
    "description": (
        "Description", "Original Description", "Transaction Description", "Details", "Transaction Details", "Memo",
        "Narrative", "Payee", "Name", "Reference", "Verwendungszweck", "Buchungstext", "Beschreibung", "Concepto",
        "Descripción", "Libellé", "Libellé opération", "Descrizione", "Causale", "Descrizione operazione", "Descrição",
        "Histórico", "Omschrijving", "Naam / Omschrijving", "Mededelingen", "Text", "Tekst", "Opis", "Opis operacji",
        "Tytuł",
    ),
    "amount": (
        "Amount", "Transaction Amount", "Value", "Betrag", "Umsatz", "Betrag (EUR)", "Importe", "Monto", "Montant",
        "Montant (EUR)", "Importo", "Valor", "Bedrag", "Bedrag (EUR)", "Belopp", "Beløb", "Kwota",
    ),
    "debit": (
        "Debit", "Debit Amount", "Withdrawal", "Withdrawals", "Money Out", "Paid Out", "Soll", "Débit", "Cargo",
        "Cargos", "Addebiti", "Dare", "Uscite", "Débito", "Af",
    ),
    "credit": (
        "Credit", "Credit Amount", "Deposit", "Deposits", "Money In", "Paid In", "Haben", "Crédit", "Abono", "Abonos",
        "Accrediti", "Avere", "Entrate", "Crédito", "Bij",
    ),
    "sign": ("Af Bij", "Soll/Haben", "Debit/credit", "Credit/debit", "Credit or debit", "CR/DR", "DR/CR", "D/C", "S/H"),
    "currency": ("Currency", "Währung", "Moneda", "Divisa", "Devise", "Valuta", "Moeda", "Munt", "Waluta"),
}  # fmt: skip

# Columns of services, by field; each is unambiguous among the columns of a file that has most of them.
SERVICE_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "time": ("Time", "Uhrzeit", "Heure", "Orario", "Ora", "Hora", "Tijd", "Horário", "Tid", "Godzina"),
    "type": ("Type", "Transaction Type", "Art", "Typ", "Tipo", "Rodzaj", "Soort"),
    "status": ("Status", "State", "État", "Statut", "Stato", "Estado"),
    "name": ("Name", "Nom", "Nome", "Nombre", "Naam", "Navn", "Namn", "Nazwa", "Counterparty", "Mitglied", "Member"),
    "note": ("Note", "Notes", "Hinweis", "Remarque", "Messaggio", "Nota", "Observação", "Message", "Notiz", "Zweck"),
    "fee": (
        "Fee", "Fees", "Gebühr", "Gebühren", "Entgelt", "Commission", "Frais", "Tariffa", "Commissione", "Costo",
        "Comisión", "Tarifa", "Kosten", "Comissão", "Taxa", "Opłata",
    ),
    "currency": BANK_COLUMNS["currency"],
    "balance": ("Balance", "Running Balance", "Kontostand", "Guthaben", "Solde", "Saldo"),
}  # fmt: skip
# Words of money out, in the column of the sign.
OUT_WORDS: Final = frozenset({"d", "dr", "debit", "af", "s", "soll", "out"})


def is_bank_header(header: Sequence[str]) -> bool:
    """Return whether a header names a date, a description and an amount, as in the file of a bank account."""
    return "description" in (find_bank_columns(header, {}) or {})


def find_bank_columns(header: Sequence[str], named: Mapping[str, str]) -> dict[str, int] | None:
    """Return the position of each field, None without a date or an amount; the first of the known names wins."""
    names = [normalize_name(name) for name in header]
    positions = {}
    for field, spellings in BANK_COLUMNS.items():
        wanted = [named[field]] if field in named else spellings
        found = next((name for name in map(normalize_name, wanted) if name in names), None)
        if found is not None:
            positions[field] = names.index(found)
    is_complete = "date" in positions and any(name in positions for name in ("amount", "debit", "credit"))
    return positions if is_complete and all(field in positions for field in named) else None
