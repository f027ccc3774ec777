"""PayPal: the monthly statement, which has a running balance in each currency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.statements.formats._paypal import SERVICE, add_languages, read_shared
from p2p_analytics.statements.formats.fields import blank_cells, build_reading, merge_names
from p2p_analytics.statements.formats.format import StatementFormat
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from p2p_analytics.statements.formats.fields import Languages
    from p2p_analytics.statements.formats.format import Reading, Table

_LANGUAGES: Final[Languages] = add_languages({
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
})  # fmt: skip


def read(table: Table) -> Reading:
    """Return the rows of a PayPal statement; each moved its net amount."""
    table = blank_cells(table)
    frame, problems = read_shared(table, _LANGUAGES, words="description")
    banks = table.cells.select(
        bank=pl.concat_str("bank", "bank_account", separator=" ", ignore_nulls=True).replace("", None)
    )
    net = pl.col("flow_cents")
    frame = frame.with_columns(banks["bank"]).with_columns(
        pl.lit(str(Status.SETTLED)).alias("status"),
        net.alias("moved_cents"),
        pl.when(net > 0).then("bank").alias("funding_source"),
        pl.when(net < 0).then("bank").alias("destination"),
    )
    return build_reading(table, frame, problems)


PAYPAL_STATEMENT: Final = StatementFormat(
    name="paypal_statement",
    columns=merge_names(_LANGUAGES),
    required=("date", "description", "currency", "gross", "net", "balance", "id"),
    read=read,
    service=SERVICE,
    repeats_ids=True,
)
