"""PayPal: header names, kinds of transactions and columns that the statement and the activity download share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.statements.formats.fields import (
    find_currencies,
    find_language,
    join_texts,
    list_places,
    match_kinds,
    read_dates,
    read_money,
)
from p2p_analytics.statements.problems import list_problems

if TYPE_CHECKING:
    from p2p_analytics.statements.formats.fields import Languages
    from p2p_analytics.statements.formats.format import Table
    from p2p_analytics.statements.problems import Problem

SERVICE: Final = "paypal"
_AMOUNTS: Final = ("gross", "fee", "net", "balance", "tax")

# Fields that the statement and the activity download share.
_LANGUAGES: Final[Languages] = {
    "en": {
        "date": "Date", "time": "Time", "zone": ("Time Zone", "TimeZone"), "name": "Name", "currency": "Currency",
        "gross": "Gross", "fee": ("Fee", "Fees"), "net": "Net", "balance": "Balance", "id": "Transaction ID",
        "from_address": "From Email Address", "tax": "Sales Tax", "reference": "Reference Txn ID",
        "shipping": "Shipping and Handling Amount",
    },
    "de": {
        "date": "Datum", "time": "Uhrzeit", "zone": "Zeitzone", "name": "Name", "currency": "Währung",
        "gross": "Brutto", "fee": ("Gebühr", "Entgelt"), "net": "Netto", "balance": "Guthaben",
        "id": "Transaktionscode", "from_address": ("Absender E-Mail-Adresse", "Von E-Mail-Adresse"),
        "tax": "Umsatzsteuer", "reference": "Zugehöriger Transaktionscode",
        "shipping": "Versand- und Bearbeitungsgebühr",
    },
    "fr": {
        "date": "Date", "time": "Heure", "zone": "Fuseau horaire", "name": "Nom", "currency": "Devise",
        "gross": ("Avant commission", "Brut"), "fee": ("Commission", "Frais"), "net": "Net", "balance": "Solde",
        "id": ("Numéro de transaction", "Identifiant de transaction"),
        "from_address": ("De l'adresse email", "Adresse email de l'expéditeur", "De l'adresse e-mail"),
        "tax": ("TVA", "Taxe de vente"),
        "reference": ("Numéro de la transaction de référence", "Numéro de transaction de référence"),
        "shipping": "Montant des frais de livraison et de traitement",
    },
    "it": {
        "date": "Data", "time": ("Orario", "Ora"), "zone": "Fuso orario", "name": "Nome", "currency": "Valuta",
        "gross": "Lordo", "fee": ("Tariffa", "Commissione"), "net": "Netto", "balance": "Saldo",
        "id": ("Codice transazione", "ID transazione"), "from_address": "Indirizzo email mittente",
        "tax": "Imposte sulle vendite",
        "reference": ("Codice transazione di riferimento", "ID transazione di riferimento"),
        "shipping": "Importo spese di spedizione e imballaggio",
    },
    "es": {
        "date": "Fecha", "time": "Hora", "zone": "Zona horaria", "name": "Nombre", "currency": "Divisa",
        "gross": "Bruto", "fee": ("Comisión", "Tarifa"), "net": "Neto", "balance": "Saldo",
        "id": ("Id. de transacción", "Identificador de la transacción", "Id. de la transacción"),
        "from_address": ("Correo electrónico del remitente", "Dirección de correo electrónico del remitente"),
        "tax": ("Impuesto de ventas", "Impuesto sobre ventas"),
        "reference": ("Id. de referencia de trans.", "Id. de referencia de transacción"),
        "shipping": "Importe de envío y manipulación",
    },
    "nl": {
        "date": "Datum", "time": "Tijd", "zone": "Tijdzone", "name": "Naam", "currency": "Valuta", "gross": "Bruto",
        "fee": ("Kosten", "Fee"), "net": ("Net", "Netto"), "balance": "Saldo", "id": "Transactiereferentie",
        "from_address": "Van e-mailadres", "tax": ("Sales Tax", "Btw"),
        "reference": ("Reference Txn ID", "Referentie voor gerelateerde transactie"), "shipping": "Verzendkosten",
    },
    "pt": {
        "date": "Data", "time": ("Hora", "Horário"), "zone": "Fuso horário", "name": "Nome",
        "currency": ("Moeda", "Divisa"), "gross": "Bruto", "fee": ("Tarifa", "Comissão"), "net": "Líquido",
        "balance": "Saldo", "id": ("ID da transação", "Código da transação"),
        "from_address": ("Do endereço de e-mail", "E-mail do remetente"), "tax": "Imposto sobre vendas",
        "reference": ("ID de referência da transação", "Código de referência da transação"),
        "shipping": "Valor do frete e manuseio",
    },
}  # fmt: skip

_REFUND_KIND: Final = "refund"
_HOLD: Final = (
    r"\bholds?\b|payment release|release of|\breserve\b|authori[sz]ation|einbehalt|autorisierung|blocco|autorizzazione"
    r"|retenci[oó]n|autorizaci[oó]n|suspension|bloca(?:ge|do)|bloqueio|autorisa(?:tion|tie)|autorização|reservering"
)
_ASSET: Final = (
    r"currency conversion|währungsumrechnung|conversion de devise|conversione (?:di )?valut|valutaomrekening"
    r"|conversión de (?:divisa|moneda)|conversão de moeda|crypto|krypto|\bcripto"
)
_REFUND: Final = (
    r"refund|reversal|chargeback|rückzahlung|rückerstattung|rückbuchung|rimborso|storno|reembolso|devolución"
    r"|remboursement|annulation|terugbetaling|terugboeking|estorno"
)
_REWARD: Final = r"cash ?back|\bbonus|reward|incentive|\binterest\b|prämie|récompense|premio|recompensa|beloning"
_FEE: Final = r"\bfees?\b|gebühr|entgelt|\bfrais\b|commission|tariff|comisi[oó]n|\bkosten\b|\btaxa\b"
_TRANSFER: Final = (
    r"withdrawal|bank deposit|to bank|bank account|card deposit|add(?:ed)? funds"
    r"|transfer (?:to|from)|initiated transfer|bankgutschrift|abbuchung|gutschrift auf kreditkarte|von kreditkarte"
    r"|überweisung als zahlungsquelle|auszahlung"
    r"|prelievo|versamento|retirada|retiro|ingreso bancario|depósito|retrait|virement|approvisionnement"
    r"|opname|storting|\bsaque\b"
)
_DEPOSIT: Final = r"direct deposit|payroll"
_MERCHANT: Final = (
    r"express|checkout|website|pre-?approved|subscription|shopping cart|\bebay\b|auction|debit card|invoice|\bqr\b"
    r"|in-store|einzugsverfahren|warenkorb|abonnement|debitkarte|preautorizzato|carta di debito|sito web"
    r"|sitio web|página web|preautorizado|tarjeta de débito|site web|préautoris|carte de débit|vooraf goedgekeurd"
)
_PAYMENT: Final = (
    r"mobile payment|general payment|payment (?:sent|received)|money (?:transfer|sent|received)|personal payment"
    r"|mass pay|donation|request|\bpayment$|^payment\b|handyzahlung|allgemeine zahlung|zahlung$|^zahlung\b|geld|spende"
    r"|pagamento|\bpagos?\b|\bpaiement|betaling|dinero|argent|denaro|dinheiro"
)
# The first pattern that occurs decides. A refund has the kind of the row that it refers to.
KINDS: Final = (
    ("hold", _HOLD), ("asset", _ASSET), ("fee", _FEE), (_REFUND_KIND, _REFUND), ("reward", _REWARD),
    ("deposit", _DEPOSIT),
    ("transfer", _TRANSFER), ("merchant", _MERCHANT), ("payment", _PAYMENT),
)  # fmt: skip
_REFUNDED: Final = ("payment", "merchant", "transfer", "hold")


def add_languages(own: Languages) -> Languages:
    """Return the header names of a download: the shared ones and its own, by language."""
    return {language: {**names, **own[language]} for language, names in _LANGUAGES.items()}


def read_shared(table: Table, languages: Languages, words: str) -> tuple[pl.DataFrame, list[Problem]]:
    """Return the columns of ROWS that both downloads have, and their problems.

    ``kind`` follows from the field ``words``, the kind of a refund from the row that it refers to; ``flow_cents`` is
    the net amount.
    """
    cells = table.cells
    language = find_language(table.header, languages)
    money, problems = read_money(table, _AMOUNTS, language=language)
    dates, faults = _read_moments(table, language)
    problems += faults
    currency, faults = find_currencies(table, cells["currency"])
    problems += faults + _list_wrong_nets(table, money)
    kind = _resolve_refunds(match_kinds(cells[words], KINDS), cells["id"], cells["reference"])
    amounts = money.select(
        pl.coalesce("net", pl.col("gross") + pl.col("fee").fill_null(0)).alias("flow_cents"),
        pl.col("fee").abs().alias("fee_cents"),
        pl.col("tax").abs().alias("tax_cents"),
        pl.col("balance").alias("balance_cents"),
    )
    texts = cells.select(
        pl.col("id").alias("payment_id"),
        pl.col("reference").alias("reference_id"),
        pl.col(words).alias("type"),
        pl.col("name").alias("counterparty_name"),
    )
    return texts.with_columns([*amounts.get_columns(), dates, currency, kind]), problems


def _read_moments(table: Table, language: str) -> tuple[pl.Series, list[Problem]]:
    """Return the instant of each row, from the columns of date, time and zone.

    English headers occur with both orders of day and month: only a day above 12 shows which one a file has.
    """
    cells = table.cells
    moments = join_texts(cells["date"], cells["time"])
    return read_dates(table, moments, order=None if language == "en" else "dmy", zones=cells["zone"])


def _resolve_refunds(kinds: pl.Series, ids: pl.Series, references: pl.Series) -> pl.Series:
    """Return kinds in which a refund has the kind of the row that it refers to; null if that is in another file."""
    frame = pl.DataFrame([kinds.alias("kind"), ids.alias("id"), references.alias("reference")])
    known = frame.filter(pl.col("id").is_not_null(), pl.col("kind") != _REFUND_KIND)
    known = known.unique("id", keep="first", maintain_order=True).select(pl.col("id").alias("reference"), of="kind")
    joined = frame.join(known, on="reference", how="left", maintain_order="left")
    resolved = pl.when(pl.col("of").is_in(_REFUNDED)).then("of")
    kind = pl.when(pl.col("kind") == _REFUND_KIND).then(resolved).otherwise("kind")
    return joined.select(kind.alias("kind")).to_series()


def _list_wrong_nets(table: Table, money: pl.DataFrame) -> list[Problem]:
    """Return a problem for each row with a net amount that is not the gross amount and the fee together."""
    is_wrong = money.select(pl.col("gross") + pl.col("fee").fill_null(0) != pl.col("net")).to_series()
    return list_problems(
        list_places(table), is_wrong.fill_null(value=False), table.cells["net"], field="net", code="wrong_net"
    )
