"""Revolut: the statement of one or more products in any language, and the one before 2021."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.statements.formats.bank_columns import SERVICE_COLUMNS
from p2p_analytics.statements.formats.column_format import ColumnFormat

if TYPE_CHECKING:
    from p2p_analytics.statements.problems import Problem

_COLUMNS: Final = {
    **{key: SERVICE_COLUMNS[key] for key in ("type", "fee", "currency", "status", "balance")},
    "product": ("Product", "Produkt", "Produit", "Produto", "Producto", "Prodotto"),
    "started": (
        "Started Date", "Datum des Beginns", "Startdatum", "Date de début", "Data de início", "Fecha de inicio",
        "Data di inizio", "Data rozpoczęcia",
    ),
    "date": (
        "Completed Date", "Datum des Abschlusses", "Abschlussdatum", "Date de fin", "Data de conclusão",
        "Fecha de finalización", "Fecha de fin", "Data di completamento", "Datum voltooid", "Voltooiingsdatum",
        "Data zrealizowania", "Data zakończenia",
    ),
    "description": ("Description", "Beschreibung", "Descrição", "Descripción", "Descrizione", "Beschrijving", "Opis"),
    "amount": ("Amount", "Betrag", "Montant", "Montante", "Importe", "Importo", "Bedrag", "Kwota"),
}  # fmt: skip
_TOP_UP: Final = (
    r"top.?up|einzahlung|aufladung|carregamento|recharge|recarga|ricarica|opwaardering|deposit|zasilenie|feltölt"
    r"|încărcare|alimentare|dobití|dobitie|insättning|indbetaling|innskudd|papildym"
)
_TRANSFER: Final = (
    r"transfer|überweisung|virement|trasferimento|bonifico|overschrijving|payment|request|przelew|överföring"
    r"|overf[øo]r|převod|prevod|átutalás|bizum"
)
_KINDS: Final = (
    ("transfer", r"\batm\b|withdrawal|geldautomat|levantamento|retrait|retirada|prelievo|opname|bankomat|wypłata"),
    (
        "asset",
        r"exchange|umtausch|wechsel|cambi?o\b|câmbio|échange|change\b|crypto|wissel|wymiana|\bschimb|směn|váltás",
    ),
    ("merchant", r"card|kart|carte|carta|cartão|tarjeta|kaart|\bkort|kárty|refund|zwrot"),
    ("transfer", _TOP_UP),
    ("reward", r"reward|cash ?back|interest|bonus|zins|juros|intérêt|interess|rente|odsetki"),
    ("fee", r"\bfees?\b|charge|gebühr|frais|comiss|taxa|tariff|kosten|opłata"),
    ("payment", _TRANSFER),
)
# Transfers between products of one account, by their description.
_OWN_PRODUCT: Final = (
    r"\bpockets?\b|\bvaults?\b|savings|spartopf|sparkonto|subconta|sub-?account|cofre|\bcoffre\b|tasca\b|flexible cash"
    r"|investment account|conto di investimento|oszczędnoś|skarbon"
)
_PERSON: Final = (
    r"^(?i:(?:payment|transfer|money|request) (?:to|from)|sent to|received from|to|from"
    r"|(?:zahlung|überweisung|transfer) (?:an|von)|an|von"
    r"|(?:paiement|virement) (?:à|de|vers)|à|vers"
    r"|(?:pagamento|transferência|trasferimento|bonifico) (?:para|de|da|a)|para|da"
    r"|(?:(?:pago|transferencia|bizum)(?: (?:enviad[oa]|recibid[oa]))?) (?:a|de)|de|a"
    r"|(?:betaling|overschrijving) (?:aan|van)|aan|van"
    r"|(?:przelew|płatność) (?:do|od)|do|od|(?:överföring|overførsel|overføring) (?:till|til|från|fra)|till?|från|fra"
    r"|(?:transfer )?(?:către|de la)) +(\S.*)$"
)


def _adjust(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Take rows of other products, such as savings, and those between products for transfers, without a name."""
    text = pl.col("description").str.to_lowercase()
    is_own = ~pl.col("is_main") | text.str.contains(_OWN_PRODUCT).fill_null(value=False)
    is_transfer = (pl.col("kind") == "payment") & is_own | (pl.col("kind") == "unknown") & ~pl.col("is_main")
    return frame.with_columns(kind=pl.when(is_transfer).then(pl.lit("transfer")).otherwise("kind")), []


REVOLUT: Final = ColumnFormat(
    name="revolut",
    columns=_COLUMNS,
    required=("type", "product", "started", "date", "description", "amount", "fee", "currency", "status"),
    shape=("type", "product", "started", "date", "description", "amount", "fee", "currency", "status", "balance"),
    fee="taken off",
    kinds=_KINDS,
    main_product=r"current|giro|courant|actuelle|atual|corrente|corriente|actual|lopend|betaal|bieżąc|běžn|folyó|curent",
    persons=(_PERSON, "^(.+)$"),
    adjust=_adjust,
)
TO_2021: Final = ColumnFormat(
    name="revolut_2018",
    columns={
        "date": "Completed Date", "description": ("Description", "Reference"), "out": "Paid Out (currency)",
        "in": "Paid In (currency)", "exchange_out": "Exchange Out", "exchange_in": "Exchange In",
        "balance": "Balance (currency)", "category": "Category", "note": "Notes",
    },
    required=("date", "description", "out", "in", "exchange_out", "exchange_in", "balance"),
    kind_from=("description",),
    kinds=(
        ("transfer", rf"^cash at |top-?up|^payment from |{_OWN_PRODUCT}"),
        ("asset", r"^exchanged|^auto exchanged|\bfx rate"),
        ("fee", r"\bfee\b"),
        ("payment", r"^(?:to|from) "),
    ),
    kind="merchant",
    persons=(_PERSON, "^(.+)$"),
    service="revolut",
    adjust=lambda frame: (frame.with_columns(type=pl.col("category")), []),
)  # fmt: skip
