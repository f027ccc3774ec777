"""Formats as declarations: the columns of a file, and what its words mean; one function reads all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from p2p_analytics.display import clean_line
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.schema import KINDS
from p2p_analytics.statements.formats.cells import (
    STATUSES,
    blank_cells,
    build_reading,
    find_currencies,
    is_english,
    list_places,
    match_kinds,
    read_dates,
    read_money,
    read_statuses,
    require_amounts,
)
from p2p_analytics.statements.formats.format import Reading, StatementFormat, normalize_name
from p2p_analytics.statements.formats.instants import has_zone
from p2p_analytics.statements.problems import Problem, list_problems
from p2p_analytics.statements.rows import UNKNOWN
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from p2p_analytics.statements.formats.format import Table
    from p2p_analytics.statements.formats.instants import Order

FIELDS: Final[Mapping[str, str]] = MappingProxyType({
    "id": "id of the transaction",
    "reference": "id of the transaction that this one belongs to, such as the payment of a refund",
    "date": "when it was completed: a date, or a date and a time",
    "time": "the time, in a column beside the date",
    "date_time": "date and time, in a file that has the date in another column, too",
    "started": "when it began, in a file that has the date of completion, too",
    "zone": "time zone of the row",
    "type": "the service's word for the transaction",
    "status": "the service's word for its state",
    "name": "the other person or business",
    "payer": "who sent money in",
    "payee": "who received money out",
    "merchant": "where a card paid",
    "description": "text of the service, which may contain the name",
    "note": "what a person wrote",
    "amount": "the amount, + if money came in",
    "out": "the amount of a row that took money out",
    "in": "the amount of a row that brought money in",
    "sign": "the word that distinguishes in and out, where amounts have no sign",
    "fee": "the fee",
    "net": "the amount with the fee",
    "tax": "the tax inside the amount",
    "balance": "the balance after the row",
    "balance_currency": "currency of the balance",
    "currency": "currency of the amount",
    "product": "the product, pocket or sub-account",
    "account": "handle or address of the account holder",
    "funding_source": "what paid",
    "destination": "where the money went",
    "via": "the holder's own card or account: what paid, or where the money went",
})  # fmt: skip
_MONEY: Final = ("amount", "out", "in", "fee", "net", "tax", "balance")
_AMOUNTS: Final = ("net", "amount", "in", "out")
_BITCOIN: Final = "BTC"
_SYMBOLS: Final = {"€": "EUR", "£": "GBP"}
_CODE: Final = re.compile(r"\(([A-Z]{3})\)$")


@dataclass(frozen=True, kw_only=True)
class ColumnFormat(StatementFormat):
    """A kind of statement file, described by its columns and words; only `name` and `columns` are needed.

    Patterns are regular expressions. They are searched in lower-case text; only `persons` are searched in
    the text itself.

    Attributes
    ----------
    name : str
        Name in the column ``format`` of `Statements.files`.
    columns : mapping of str to str or sequence of str
        The header name of each field, or several names; `FIELDS` lists the fields. "Balance (currency)" stands for
        "Balance (EUR)" and the like. A name that begins with ``x_`` is a column that is only required.
    required : sequence of str
        Fields that the header of this format always has; by default all.
    order : {"mdy", "dmy"}, optional
        Order of day and month in dates that end in the year. By default a day above 12 shows it, else the language.
    decimal : {".", ","}, optional
        What separates the decimals; by default the amounts of each file show it.
    currency : str, optional
        Currency of all files, where they have no column for it.
    symbols : mapping of str to str
        Currency of each symbol in amounts, for rows without a currency.
    fee : {"inside", "added", "taken off"}
        Whether the amount contains the fee; else the fee is added with its sign, or taken off the amount.
    signs : mapping of str to sequence of str
        The words "in" and "out" of the field ``sign``, in lower case.
    kinds : mapping of str to str, or sequence of pairs
        For each kind, the pattern of the texts that mean it; the first one that occurs decides.
    kind : str, optional
        Kind of all other rows; by default "unknown" in files with types, else "payment".
    kind_from : sequence of str
        The fields in which the patterns are searched; the first one with a known kind decides. By default the type,
        else name, description and note.
    statuses : mapping of str to sequence of str
        For each status ("settled", "pending", "failed", "expired", "cancelled") further words. Common ones are known.
    status_verbs : bool
        Whether the last word of a status decides, as in "PAYMENT SENT".
    unmoved : str, optional
        Pattern of types that move no money. Other rows move it if they are settled.
    main_product : str, optional
        Pattern of the product that the balance belongs to; by default the product of the first row of a file.
    persons : sequence of str
        Patterns with one group, the person's name, for texts such as "To Theo Marsh". A description that none matches
        gives no name.
    opening, closing : str, optional
        Patterns of the rows that state the balance before all others and after them. ``opening`` can also be the
        balance itself, in cents. Such a row counts as a notice.
    words : mapping of str to str
        The status that each word means, made of ``statuses`` and common words.
    adjust : callable, optional
        For a service that no declaration describes. It gets a frame with all fields, amounts in cents, and ``file``,
        ``line``, ``payment_id``, ``start``, ``kind``, ``flow_cents``, ``is_main``, ``status_text`` and ``net_text``; it
        returns the frame and a list of problems. Columns of ROWS that it adds are used.
    """

    columns: Mapping[str, Any]
    required: Collection[str] = ()
    read: Callable[[Table], Reading] = field(init=False, repr=False, compare=False)
    order: Order | None = None
    decimal: str | None = None
    currency: str | None = None
    symbols: Mapping[str, str] = field(default_factory=lambda: dict(_SYMBOLS))
    fee: str = "inside"
    signs: Mapping[str, Any] = field(default_factory=dict)
    kinds: Any = ()
    kind: str | None = None
    kind_from: Sequence[str] = ()
    statuses: Mapping[str, Any] = field(default_factory=dict)
    status_verbs: bool = False
    unmoved: str | None = None
    main_product: str | None = None
    persons: Sequence[str] = ("^(.+)$",)
    opening: str | int | None = None
    closing: str | None = None
    adjust: Callable[[pl.DataFrame], tuple[pl.DataFrame, list[Problem]]] | None = None
    words: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the declaration, and complete it."""
        for key, (is_allowed, allowed) in _ALLOWED.items():
            if not is_allowed(value := getattr(self, key)):
                parts: list[Any] = [[each] for each in value] if isinstance(value, list | tuple) else []
                parts += [{name: each} for name, each in value.items()] if isinstance(value, Mapping) else []
                wrong = next((part for part in parts if not is_allowed(part)), value)
                raise ConfigurationError(f"The format {self.name!r} has the wrong {key} {wrong!r}: write {allowed}.")
        has_type = "type" in self.columns
        words = {word.lower(): key for key, given in self.statuses.items() for word in _as_tuple(given)}
        changes: dict[str, object] = {
            "columns": {key: _as_tuple(names) for key, names in self.columns.items()},
            "required": tuple(self.required) or tuple(self.columns),
            "kinds": tuple(self.kinds.items() if isinstance(self.kinds, Mapping) else self.kinds),
            "kind": self.kind or (UNKNOWN if has_type else "payment"),
            "kind_from": tuple(self.kind_from) or (("type",) if has_type else ("name", "description", "note")),
            "has_closing_row": self.has_closing_row or self.closing is not None,
            "words": STATUSES | words,
            "read": partial(read_columns, self),
        }
        for key, value in changes.items():
            object.__setattr__(self, key, value)
        self._check_columns()
        super().__post_init__()

    def _check_columns(self) -> None:
        """Raise a ConfigurationError for an unknown field, or a missing date or amount."""
        unknown = {name for name in (*self.columns, *self.kind_from) if not name.startswith("x_")} - set(FIELDS)
        if unknown and self.adjust is None:
            raise ConfigurationError(
                f"The format {self.name!r} has the unknown field {min(unknown)!r}: use one of {', '.join(FIELDS)}."
            )
        if not {"date", "date_time"} & set(self.columns) or not {"amount", "net", "in", "out"} & set(self.columns):
            raise ConfigurationError(
                f"The format {self.name!r} needs the column of a date, and of an amount (or of in and out)."
            )
        if "sign" in self.columns and not self.signs and self.adjust is None:
            raise ConfigurationError(
                f"The format {self.name!r} has the field 'sign' without signs: write its words of 'in' and of 'out'."
            )


