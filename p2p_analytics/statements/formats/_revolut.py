"""Revolut: the statement of one or more products, in several languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.statements.formats.fields import (
    blank_cells,
    build_reading,
    find_currencies,
    find_language,
    match_kinds,
    merge_names,
    read_dates,
    read_money,
    read_statuses,
)
from p2p_analytics.statements.formats.format import StatementFormat
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from p2p_analytics.statements.formats.fields import Languages
    from p2p_analytics.statements.formats.format import Reading, Table

_LANGUAGES: Final[Languages] = {
    "en": {
        "type": "Type", "product": "Product", "started": "Started Date", "completed": "Completed Date",
        "description": "Description", "amount": "Amount", "fee": "Fee", "currency": "Currency", "state": "State",
        "balance": "Balance",
    },
    "de": {
        "type": ("Art", "Typ"), "product": "Produkt", "started": ("Datum des Beginns", "Startdatum"),
        "completed": ("Datum des Abschlusses", "Abschlussdatum"), "description": "Beschreibung", "amount": "Betrag",
        "fee": ("Gebühr", "Gebühren"), "currency": "Währung", "state": "Status", "balance": ("Kontostand", "Saldo"),
    },
    "fr": {
        "type": "Type", "product": "Produit", "started": "Date de début", "completed": "Date de fin",
        "description": "Description", "amount": "Montant", "fee": ("Frais", "Commission"), "currency": "Devise",
        "state": "État", "balance": "Solde",
    },
    "pt": {
        "type": "Tipo", "product": "Produto", "started": "Data de início", "completed": "Data de conclusão",
        "description": "Descrição", "amount": "Montante", "fee": ("Comissão", "Taxa"), "currency": "Moeda",
        "state": "Estado", "balance": "Saldo",
    },
    "es": {
        "type": "Tipo", "product": "Producto", "started": "Fecha de inicio",
        "completed": ("Fecha de finalización", "Fecha de fin"), "description": "Descripción", "amount": "Importe",
        "fee": "Comisión", "currency": ("Divisa", "Moneda"), "state": "Estado", "balance": "Saldo",
    },
    "it": {
        "type": "Tipo", "product": "Prodotto", "started": "Data di inizio", "completed": "Data di completamento",
        "description": "Descrizione", "amount": "Importo", "fee": ("Costo", "Commissione"), "currency": "Valuta",
        "state": ("Stato", "State"), "balance": "Saldo",
    },
    "nl": {
        "type": "Type", "product": "Product", "started": "Startdatum",
        "completed": ("Datum voltooid", "Voltooiingsdatum"), "description": "Beschrijving", "amount": "Bedrag",
        "fee": "Kosten", "currency": "Valuta", "state": "Status", "balance": "Saldo",
    },
}  # fmt: skip
_SERVICE: Final = "revolut"
_KINDS: Final = (
    ("transfer", r"\batm\b|withdrawal|geldautomat|levantamento|retrait|retirada|prelievo|opname"),
    ("asset", r"exchange|umtausch|wechsel|cambi?o\b|câmbio|échange|change\b|crypto|wissel"),
    ("merchant", r"card|kart|carte|carta|cartão|tarjeta|kaart|refund"),
    ("transfer", r"top.?up|einzahlung|aufladung|carregamento|recharge|recarga|ricarica|opwaardering|deposit"),
    ("reward", r"reward|cash ?back|interest|bonus|zins|juros|intérêt|interess|rente"),
    ("fee", r"\bfees?\b|charge|gebühr|frais|comiss|taxa|tariff|kosten"),
    ("payment", r"transfer|überweisung|virement|trasferimento|bonifico|overschrijving|payment|request"),
)
# Transfers between products of one account, by their description.
_OWN_PRODUCT: Final = (
    r"\bpockets?\b|\bvaults?\b|savings|spartopf|sparkonto|subconta|sub-?account|cofre|\bcoffre\b|tasca\b|flexible cash"
    r"|investment account|conto di investimento"
)
_CURRENT: Final = r"current|giro|girokonto|courant|actuelle|atual|corrente|corriente|actual|lopend|betaal"
_PERSON: Final = (
    r"^(?i:(?:payment|transfer|money|request) (?:to|from)|sent to|received from|to|from"
    r"|(?:zahlung|überweisung|transfer) (?:an|von)|an|von"
    r"|(?:paiement|virement) (?:à|de|vers)|à|vers"
    r"|(?:pagamento|transferência|trasferimento|bonifico) (?:para|de|da|a)|para|da"
    r"|(?:pago|transferencia) (?:a|de)|de|a"
    r"|(?:betaling|overschrijving) (?:aan|van)|aan|van) +(\S.*)$"
)


def read(table: Table) -> Reading:
    """Return the rows of Revolut; a completed row moves its amount less its fee.

    The balance is that of one product: "Current" where the file has it, else the product of its first row. Rows of
    other products, such as savings, are transfers that move nothing of it.
    """
    table = blank_cells(table)
    cells = table.cells
    language = find_language(table.header, _LANGUAGES)
    money, problems = read_money(table, ("amount", "fee", "balance"), language=language)
    moments = cells["completed"].zip_with(cells["completed"].is_not_null(), cells["started"])
    dates, faults = read_dates(table, moments, order=None if language == "en" else "dmy")
    problems += faults
    currency, faults = find_currencies(table, cells["currency"])
    problems += faults
    status, faults = read_statuses(table, cells["state"])
    problems += faults

    frame = cells.select("file", "type", "description").with_columns(
        [*money.get_columns(), dates, currency, status, match_kinds(cells["type"], _KINDS), _is_main(cells)]
    )
    description = pl.col("description")
    is_own = ~pl.col("is_main") | description.str.to_lowercase().str.contains(_OWN_PRODUCT).fill_null(value=False)
    kind = (
        pl.when((pl.col("kind") == "payment") & is_own).then(pl.lit("transfer"))
        .when(~pl.col("is_main") & (pl.col("kind") == "unknown")).then(pl.lit("transfer"))
        .otherwise("kind")
    )  # fmt: skip
    flow = pl.col("amount") - pl.col("fee").fill_null(0)
    moves = (pl.col("status") == Status.SETTLED).fill_null(value=False) & pl.col("is_main")
    frame = frame.with_columns(kind.alias("kind")).with_columns(
        pl.col("description").alias("note"),
        flow.alias("flow_cents"),
        pl.when(moves).then(flow).otherwise(0).alias("moved_cents"),
        pl.col("fee").abs().alias("fee_cents"),
        pl.when(moves).then("balance").alias("balance_cents"),
        pl.when(pl.col("kind") == "merchant").then(description)
        .when(pl.col("kind") == "payment").then(pl.coalesce(description.str.extract(_PERSON), description))
        .alias("counterparty_name"),
    )  # fmt: skip
    started, _ = read_dates(table, cells["started"], order=None if language == "en" else "dmy", field="started")
    folded = cells.select(_fold_product().alias("product")).to_series()
    is_current = folded.str.contains(_CURRENT).fill_null(value=False)
    frame = frame.with_columns(started.alias("start"), folded.set(is_current, None))
    return build_reading(table, frame.drop("file"), problems, subaccounts=_find_products(cells))


def _find_products(cells: pl.DataFrame) -> dict[str, str]:
    """Return the product that the balance of each file is of: any current account, or another product by its name."""
    main = cells.filter(_is_main(cells)).group_by("file").agg(_fold_product().drop_nulls().first())
    return {file: product for file, product in main.iter_rows() if product and not re.search(_CURRENT, product)}


def _fold_product() -> pl.Expr:
    return pl.col("product").str.strip_chars().str.to_lowercase()


def _is_main(cells: pl.DataFrame) -> pl.Series:
    """Return whether each row belongs to the product of its file that the balance is of."""
    product = _fold_product()
    is_current = product.str.contains(_CURRENT).fill_null(value=False)
    main = pl.coalesce(product.filter(is_current).first(), product.drop_nulls().first()).over("file")
    return cells.select((product == main).fill_null(value=True).alias("is_main")).to_series()


REVOLUT: Final = StatementFormat(
    name=_SERVICE,
    columns=merge_names(_LANGUAGES),
    required=("type", "product", "started", "completed", "description", "amount", "fee", "currency", "state"),
    read=read,
)
