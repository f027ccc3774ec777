"""PayPal: the activity download, in several languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.statements.formats._paypal import SERVICE, add_languages, read_shared
from p2p_analytics.statements.formats.fields import (
    blank_cells,
    build_reading,
    list_places,
    merge_names,
    read_statuses,
)
from p2p_analytics.statements.formats.format import StatementFormat
from p2p_analytics.statements.problems import list_problems
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from p2p_analytics.statements.formats.fields import Languages
    from p2p_analytics.statements.formats.format import Reading, Table
    from p2p_analytics.statements.problems import Problem

_LANGUAGES: Final[Languages] = add_languages({
    "en": {
        "type": "Type", "status": "Status", "to_address": "To Email Address", "subject": "Subject", "note": "Note",
        "item": "Item Title", "impact": "Balance Impact", "source": ("Payment Source", "Funding Source"),
    },
    "de": {
        "type": "Typ", "status": "Status", "to_address": ("Empfänger E-Mail-Adresse", "An E-Mail-Adresse"),
        "subject": "Betreff", "note": "Hinweis", "item": "Artikelbezeichnung", "impact": "Auswirkung auf Guthaben",
        "source": "Zahlungsquelle",
    },
    "fr": {
        "type": "Type", "status": ("État", "Statut"),
        "to_address": ("À l'adresse email", "Adresse email du destinataire"), "subject": "Objet",
        "note": "Remarque", "item": "Titre de l'objet", "impact": "Impact sur le solde",
        "source": "Source de paiement",
    },
    "it": {
        "type": "Tipo", "status": "Stato", "to_address": "Indirizzo email destinatario", "subject": "Oggetto",
        "note": "Messaggio", "item": "Titolo oggetto", "impact": "Impatto sul saldo", "source": "Fonte di pagamento",
    },
    "es": {
        "type": "Tipo", "status": "Estado",
        "to_address": ("Correo electrónico del destinatario", "Dirección de correo electrónico del destinatario"),
        "subject": "Asunto", "note": "Nota", "item": ("Título del artículo", "Nombre del artículo"),
        "impact": ("Impacto en el saldo", "Repercusión en el saldo"), "source": "Fuente de pago",
    },
    "nl": {
        "type": "Type", "status": "Status", "to_address": "Naar e-mailadres", "subject": "Onderwerp", "note": "Note",
        "item": ("ArtikelNaam", "Item Title"), "impact": "Effect op saldo", "source": "Betaalbron",
    },
    "pt": {
        "type": "Tipo", "status": ("Status", "Estado"),
        "to_address": ("Para o endereço de e-mail", "E-mail do destinatário"), "subject": "Assunto",
        "note": ("Observação", "Nota"), "item": "Título do item",
        "impact": ("Impacto no saldo", "Impacto sobre o saldo"), "source": "Fonte de pagamento",
    },
})  # fmt: skip

_TEXTS: Final = ("file", "from_address", "to_address", "subject", "note", "item")
_DEBIT: Final = ("debit", "soll", "débit", "addebito", "débito", "cargo", "adeudo", "af")
_CREDIT: Final = ("credit", "haben", "crédit", "accredito", "crédito", "abono", "bij")
_MEMO: Final = ("memo", "mémo", "memorando", "promemoria")


def read(table: Table) -> Reading:
    """Return the rows of a PayPal activity download.

    A row moves its net amount if its balance impact is debit or credit, whatever its status. Downloads without that
    column move it for completed rows, and for pending withdrawals. Rows with the impact "Memo" move nothing: completed
    ones are notices, except authorizations, which are holds; others, such as a pending payment, have the kind of their
    type. The rows of a currency conversion name the converted payment in `reference_id`; each stays in its own
    currency.
    """
    table = blank_cells(table)
    cells = table.cells
    frame, problems = read_shared(table, _LANGUAGES, words="type")
    status, faults = read_statuses(table, cells["status"])
    frame = frame.with_columns(
        [status, _read_impacts(cells["impact"]), *cells.select(*_TEXTS, funding_source="source").get_columns()]
    )
    problems += faults + _list_contradictions(table, frame)

    net = pl.col("flow_cents")
    is_memo = (pl.col("impact") == "memo").fill_null(value=False)
    is_pending_transfer = (pl.col("status") == Status.PENDING) & (pl.col("kind") == "transfer")
    moves = (
        pl.when(pl.col("impact").is_not_null())
        .then(~is_memo)
        .otherwise((pl.col("status") == Status.SETTLED) | is_pending_transfer)
    )
    is_record = is_memo & (pl.col("kind").fill_null("") != "hold")
    is_notice = is_record & (pl.col("status").fill_null(Status.SETTLED.value) == Status.SETTLED)
    frame = frame.with_columns(
        pl.when(moves.fill_null(value=False)).then(net).otherwise(0).alias("moved_cents"),
        pl.when(is_notice).then(pl.lit("notice")).otherwise("kind").alias("kind"),
        is_record.alias("is_record"),
    )
    other_address = pl.when(net < 0).then("to_address").otherwise("from_address")
    has_address = pl.col("kind").is_in(["payment", "merchant"])
    frame = frame.with_columns(
        _find_accounts(frame),
        pl.coalesce("note", "subject", "item").alias("note"),
        pl.coalesce("counterparty_name", pl.when(has_address).then(other_address)).alias("counterparty_name"),
        pl.when(~pl.col("is_record")).then("balance_cents").alias("balance_cents"),
    )
    return build_reading(table, frame.drop("file"), problems)


def _read_impacts(cells: pl.Series) -> pl.Series:
    """Return "debit", "credit" or "memo" of each row; null for another word."""
    words = {_DEBIT: "debit", _CREDIT: "credit", _MEMO: "memo"}
    meanings = {word: meaning for group, meaning in words.items() for word in group}
    text = cells.cast(pl.String).str.strip_chars().str.to_lowercase()
    return text.replace_strict(meanings, default=None, return_dtype=pl.String).alias("impact")


def _list_contradictions(table: Table, frame: pl.DataFrame) -> list[Problem]:
    """Return a problem for each unknown balance impact, and for each that contradicts the sign of the net amount."""
    places, cells = list_places(table), table.cells["impact"]
    is_unknown = frame["impact"].is_null() & cells.is_not_null()
    problems = list_problems(places, is_unknown, cells, field="impact", code="unknown_impact")
    impact, net = pl.col("impact"), pl.col("flow_cents")
    is_wrong = frame.select((impact == "debit") & (net > 0) | (impact == "credit") & (net < 0)).to_series()
    return problems + list_problems(places, is_wrong.fill_null(value=False), cells, field="impact", code="wrong_impact")


def _find_accounts(frame: pl.DataFrame) -> pl.Expr:
    """Return the account holder's address, for each file the one that money most often left from or came to."""
    own = (
        pl.when(pl.col("flow_cents") < 0)
        .then("from_address")
        .otherwise("to_address")
        .str.strip_chars()
        .str.to_lowercase()
    )
    counts = frame.select("file", own.alias("own")).drop_nulls("own").filter(pl.col("own").str.contains("@"))
    most = counts.group_by("file", "own").len().sort("len", "own", descending=[True, False])
    accounts = dict(most.unique("file", keep="first", maintain_order=True).select("file", "own").iter_rows())
    return pl.col("file").replace_strict(accounts or {"": ""}, default=None, return_dtype=pl.String).alias("account")


PAYPAL_ACTIVITY: Final = StatementFormat(
    name="paypal_activity",
    columns=merge_names(_LANGUAGES),
    required=("date", "name", "type", "status", "currency", "gross", "net", "id"),
    read=read,
    service=SERVICE,
    repeats_ids=True,
)