def _as_tuple(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


def _is_table(value: object, *words: str) -> bool:
    """Return whether a value has a text, or a list of texts, for each name, which is one of the words."""
    if not isinstance(value, Mapping) or (words and not set(value) <= set(words)):
        return False
    return all(isinstance(texts, str) or (_is_list(texts) and texts) for texts in value.values())


def _is_pattern(value: object) -> bool:  # a query of Polars would start its threads when the formats are imported
    try:
        return isinstance(value, str) and not re.search(r"\(\?<?[=!]|\\[1-9]", value) and bool(re.compile(value))
    except re.error:
        return False


def _is_lower_pattern(value: object) -> bool:
    plain = re.sub(r"\\.|\(\?P?<?\w*[>:)]?", "", str(value))  # without escapes and names of groups
    return _is_pattern(value) and plain == plain.lower()


def _are_kinds(value: object) -> bool:
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list | tuple) or not all(_is_list(pair) and len(pair) == 2 for pair in pairs):  # noqa: PLR2004
        return False
    return all(kind in _WORDS and _is_lower_pattern(pattern) for kind, pattern in pairs)


_WORDS: Final = (*KINDS, "refund")  # a service's function makes another kind of it
# The values that each attribute can have, and their description in an error.
_ALLOWED: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "name": (lambda value: isinstance(value, str) and value.strip() != "", "a text"),
    **dict.fromkeys(("service", "title"), (lambda value: value is None or isinstance(value, str), "a text")),
    "columns": (_is_table, "a table with the header name of each field, or a list of names"),
    **dict.fromkeys(("required", "shape", "kind_from", "bank_words"), (_is_list, "a list of texts")),
    **dict.fromkeys(
        ("repeats_ids", "has_closing_row", "status_verbs"), (lambda value: isinstance(value, bool), "true or false")
    ),
    "zone": (lambda value: value is None or (isinstance(value, str) and has_zone(value)), "a name such as 'UTC'"),
    "order": (lambda value: value in (None, "mdy", "dmy"), "'mdy' or 'dmy'"),
    "decimal": (lambda value: value in (None, ".", ","), "'.' or ','"),
    "currency": (lambda value: value is None or bool(re.fullmatch("[A-Z]{3}", str(value))), "a code such as 'EUR'"),
    "symbols": (
        lambda value: _is_table(value) and all(re.fullmatch("[A-Z]{3}", str(code)) for code in value.values()),
        "a code such as 'USD' for each symbol",
    ),
    "fee": (lambda value: value in ("inside", "added", "taken off"), "'inside', 'added' or 'taken off'"),
    "signs": (lambda value: _is_table(value, "in", "out"), "a table with the words of 'in' and 'out'"),
    "kinds": (_are_kinds, f"a regular expression in lower case for each kind, which is one of {', '.join(KINDS)}"),
    "kind": (lambda value: value is None or value in KINDS, f"one of {', '.join(KINDS)}"),
    "statuses": (lambda value: _is_table(value, *Status), f"a table with the words of {', '.join(Status)}"),
    **dict.fromkeys(
        ("unmoved", "main_product", "closing"),
        (lambda value: value is None or _is_lower_pattern(value), "a regular expression in lower case"),
    ),
    "persons": (
        lambda value: _is_list(value) and all(_is_pattern(each) and re.compile(each).groups == 1 for each in value),
        "regular expressions with one group, the name",
    ),
    "opening": (
        lambda value: value is None or _is_lower_pattern(value) or type(value) is int,
        "a regular expression in lower case, or cents",
    ),
}  # fmt: skip


