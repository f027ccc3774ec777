"""The services with small formats: Cash App, Monzo, Revolut, Splitwise and Wise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.display import clean_line
from p2p_analytics.errors import MemberNeededError, StatementError
from p2p_analytics.statements.formats.bank_columns import SERVICE_COLUMNS
from p2p_analytics.statements.formats.cells import (
    blank_cells,
    build_reading,
    find_currencies,
    is_english,
    list_places,
    read_dates,
    read_money,
)
from p2p_analytics.statements.formats.column_format import ColumnFormat
from p2p_analytics.statements.formats.format import StatementFormat
from p2p_analytics.statements.problems import list_problems
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from p2p_analytics.statements.formats.format import Reading, Table
    from p2p_analytics.statements.problems import Problem


def _adjust_cash_app(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Name the merchant, which the notes do; list types with the wrong sign, except of payments that came back."""
    flow, text = pl.col("flow_cents"), pl.col("type").str.to_lowercase()
    is_back = pl.col("status_text").str.contains("(?i)refunded|reversed|returned").fill_null(value=False)
    is_wrong = text.str.starts_with("sent") & (flow > 0) | text.str.starts_with("received") & (flow < 0)
    wrong = frame.select((is_wrong & ~is_back).fill_null(value=False)).to_series()
    problems = list_problems(frame, wrong, frame["type"], field="type", code="wrong_sign")
    return frame.with_columns(name=pl.coalesce("name", pl.when(pl.col("kind") == "merchant").then("note"))), problems


CASH_APP: Final = ColumnFormat(
    name="cash_app",
    title="Cash App",
    bank_words=("cash app", "cashapp"),
    columns={
        "id": "Transaction ID", "date": "Date", "type": "Transaction Type", "currency": "Currency",
        "amount": "Amount", "fee": "Fee", "net": "Net Amount", "asset_type": "Asset Type", "status": "Status",
        "note": "Notes", "name": "Name of sender/receiver", "via": "Account",
    },
    required=("id", "date", "type", "currency", "amount", "fee", "net", "asset_type"),
    symbols={"$": "USD", "£": "GBP", "€": "EUR", "₿": "BTC", "BTC": "BTC"},
    fee="added",
    kind_from=("type", "status"),  # the older statuses name what happened where a row has no type
    kinds=(
        ("notice", r"^account notification"),
        ("asset", r"bitcoin|\bbtc\b|\bstock|\betf\b|dividend"),
        ("fee", r"\bfees?\b"),
        ("reward", r"boost|cash ?back|reward|interest|bonus|referral"),
        ("payment", r"p2p|^(?:sent|received)\b|^request|^payment (?:sent|[a-z]+ed|pending|waiting|held)$"),
        ("transfer", r"cash ?out|cash ?in\b|add(?:ed)? cash|transfer|withdrawal|\batm\b|savings|round ?up"),
        ("deposit", r"deposit|pay ?check|payroll|tax refund"),
        ("merchant", r"card|cash app pay|refund"),
    ),
    status_verbs=True,
    statuses={
        "settled": ("sent", "deposited", "received", "charged", "refunded", "reversed", "returned"),
        "pending": "waiting",
    },
    unmoved="savings interest",
    persons=(),
    repeats_ids=True,
    adjust=_adjust_cash_app,
)  # fmt: skip


MONZO: Final = ColumnFormat(
    name="monzo",
    title="Monzo",
    bank_words=("monzo",),
    columns={
        "id": "Transaction ID", "date": "Date", "time": "Time", "type": "Type", "name": "Name", "amount": "Amount",
        "currency": "Currency", "x_local_amount": "Local amount", "note": "Notes and #tags",
        "description": "Description", "out": "Money Out", "in": "Money In", "balance": "Balance",
        "balance_currency": "Balance currency",
    },
    required=("id", "date", "type", "name", "amount", "currency", "x_local_amount"),
    order="dmy",
    kinds=(
        ("transfer", r"\bpot\b|\batm\b|cash withdrawal|top.?up"),
        ("reward", r"interest|cash ?back|reward|monzo paid"),
        ("fee", r"\bfees?\b|overdraft"),
        ("deposit", r"bacs|direct.credit|cheque|salary"),
        ("merchant", r"card|direct.debit|flex|chargeback|refund"),
        ("payment", r"faster.payment|monzo.to.monzo|p2p|standing.order|bank.transfer|international"),
    ),
    repeats_ids=True,
)  # fmt: skip


