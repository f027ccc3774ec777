"""PayPal: the monthly statement, and the activity download with its shorter personal form, in several languages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.statements.formats.bank_columns import SERVICE_COLUMNS
from p2p_analytics.statements.formats.column_format import ColumnFormat
from p2p_analytics.statements.problems import list_problems
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from p2p_analytics.statements.problems import Problem

_COLUMNS: Final = {  # that both downloads have
    **{key: SERVICE_COLUMNS[key] for key in ("time", "name", "currency", "fee", "balance")},
    "date": ("Date", "Datum", "Data", "Fecha"),
    "zone": (
        "Time Zone", "TimeZone", "Zeitzone", "Fuseau horaire", "Fuso orario", "Zona horaria", "Tijdzone",
        "Fuso horário",
    ),
    "amount": ("Gross", "Amount", "Brutto", "Avant commission", "Brut", "Lordo", "Bruto", "Valor bruto"),
    "net": ("Net", "Total", "Netto", "Neto", "Líquido"),
    "id": (
        "Transaction ID", "Transaktionscode", "Numéro de transaction", "Identifiant de transaction",
        "Codice transazione", "ID transazione", "Id. de transacción", "Identificador de la transacción",
        "Id. de la transacción", "Transactiereferentie", "ID da transação", "Código da transação",
    ),
    "tax": (
        "Sales Tax", "Umsatzsteuer", "TVA", "Taxe de vente", "Imposte sulle vendite", "Impuesto de ventas",
        "Impuesto sobre ventas", "Btw", "Imposto sobre vendas",
    ),
    "reference": (
        "Reference Txn ID", "Zugehöriger Transaktionscode", "Numéro de la transaction de référence",
        "Numéro de transaction de référence", "Codice transazione di riferimento", "ID transazione di riferimento",
        "Id. de referencia de trans.", "Id. de referencia de transacción",
        "Referentie voor gerelateerde transactie", "ID de referência da transação",
        "Código de referência da transação", "ID txn. de referência",
    ),
}  # fmt: skip
_ACTIVITY: Final = {
    **{key: SERVICE_COLUMNS[key] for key in ("type", "status", "note")},
    "from_address": (
        "From Email Address", "Absender E-Mail-Adresse", "Von E-Mail-Adresse", "De l'adresse email",
        "Adresse email de l'expéditeur", "De l'adresse e-mail", "Indirizzo email mittente",
        "Correo electrónico del remitente", "Dirección de correo electrónico del remitente", "Van e-mailadres",
        "Do endereço de e-mail", "E-mail do remetente", "Do e-mail",
    ),
    "to_address": (
        "To Email Address", "Empfänger E-Mail-Adresse", "An E-Mail-Adresse", "À l'adresse email",
        "Adresse email du destinataire", "Indirizzo email destinatario", "Correo electrónico del destinatario",
        "Dirección de correo electrónico del destinatario", "Naar e-mailadres", "Para o endereço de e-mail",
        "E-mail do destinatário", "Para e-mail",
    ),
    "subject": ("Subject", "Betreff", "Objet", "Oggetto", "Asunto", "Onderwerp", "Assunto"),
    "item": (
        "Item Title", "Artikelbezeichnung", "Titre de l'objet", "Titolo oggetto", "Título del artículo",
        "Nombre del artículo", "ArtikelNaam", "Título do item",
    ),
    "impact": (
        "Balance Impact", "Auswirkung auf Guthaben", "Impact sur le solde", "Impatto sul saldo",
        "Impacto en el saldo", "Repercusión en el saldo", "Effect op saldo", "Impacto no saldo",
        "Impacto sobre o saldo",
    ),
    "funding_source": (
        "Payment Source", "Funding Source", "Zahlungsquelle", "Source de paiement", "Fonte di pagamento",
        "Fuente de pago", "Betaalbron", "Fonte de pagamento",
    ),
}  # fmt: skip
_STATEMENT: Final = {
    "description": (
        "Description", "Beschreibung", "Descrizione", "Descripción", "Omschrijving", "Beschrijving", "Descrição",
    ),
    "bank": (
        "Bank Name", "Name der Bank", "Nom de la banque", "Nome banca", "Nombre del banco", "Naam bank",
        "Nome do banco",
    ),
    "bank_account": (
        "Bank Account", "Bankkonto", "Compte bancaire", "Conto bancario", "Cuenta bancaria", "Bankrekening",
        "Conta bancária",
    ),
}  # fmt: skip

_IMPACTS: Final = {
    word: meaning
    for meaning, words in {
        "debit": ("debit", "soll", "débit", "addebito", "débito", "cargo", "adeudo", "af"),
        "credit": ("credit", "haben", "crédit", "accredito", "crédito", "abono", "bij"),
        "memo": ("memo", "mémo", "memorando", "promemoria"),
    }.items()
    for word in words
}
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
    ("hold", _HOLD), ("asset", _ASSET), ("fee", _FEE), ("transfer", r"\bach deposit|withdrawal transaction"),
    (_REFUND_KIND, _REFUND), ("reward", _REWARD), ("deposit", r"direct deposit|payroll"), ("transfer", _TRANSFER),
    ("merchant", _MERCHANT), ("payment", _PAYMENT),
)  # fmt: skip
_REFUNDED: Final = ("payment", "merchant", "transfer", "hold")


def _adjust_statement(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Name the bank of a transfer; each row moved its net amount."""
    bank = pl.concat_str("bank", "bank_account", separator=" ", ignore_nulls=True).replace("", None)
    flow = pl.col("flow_cents")
    frame = _resolve_refunds(frame).with_columns(
        type=pl.col("description"),
        description=pl.lit(None, pl.String),
        funding_source=pl.when(flow > 0).then(bank),
        destination=pl.when(flow < 0).then(bank),
    )
    return frame, _list_wrong_nets(frame)