def read_columns(own: ColumnFormat, table: Table) -> Reading:
    """Return the rows of a table as a declaration describes them."""
    try:
        return _read_columns(own, table)
    except pl.exceptions.PolarsError as error:  # a pattern that Python knows and Polars does not
        raise ConfigurationError(f"The format {own.name!r} cannot be used: {clean_line(str(error))}") from error


def _read_columns(own: ColumnFormat, table: Table) -> Reading:
    table = blank_cells(table)
    absent = [pl.lit(None, pl.String).alias(name) for name in FIELDS if name not in table.cells.columns]
    table = replace(table, cells=table.cells.with_columns(absent))
    problems: list[Problem] = []
    frame = _read_values(own, table, problems)
    if own.decimal is not None:
        names = [name for name in _AMOUNTS if name in own.columns]
        # A text without digits, such as "-", does not show another separator of decimals.
        amount = pl.coalesce(pl.when(pl.col(name).str.contains("[0-9]")).then(name) for name in names)
        is_money = (frame["currency"] != _BITCOIN).fill_null(value=True)
        texts = table.cells.select("file", "line", text=amount).filter(is_money)
        other = "." if own.decimal == "," else ","
        cents = frame.select(pl.coalesce(names)).to_series()
        require_amounts(texts, cents.filter(is_money), f"write decimal = {other!r}")
    if own.adjust is not None:
        try:
            frame, found = own.adjust(frame)
            is_right = frame["flow_cents"].dtype == pl.Int64 and all(
                isinstance(each, Problem) and each.sentence for each in found
            )
        except Exception as error:  # a function of the user's
            reason = f"{type(error).__name__}: {error}"
            raise ConfigurationError(f"adjust of the format {own.name!r} failed: {reason}") from error
        if not is_right:
            raise ConfigurationError(
                f"adjust of the format {own.name!r} must return a Polars frame, with flow_cents as whole cents, and a "
                "list of Problem."
            )
        problems += found
    subaccounts: dict[str, str] = {}
    if "product" in own.columns:  # products are folded, and the main product of the service is null
        product = pl.col("product").str.to_lowercase()
        frame = frame.with_columns(product=pl.when(~product.str.contains(own.main_product or "^$")).then(product))
        main = frame.filter("is_main").group_by("file").agg(pl.col("product").drop_nulls().first())
        subaccounts = {file: name for file, name in main.iter_rows() if name}
    return build_reading(_fill_rows(own, frame), problems, subaccounts)