_REVOLUT_COLUMNS: Final = {
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
_REVOLUT_KINDS: Final = (
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


def _adjust_revolut(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Take rows of other products, such as savings, and those between products for transfers, without a name."""
    text = pl.col("description").str.to_lowercase()
    is_own = ~pl.col("is_main") | text.str.contains(_OWN_PRODUCT).fill_null(value=False)
    is_transfer = (pl.col("kind") == "payment") & is_own | (pl.col("kind") == "unknown") & ~pl.col("is_main")
    return frame.with_columns(kind=pl.when(is_transfer).then(pl.lit("transfer")).otherwise("kind")), []


REVOLUT: Final = ColumnFormat(
    name="revolut",
    title="Revolut",
    bank_words=("revolut",),
    columns=_REVOLUT_COLUMNS,
    required=("type", "product", "started", "date", "description", "amount", "fee", "currency", "status"),
    shape=("type", "product", "started", "date", "description", "amount", "fee", "currency", "status", "balance"),
    fee="taken off",
    kinds=_REVOLUT_KINDS,
    main_product=r"current|giro|courant|actuelle|atual|corrente|corriente|actual|lopend|betaal|bieżąc|běžn|folyó|curent",
    persons=(_PERSON, "^(.+)$"),
    adjust=_adjust_revolut,
)
REVOLUT_TO_2021: Final = ColumnFormat(
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


_SPLITWISE_COLUMNS: Final = {
    "date": ("Date", "Datum", "Data", "Fecha"),
    "description": (
        "Description", "Beschreibung", "Descrizione", "Descripción", "Descrição", "Omschrijving", "Beschrijving",
        "Beskrivning", "Opis",
    ),
    "category": ("Category", "Kategorie", "Catégorie", "Categorie", "Categoria", "Categoría", "Kategori", "Kategoria"),
    "cost": ("Cost", "Kosten", "Coût", "Costo", "Coste", "Custo", "Kostnad", "Koszt"),
    "currency": SERVICE_COLUMNS["currency"],
}  # fmt: skip
_LONGEST_NAMES: Final = 300  # characters of the members in a message
_SETTLEMENTS: Final = (
    "payment", "zahlung", "paiement", "pagamento", "pago", "betaling", "betalning", "płatność",
)  # fmt: skip


def _read_splitwise(table: Table) -> Reading:
    """Return the rows of Splitwise, the export of one group or friend, as the member sees them that `account` names.

    A cell is paid less share, and a member's cells add up to the row "Total balance". A settlement is a payment, with
    the reverse sign; of other members, a notice. An expense has the kind "merchant", and + if others owe the member for
    it. Its payer is known only if one member paid.
    """
    table = blank_cells(table)
    member, columns = _find_member(table)
    faults: list[Problem] = []
    members = table.cells.with_columns(table.extras[name].cast(pl.String).alias(key) for name, key in columns.items())
    money = read_money(replace(table, cells=members), ("cost", *columns.values()), faults)
    problems = [each if each.field == "cost" else each._replace(field="member") for each in faults]
    texts = table.cells.select("file", "line", "description", "category", pl.col("cost").alias("cost_text"))
    wide = texts.with_columns(money.get_columns())
    dates = read_dates(table, table.cells["date"], problems, order=None if is_english(table) else "dmy")
    currency = find_currencies(table, table.cells["currency"], problems)
    total = wide.select(pl.sum_horizontal(*columns.values())).to_series()
    is_unbalanced = total.abs() > len(columns)  # apart from a cent of rounding for each member
    cost = table.cells["cost"]
    problems += list_problems(list_places(table), is_unbalanced, cost, field="cost", code="unbalanced_row")

    others = {name: key for name, key in columns.items() if name != member}
    category = pl.col("category")
    is_total = pl.col("cost_text").is_null() & category.is_null()
    is_settlement = category.str.to_lowercase().is_in(_SETTLEMENTS).fill_null(value=False) & ~is_total
    frame = wide.with_columns(
        dates, currency, is_total=is_total, is_settlement=is_settlement, own=pl.col(columns[member])
    )
    is_total, is_settlement, own = pl.col("is_total"), pl.col("is_settlement"), pl.col("own")
    person = pl.when(own < 0).then(_name_only(others, 1)).when(own > 0).then(_name_only(others, -1))
    frame = frame.with_columns(
        pl.when(is_total | is_settlement & (own == 0)).then(pl.lit("notice"))
        .when(is_settlement).then(pl.lit("payment"))
        .otherwise(pl.lit("merchant")).alias("kind"),
        owner=pl.lit(member),
        type="category",
        status=pl.lit(str(Status.SETTLED)),
        note="description",
        counterparty_name=pl.when(~is_total).then(person),
        flow_cents=pl.when(~is_total).then(pl.when(is_settlement).then(-own).otherwise(own)),
        moved_cents=pl.when(is_total).then(0).otherwise(own),
        opening_cents=pl.when(is_total).then(0),
        closing_cents=pl.when(is_total).then(own),
    )  # fmt: skip
    group = clean_line(", ".join(sorted(columns)))
    exported = frame.filter("is_total").group_by("file").agg(pl.col("date").max()).drop_nulls()
    return build_reading(frame, problems, dict.fromkeys(table.preambles, group), dict(exported.iter_rows()))


def _find_member(table: Table) -> tuple[str, dict[str, str]]:
    """Return the member that ``member`` names, else ``account``, and the column of each member."""
    columns = {name: f"member_{position}" for position, name in enumerate(table.extras) if name.strip()}
    file = next(iter(table.cells["file"]), "The file")
    if not columns:
        raise StatementError(f"{file} has no column for a member: export the group from Splitwise again.")
    given = table.member or table.account
    wanted = (given or "").strip().casefold()
    for name in columns:
        if name.strip().casefold() == wanted:
            return name, columns
    fault = "does not say which member you are" if given is None else f"has no member {given!r}"
    names = clean_line(", ".join(map(repr, columns)))[:_LONGEST_NAMES]
    raise MemberNeededError(f"{file} {fault}: name yours with member=... (--member), one of {names}.", file, [*columns])


def _name_only(columns: dict[str, str], sign: int) -> pl.Expr:
    """Return the name of the member with a cell of this sign, null if there is none or if there are several."""
    if not columns:
        return pl.lit(None, pl.String)
    names = [pl.when(pl.col(key) * sign > 0).then(pl.lit(name)) for name, key in columns.items()]
    count = pl.sum_horizontal((pl.col(key) * sign > 0).cast(pl.Int64) for key in columns.values())
    return pl.when(count == 1).then(pl.coalesce(names))


SPLITWISE: Final = StatementFormat(
    name="splitwise",
    title="Splitwise",
    columns=_SPLITWISE_COLUMNS,
    required=("date", "description", "category", "cost", "currency"),
    read=_read_splitwise,
)


_FEE: Final = "FEE-"
_WISE_KINDS: Final = (
    ("fee", r"^fee\b|^fee-|\bfee$"),
    ("reward", r"cashback|interest|reward|bonus"),
    ("asset", r"^balance\b|^balance-|conversion|exchange"),
    ("merchant", r"^card\b|^card-|^card_|direct_debit"),
    ("transfer", r"money_added|top.?up|^atm"),
    ("deposit", r"direct_deposit|payroll"),
    ("payment", r"^transfer|^deposit|bank_details|^payment"),
)


def _name_types(frame: pl.DataFrame) -> pl.DataFrame:
    prefix = pl.col("id").str.extract(r"^([A-Za-z_]+(?:-[A-Za-z_]+)*)").str.to_uppercase()
    return frame.with_columns(type=pl.coalesce("type", prefix))


def _adjust_wise(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Count a fee that has a row once, and give money that the holder added the kind "transfer"."""
    is_fee = pl.col("id").str.to_uppercase().str.starts_with(_FEE).fill_null(value=False)
    own = pl.col("id").str.slice(len(_FEE))
    with_rows = frame.filter(is_fee).select(own).to_series()
    is_added = pl.col("description").str.to_lowercase().str.contains("^topped up").fill_null(value=False)
    frame = frame.with_columns(
        fee=pl.when(~pl.col("id").is_in(with_rows.implode()).fill_null(value=False)).then("fee"),
        reference=pl.when(is_fee).then(own),
        note=pl.coalesce("note_to_payee", "note", "description"),
        kind=pl.when(is_fee).then(pl.lit("fee")).when(is_added).then(pl.lit("transfer")).otherwise("kind"),
    )
    return _name_types(frame), []


def _adjust_wise_history(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Take the amount of the holder's side, with the fee outside of it; a conversion has a row for each balance."""
    word = pl.col("sign").str.to_uppercase()
    is_in, is_refunded = word == "IN", pl.col("status_text").str.to_uppercase() == "REFUNDED"
    is_known = frame.select(word.is_in(["IN", "OUT", "NEUTRAL"]).fill_null(value=False)).to_series()
    problems = list_problems(frame, ~is_known, frame["sign"], field="sign", code="unknown_sign")
    has_fee = (pl.col("fee_currency") == pl.col("currency")).fill_null(value=False)
    fee = pl.when(has_fee).then(pl.col("fee").abs()).fill_null(0)
    frame = frame.with_row_index("at").with_columns(
        status=pl.when(is_refunded & ~is_in).then(pl.lit(str(Status.CANCELLED))).otherwise("status")
    )
    out = frame.filter(~is_in.fill_null(value=False)).with_columns(
        flow_cents=pl.when(word.is_in(["OUT", "NEUTRAL"])).then(-(pl.col("out").abs() + fee)), fee_cents=fee
    )
    arrived = frame.filter(word.is_in(["IN", "NEUTRAL"])).with_columns(
        flow_cents=pl.col("in").abs(), fee_cents=pl.lit(None, pl.Int64), currency="to_currency"
    )
    both = pl.concat([out, arrived.select(out.columns)]).sort("at", maintain_order=True).drop("at")
    is_asset = pl.col("kind") == "asset"
    return _name_types(both).with_columns(
        payer=pl.when(~is_asset).then("payer"),
        payee=pl.when(~is_asset).then("payee"),
        note=pl.coalesce("note", "comment"),
    ), problems


WISE: Final = ColumnFormat(
    name="wise",
    title="Wise",
    bank_words=("wise", "transferwise"),
    columns={
        "id": ("TransferWise ID", "Wise ID"), "date": "Date", "date_time": "Date Time", "amount": "Amount",
        "currency": "Currency", "description": "Description", "note_to_payee": "Payment Reference",
        "balance": "Running Balance", "payer": "Payer Name", "payee": "Payee Name", "merchant": "Merchant",
        "note": "Note", "fee": "Total fees", "type": "Transaction Details Type",
    },
    required=("id", "date", "amount", "currency", "balance"),
    order="dmy",
    kinds=_WISE_KINDS,
    kind_from=("type", "id"),
    persons=("^(?i:sent money to|received money from) (.+?)(?: with reference .*)?$",),
    repeats_ids=True,
    adjust=_adjust_wise,
)  # fmt: skip
WISE_HISTORY: Final = ColumnFormat(
    name="wise_history",
    columns={
        "id": "ID", "status": "Status", "sign": "Direction", "started": "Created on", "date": "Finished on",
        "fee": "Source fee amount", "fee_currency": "Source fee currency", "payer": "Source name",
        "out": "Source amount (after fees)", "currency": "Source currency", "payee": "Target name",
        "in": "Target amount (after fees)", "to_currency": "Target currency", "note": "Reference", "comment": "Note",
    },
    required=("id", "status", "sign", "started", "out", "currency", "in", "to_currency"),
    kinds=_WISE_KINDS,
    kind_from=("id",),
    kind="unknown",
    service="wise",
    repeats_ids=True,
    adjust=_adjust_wise_history,
)  # fmt: skip
