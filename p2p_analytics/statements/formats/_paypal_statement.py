"""PayPal: the monthly statement, which has a running balance in each currency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.statements._format import Reading, StatementFormat
from p2p_analytics.statements.formats._other_services import (
    blank_cells,
    build_rows,
    find_currencies,
    find_language,
    match_kinds,
    merge_names,
    read_money,
)
from p2p_analytics.statements.formats._paypal import (
    KINDS,
    LANGUAGES,
    SERVICE,
    list_wrong_nets,
    read_moments,
    resolve_refunds,
)
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from p2p_analytics.statements._format import Table
    from p2p_analytics.statements.formats._other_services import Languages

_OWN: Final[Languages] = {
    "en": {
        "description": "Description", "bank": "Bank Name", "bank_account": "Bank Account", "invoice": "Invoice ID",
    },
    "de": {
        "description": "Beschreibung", "bank": "Name der Bank", "bank_account": "Bankkonto",
        "invoice": "Rechnungsnummer",
    },
    "fr": {
        "description": "Description", "bank": "Nom de la banque", "bank_account": "Compte bancaire",
        "invoice": "Numéro de facture",
    },
    "it": {
        "description": "Descrizione", "bank": "Nome banca", "bank_account": "Conto bancario", "invoice": "ID fattura",
    },
    "es": {
        "description": "Descripción", "bank": "Nombre del banco", "bank_account": "Cuenta bancaria",
        "invoice": "Id. de factura",
    },
    "nl": {
        "description": ("Omschrijving", "Beschrijving"), "bank": "Naam bank", "bank_account": "Bankrekening",
        "invoice": "Factuurreferentie",
    },
    "pt": {
        "description": "Descrição", "bank": "Nome do banco", "bank_account": "Conta bancária",
        "invoice": "ID da fatura",
    },
}  # fmt: skip
_LANGUAGES: Final[Languages] = {language: {**names, **_OWN[language]} for language, names in LANGUAGES.items()}


def read(table: Table) -> Reading:
    """Return the rows of a PayPal statement; each moved its net amount."""
    import polars as pl

    table = blank_cells(table)
    cells = table.cells
    language = find_language(table.header, _LANGUAGES)
    money, problems = read_money(table, ("gross", "fee", "net", "balance", "tax"), language=language)
    dates, faults = read_moments(table, language)
    problems += faults
    currency, faults = find_currencies(table, cells["currency"])
    problems += faults + list_wrong_nets(table, money)
    kind = resolve_refunds(match_kinds(cells["description"], KINDS), cells["id"], cells["reference"])
    net = pl.coalesce("net", pl.col("gross") + pl.col("fee").fill_null(0))
    bank = pl.concat_str("bank", "bank_account", separator=" ", ignore_nulls=True).replace("", None)
    frame = cells.select("id", "reference", "description", "name", "bank", "bank_account", "from_address").with_columns(
        [*money.get_columns(), dates, currency, kind]
    )
    frame = frame.with_columns(
        pl.col("id").alias("payment_id"),
        pl.col("reference").alias("reference_id"),
        pl.col("description").alias("type"),
        pl.lit(str(Status.SETTLED)).alias("status"),
        pl.col("name").alias("counterparty_name"),
        net.alias("flow_cents"),
        net.alias("moved_cents"),
        pl.col("fee").abs().alias("fee_cents"),
        pl.col("tax").abs().alias("tax_cents"),
        pl.when(net > 0).then(bank).alias("funding_source"),
        pl.when(net < 0).then(bank).alias("destination"),
        pl.col("balance").alias("balance_cents"),
    )
    return Reading(build_rows(table, frame), problems)


PAYPAL_STATEMENT: Final = StatementFormat(
    name="paypal_statement",
    columns=merge_names(_LANGUAGES),
    required=("date", "description", "currency", "gross", "net", "balance", "id"),
    read=read,
    service=SERVICE,
)