def _adjust_activity(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Find the rows that moved the balance: by their impact, else by `_find_moves`. A memo moves nothing."""
    cells, words = frame["impact"], pl.col("impact").str.to_lowercase()
    impact = words.replace_strict(_IMPACTS, default=None, return_dtype=pl.String)
    frame = _resolve_refunds(frame).with_columns(impact=impact)
    problems = _list_wrong_nets(frame)
    flow, kind = pl.col("flow_cents"), pl.col("kind").fill_null("")
    wrong = {
        "unknown_impact": pl.col("impact").is_null() & cells.is_not_null(),
        "wrong_impact": (pl.col("impact") == "debit") & (flow > 0) | (pl.col("impact") == "credit") & (flow < 0),
    }
    for code, is_wrong in wrong.items():
        problems += list_problems(frame, frame.select(is_wrong).to_series(), cells, field="impact", code=code)
    is_memo = (pl.col("impact") == "memo").fill_null(value=False)
    is_record = is_memo & (kind != "hold")
    is_notice = is_record & (pl.col("status").fill_null(Status.SETTLED.value) == Status.SETTLED)
    moves = pl.when(pl.col("impact").is_not_null()).then(~is_memo).otherwise("moves_by_balance")
    address = pl.when(flow < 0).then("to_address").otherwise("from_address")
    has_address = kind.is_in(["payment", "merchant"]) & ~is_notice
    # The account is the address that money most often left from or came to, in each file.
    own = pl.when(flow < 0).then("from_address").otherwise("to_address").str.to_lowercase()
    counts = frame.select("file", own=own).filter(pl.col("own").str.contains("@")).group_by("file", "own").len()
    most = counts.sort("len", "own", descending=[False, True]).select("file", "own")
    accounts = dict(most.iter_rows()) or {"": ""}
    frame = frame.with_columns(moves_by_balance=_find_moves(frame)).with_columns(
        account=pl.col("file").replace_strict(accounts, default=None, return_dtype=pl.String),
        moved_cents=pl.when(moves.fill_null(value=False)).then(flow).otherwise(0),
        balance_cents=pl.when(~is_record).then("balance"),
        kind=pl.when(is_notice).then(pl.lit("notice")).otherwise("kind"),
        name=pl.coalesce("name", pl.when(has_address).then(address)),
        note=pl.coalesce("note", "subject", "item"),
    )
    return frame, problems


def _find_moves(frame: pl.DataFrame) -> pl.Series:
    """Return which rows moved the balance: by the balance after each, in the better of two orders, else by status.

    A pending withdrawal moves the balance, and a hold does if its release did.
    """
    group, flow, status = ("file", "currency"), pl.col("flow_cents"), pl.col("status")
    steps = frame.select(
        *group, "kind", "flow_cents",
        by_status=(status == Status.SETTLED) | (status == Status.PENDING) & (pl.col("kind") == "transfer"),
        down=(pl.col("balance") - pl.col("balance").shift(1)).over(group),
        up=(pl.col("balance") - pl.col("balance").shift(-1)).over(group),
    )  # fmt: skip
    follows_down, follows_up = ((pl.col(name) == flow).sum().over(group) for name in ("down", "up"))
    step = pl.when(follows_down >= follows_up).then("down").otherwise("up")
    is_clear = (flow != 0) & ((step == flow) | (step == 0))
    moves = pl.when(is_clear.fill_null(value=False)).then(step == flow).otherwise(pl.col("by_status"))
    is_hold = pl.col("kind") == "hold"
    has_release = (is_hold & (flow > 0) & pl.col("moves")).any().over(*group, flow.abs())
    moves_at_all = pl.col("moves") | is_hold & (flow < 0) & has_release
    return steps.with_columns(moves.fill_null(value=False).alias("moves")).select(moves_at_all).to_series()


def _resolve_refunds(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows in which a refund has the kind of the row that it refers to; null if that is in another file."""
    known = frame.filter(pl.col("id").is_not_null(), pl.col("kind") != _REFUND_KIND)
    known = known.unique("id", keep="first", maintain_order=True).select(pl.col("id").alias("reference"), of="kind")
    resolved = pl.when(pl.col("of").is_in(_REFUNDED)).then("of")
    kind = pl.when(pl.col("kind") == _REFUND_KIND).then(resolved).otherwise("kind")
    return frame.join(known, on="reference", how="left", maintain_order="left").with_columns(kind=kind).drop("of")


def _list_wrong_nets(frame: pl.DataFrame) -> list[Problem]:
    """Return a problem for each row with a net amount that is not the gross amount and the fee together."""
    is_wrong = frame.select((pl.col("amount") + pl.col("fee").fill_null(0) != pl.col("net")).fill_null(value=False))
    return list_problems(frame, is_wrong.to_series(), frame["net_text"], field="net", code="wrong_net")


PAYPAL_ACTIVITY: Final = ColumnFormat(
    name="paypal_activity",
    columns=_COLUMNS | _ACTIVITY,
    required=("date", "name", "type", "status", "currency", "amount", "net", "id"),
    fee="added",
    kinds=KINDS,
    persons=(),
    service="paypal",
    title="PayPal",
    bank_words=("paypal",),
    repeats_ids=True,
    adjust=_adjust_activity,
)
# The other columns of the personal form can be deselected.
PAYPAL_PERSONAL: Final = replace(PAYPAL_ACTIVITY, required=("date", "time", "zone", "type", "amount"))
PAYPAL_STATEMENT: Final = replace(
    PAYPAL_ACTIVITY,
    name="paypal_statement",
    columns=_COLUMNS | _STATEMENT,
    required=("date", "description", "currency", "amount", "net", "balance", "id"),
    kind_from=("description",),
    adjust=_adjust_statement,
)