def _read_values(own: ColumnFormat, table: Table, problems: list[Problem]) -> pl.DataFrame:
    """Return all fields with amounts, dates, kinds and statuses in place of their texts; add problems of cells."""
    cells = table.cells
    if own.currency is not None:
        currency = pl.repeat(own.currency, len(cells), eager=True).alias("currency")
    else:  # its cell, else the symbol of its amount, else the header, else the file
        codes = {code[1] for name in table.header if (code := _CODE.search(name))}
        symbol = pl.coalesce(_AMOUNTS).str.extract(f"({'|'.join(map(re.escape, own.symbols))})")
        of_symbol = symbol.replace_strict(dict(own.symbols), default=None, return_dtype=pl.String)
        of_header = pl.lit(codes.pop() if len(codes) == 1 else None, pl.String)
        texts = cells.select(currency=pl.coalesce("currency", of_symbol, of_header)).to_series()
        currency = find_currencies(table, texts, problems)
    is_bitcoin = (currency == _BITCOIN).fill_null(value=False)
    names = [name for name in _MONEY if name in own.columns]
    in_cents = replace(table, cells=cells.with_columns(pl.when(~is_bitcoin).then(pl.col(names)).name.keep()))
    money = read_money(in_cents, names, problems, decimal=own.decimal)
    amount = next(name for name in _AMOUNTS if name in own.columns)
    problems += list_problems(list_places(table), is_bitcoin, cells[amount], field=amount, code="bitcoin_amount")
    moment = pl.when(pl.col("date").is_not_null()).then(pl.concat_str("date", "time", separator=" ", ignore_nulls=True))
    order: Order | None = own.order or (None if is_english(table) else "dmy")
    zones = cells["zone"] if "zone" in own.columns else None
    moments = cells.select(pl.coalesce("date_time", moment, "started").alias("date"), "started")
    dates = start = read_dates(table, moments["date"], problems, order=order, zones=zones)
    if "started" in own.columns:
        faults: list[Problem] = []
        start = read_dates(table, moments["started"], faults, order=order, zones=zones, field="started")
        problems += [each for each in faults if each.code != "ambiguous_date"]
    status = pl.repeat(str(Status.SETTLED), len(cells), eager=True).alias("status")
    header = {normalize_name(name) for name in table.header}
    if cells["status"].count() or not header.isdisjoint(map(normalize_name, own.columns.get("status", ()))):
        is_done = cells["balance"].is_not_null() & cells["date"].is_not_null() if "started" in own.columns else None
        status = read_statuses(table, own.words, problems, verbs=own.status_verbs, is_done=is_done)
    absent = [pl.lit(None, pl.Int64).alias(name) for name in _MONEY if name not in names]
    kinds = [pl.lit(match_kinds(cells[name], own.kinds).replace(UNKNOWN, None)) for name in own.kind_from]
    text = pl.coalesce(own.kind_from).str.to_lowercase()
    balances = [text.str.contains(each) for each in (own.opening, own.closing) if isinstance(each, str)]
    is_balance = pl.any_horizontal(pl.lit(value=False), *balances).fill_null(value=False)
    kind = cells.select(
        pl.when(pl.lit(is_bitcoin)).then(pl.lit("asset")).when(is_balance).then(pl.lit("notice"))
        .otherwise(pl.coalesce(*kinds, pl.lit(own.kind))).alias("kind")
    ).to_series()  # fmt: skip
    frame = cells.with_columns([*money, *absent]).with_columns(dates, start.alias("start"), status, currency, kind)
    product = pl.col("product").str.to_lowercase()
    main = product.filter(product.str.contains(own.main_product or "^$")).first()
    main = pl.coalesce(main, product.drop_nulls().first()).over("file")
    return frame.with_columns(
        *cells.select(status_text="status", net_text="net"),
        flow_cents=_read_amounts(own, table, frame, problems),
        is_main=(product == main).fill_null(value=True),  # the product of the file that the balance is of
        payment_id="id",
    )


def _read_amounts(own: ColumnFormat, table: Table, frame: pl.DataFrame, problems: list[Problem]) -> pl.Series:
    """Return the amount that each row moves or would move; add rows with columns that contradict each other."""
    places = list_places(table)
    amount = pl.col("amount")
    if {"in", "out"} & set(own.columns):
        has_part = pl.any_horizontal(pl.col("in", "out").is_not_null())
        parts = pl.when(has_part).then(pl.col("in").abs().fill_null(0) - pl.col("out").abs().fill_null(0))
        is_wrong = frame.select((amount != parts).fill_null(value=False)).to_series()
        problems += list_problems(places, is_wrong, table.cells["amount"], field="amount", code="wrong_split")
        amount = pl.coalesce(amount, parts)
    if own.signs:
        word = pl.col("sign").str.to_lowercase()
        is_out, is_in = (
            word.is_in([text.lower() for text in _as_tuple(own.signs.get(key, ()))]) for key in ("out", "in")
        )
        is_unknown = frame.select(~is_out & ~is_in | word.is_null()).to_series().fill_null(value=True)
        problems += list_problems(places, is_unknown, table.cells["sign"], field="sign", code="unknown_sign")
        amount = pl.when(is_out).then(-amount.abs()).when(is_in).then(amount.abs())
    fee = pl.col("fee").fill_null(0)
    whole = amount + fee if own.fee == "added" else amount - fee if own.fee == "taken off" else amount
    return frame.select(pl.coalesce("net", whole).alias("flow_cents")).to_series()


def _fill_rows(own: ColumnFormat, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with the columns of ROWS that follow from the fields and were not filled before."""
    flow, is_notice, is_payment = pl.col("flow_cents"), pl.col("kind") == "notice", pl.col("kind") == "payment"
    moves = (pl.col("status") == Status.SETTLED) & pl.col("is_main") & ~is_notice.fill_null(value=False)
    if own.unmoved is not None:
        moves &= ~pl.col("type").str.to_lowercase().str.contains(own.unmoved).fill_null(value=False)
    moves = moves.fill_null(value=False)
    is_stated = moves & (pl.col("balance_currency").is_null() | (pl.col("balance_currency") == pl.col("currency")))
    side = pl.when(flow < 0).then("payee").otherwise("payer")
    name, text = pl.coalesce("merchant", side, "name"), pl.col("description")
    persons = [pl.coalesce(name, text).str.extract(f"(?s){pattern}") for pattern in own.persons]
    own_source = {"funding_source": flow < 0, "destination": flow >= 0}
    columns = {
        "reference_id": pl.col("reference"),
        "fee_cents": pl.col("fee").abs(),
        "tax_cents": pl.col("tax").abs(),
        "moved_cents": pl.when(moves).then(flow).otherwise(0),
        "counterparty_name": pl.when(is_payment).then(pl.coalesce(*persons, name))
        .when(pl.col("kind") == "merchant").then(pl.coalesce(name, text)).otherwise(name),
        **{key: pl.coalesce(key, pl.when(is_own).then("via")) for key, is_own in own_source.items()},
    }  # fmt: skip
    if "moved_cents" not in frame.columns:  # else `adjust` has decided which balances count
        columns["balance_cents"] = pl.when(is_stated).then("balance")
    # The balances before and after the rows of a file, of rows that state them.
    words, stated = pl.coalesce(own.kind_from).str.to_lowercase(), pl.coalesce("balance", "flow_cents")
    for key, pattern in (("opening", own.opening), ("closing", own.closing)):
        if isinstance(pattern, str):
            columns[f"{key}_cents"] = pl.when(words.str.contains(pattern)).then(stated)
    if isinstance(own.opening, int) and own.closing is not None:
        columns["opening_cents"] = pl.when(words.str.contains(own.closing)).then(pl.lit(own.opening, pl.Int64))
    given = {key: value for key, value in columns.items() if key not in frame.columns or key in own_source}
    return frame.with_columns(**given, note=pl.coalesce("note", "description"))
