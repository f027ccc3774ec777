"""Analyses as queries of SQLite, over the tables `payments`, `friends` and `sensitive_notes` of a database.

Instants are text in UTC of one length in each column, so that they sort; ages and waiting times are computed in whole
microseconds, and sums in whole cents, as the analyses compute them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.analyses.pending import EDGES, MONTH_EDGES, NO_DATE
from p2p_analytics.times import DAY_US, as_instant, to_microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from p2p_analytics.export._analyses import AnalysedPayments

# In the zone UTC alone: a database has no rules of other zones.
_OF_CALENDAR: Final = ("monthly_flow", "spending_over_time", "people_by_year", "activity", "exposure")
_DIRECTED: Final = "direction IN ('in', 'out')"
_SETTLED: Final = f"coalesce(kind, 'payment') = 'payment' AND status = 'settled' AND {_DIRECTED}"
_PENDING: Final = f"coalesce(kind, 'payment') = 'payment' AND status = 'pending' AND {_DIRECTED}"
_RECEIVED: Final = "coalesce(sum(CASE WHEN direction = 'in' THEN flow_cents END), 0)"
_FLOW: Final = "coalesce(sum(flow_cents), 0)"
_AMOUNT: Final = "coalesce(sum(abs(amount_cents)), 0)"
_MOVED: Final = "coalesce(date_completed, date_created)"


def list_views(found: AnalysedPayments) -> dict[str, str]:
    """Return a query for each analysis that SQL expresses exactly; it has the rows and the order of its table."""
    moment = to_microseconds(as_instant(found.moment))
    views = {
        "spend_by_friend": _SPEND_BY_FRIEND,
        "monthly_flow": _MONTHLY_FLOW,
        "spending_over_time": _SPENDING_OVER_TIME,
        "people_by_year": _PEOPLE_BY_YEAR,
        "status_mix": _STATUS_MIX,
        "request_outcomes": _REQUEST_OUTCOMES,
        "time_to_settle": _TIME_TO_SETTLE,
        "pending_requests": _PENDING_REQUESTS.format(age=_age(moment, _us("date_created"))),
        "activity": _ACTIVITY,
        "exposure": _EXPOSURE,
    }
    if "pending_ageing" in found.tables:
        bands = found.tables["pending_ageing"]["band"].drop_duplicates()
        edges = MONTH_EDGES if found.is_strict else EDGES
        views["pending_ageing"] = _write_ageing(moment, edges, bands[bands != NO_DATE])
    complete = {
        name: _add_currency(query, found.tables[name].get("currency"))
        for name, query in views.items()
        if name in found.tables and (name not in _OF_CALENDAR or str(found.zone) == "UTC")
    }
    return {name: query for name, query in complete.items() if "\0" not in query}  # SQL cannot hold it


def _add_currency(query: str, currency: Iterable[str] | None) -> str:
    """Return a query with the currency of its amounts, if they are not US dollars, as the last column."""
    if currency is None:
        return query
    code = next(iter(currency), "").replace("'", "''")
    return f"SELECT *, '{code}' AS currency FROM (\n{query}\n)"


def _us(instant: str) -> str:
    """Return an expression of an instant as microseconds since 1970; strftime alone would round."""
    seconds = f"CAST(strftime('%s', substr({instant}, 1, 19)) AS INTEGER)"
    return f"({seconds} * 1000000 + CAST(substr({instant}, 21, 6) AS INTEGER))"


def _age(moment: int, instant: str) -> str:
    return f"max(0, {moment} - {instant})"


def _within(instant: str) -> str:
    """Return an expression of an instant that is null outside the years 1970 to 2199."""
    return f"CASE WHEN {instant} >= '1970' AND {instant} < '2200' THEN {instant} END"


def _share(part: str, whole: str) -> str:
    return f"CASE WHEN {whole} <> 0 THEN CAST({part} AS REAL) / {whole} ELSE 0.0 END"


_SPEND_BY_FRIEND: Final = f"""WITH person AS (
  SELECT counterparty_id, max(counterparty_username) AS counterparty_username,
    max(counterparty_name) AS counterparty_name, {_RECEIVED} AS received_cents, {_FLOW} AS flow_cents,
    {_RECEIVED} - {_FLOW} AS sent_cents, count(*) AS payments,
    min(date_created) AS first_date, max(date_created) AS last_date
  FROM payments WHERE {_SETTLED}
  GROUP BY counterparty_id, CASE WHEN counterparty_id IS NULL THEN counterparty_name END
)
SELECT counterparty_id, counterparty_username, counterparty_name,
  CASE WHEN counterparty_id IS NOT NULL
    THEN counterparty_id IN (SELECT user_id FROM friends WHERE user_id IS NOT NULL) END AS is_friend,
  sent_cents / 100.0 AS sent, received_cents / 100.0 AS received, flow_cents / 100.0 AS net, payments,
  {_share("sent_cents", "sum(sent_cents) OVER ()")} AS share_of_sent, first_date, last_date
FROM person
ORDER BY sent_cents DESC, counterparty_id IS NULL, counterparty_id, counterparty_name IS NULL, counterparty_name"""

_EVERY_MONTH: Final = """month AS (
  SELECT min(month) AS month FROM sums HAVING min(month) IS NOT NULL
  UNION ALL
  SELECT strftime('%Y-%m', month || '-01', '+1 month') FROM month WHERE month < (SELECT max(month) FROM sums)
), every_month AS (
  SELECT month FROM month UNION ALL SELECT month FROM sums WHERE month IS NULL
)"""
_MONTHS: Final = f"""sums AS (
  SELECT substr({_within("moved")}, 1, 7) AS month, {_RECEIVED} AS received_cents, {_FLOW} AS flow_cents,
    count(*) AS payments
  FROM (SELECT {_MOVED} AS moved, direction, flow_cents FROM payments WHERE {_SETTLED}) GROUP BY 1
), {_EVERY_MONTH}"""
_SUMS_OF_MONTH: Final = """(coalesce(received_cents, 0) - coalesce(flow_cents, 0)) / 100.0 AS sent,
  coalesce(received_cents, 0) / 100.0 AS received, coalesce(flow_cents, 0) / 100.0 AS net,
  coalesce(payments, 0) AS payments"""
_OF_MONTH: Final = """FROM every_month LEFT JOIN sums ON sums.month IS every_month.month
ORDER BY every_month.month IS NULL, every_month.month"""

_MONTHLY_FLOW: Final = f"""WITH RECURSIVE {_MONTHS}
SELECT every_month.month AS month, {_SUMS_OF_MONTH},
  sum(coalesce(flow_cents, 0)) OVER (ORDER BY every_month.month IS NULL, every_month.month) / 100.0 AS running_net
{_OF_MONTH}"""

_SPENDING_OVER_TIME: Final = f"""WITH RECURSIVE {_MONTHS}
SELECT every_month.month || '-01' AS period, {_SUMS_OF_MONTH}
{_OF_MONTH}"""

_PEOPLE_BY_YEAR: Final = f"""WITH RECURSIVE moved AS (
  SELECT {_within("moved")} AS moved, direction, flow_cents, CASE WHEN counterparty_id IS NOT NULL
    THEN 'id' || counterparty_id ELSE coalesce('=' || counterparty_name, '') END AS person
  FROM (SELECT {_MOVED} AS moved, direction, flow_cents, counterparty_id, counterparty_name
    FROM payments WHERE {_SETTLED})
), active AS (
  SELECT CAST(substr(moved, 1, 4) AS INTEGER) AS year, person, coalesce(sum(abs(flow_cents)), 0) AS moved_cents,
    {_RECEIVED} AS received_cents, count(*) AS payments
  FROM moved WHERE moved IS NOT NULL GROUP BY 1, 2
), marked AS (
  SELECT *, lag(year) OVER (PARTITION BY person ORDER BY year) IS NULL AS is_new,
    lead(year) OVER (PARTITION BY person ORDER BY year) IS NOT year + 1 AS leaves,
    row_number() OVER (PARTITION BY year ORDER BY moved_cents DESC) AS place
  FROM active
), sums AS (
  SELECT year, count(*) AS people, sum(is_new) AS new, sum(leaves) AS leaves, sum(payments) AS payments,
    sum(moved_cents) AS moved_cents, sum(received_cents) AS received_cents,
    sum(CASE WHEN place = 1 THEN moved_cents ELSE 0 END) AS top_cents,
    sum(CASE WHEN place <= 5 THEN moved_cents ELSE 0 END) AS top_5_cents
  FROM marked GROUP BY year
), every_year AS (
  SELECT min(year) AS year FROM sums HAVING min(year) IS NOT NULL
  UNION ALL
  SELECT year + 1 FROM every_year WHERE year < (SELECT max(year) FROM sums)
)
SELECT every_year.year AS year, coalesce(people, 0) AS people, coalesce(new, 0) AS new,
  coalesce(lag(leaves) OVER (ORDER BY every_year.year), 0) AS lost,
  {_share("top_cents", "coalesce(moved_cents, 0)")} AS top_person_share,
  {_share("top_5_cents", "coalesce(moved_cents, 0)")} AS top_5_share, coalesce(payments, 0) AS payments,
  coalesce(moved_cents - received_cents, 0) / 100.0 AS sent, coalesce(received_cents, 0) / 100.0 AS received
FROM every_year LEFT JOIN sums ON sums.year = every_year.year
ORDER BY every_year.year"""

_STATUS_MIX: Final = f"""WITH sums AS (
  SELECT action, status, count(*) AS payments, {_AMOUNT} AS amount_cents
  FROM payments WHERE coalesce(kind, 'payment') = 'payment' GROUP BY action, status
)
SELECT action, status, payments, {_share("payments", "sum(payments) OVER (PARTITION BY action)")} AS share,
  amount_cents / 100.0 AS amount,
  {_share("amount_cents", "sum(amount_cents) OVER (PARTITION BY action)")} AS share_of_amount
FROM sums
ORDER BY action IS NULL, action, payments DESC, status IS NULL, status"""

_WAITED: Final = f"""CASE WHEN status = 'settled' AND coalesce(source, 'api') <> 'statement'
    THEN {_us("date_completed")} - {_us("date_created")} END"""
_CHARGES: Final = f"coalesce(kind, 'payment') = 'payment' AND action = 'charge' AND {_DIRECTED}"


def _at_rank(percent: int) -> str:
    """Return the days at rank ceil(percent / 100 * waits) of the sorted waiting times."""
    return f"max(CASE WHEN place = (waits * {percent} + 99) / 100 THEN waited_us END) / {DAY_US}.0"


_REQUEST_OUTCOMES: Final = f"""WITH charge AS (
  SELECT counterparty_id, counterparty_name, direction, status, abs(amount_cents) AS cents,
    CASE WHEN counterparty_id IS NULL THEN counterparty_name END AS name_key, {_WAITED} AS waited_us
  FROM payments WHERE {_CHARGES}
), ranked AS (
  SELECT *, count(waited_us) OVER (PARTITION BY counterparty_id, name_key, direction) AS waits, row_number() OVER (
    PARTITION BY counterparty_id, name_key, direction ORDER BY waited_us IS NULL, waited_us) AS place
  FROM charge
), sums AS (
  SELECT counterparty_id, max(counterparty_name) AS counterparty_name, direction, count(*) AS requests,
    count(CASE WHEN status = 'settled' THEN 1 END) AS settled,
    count(CASE WHEN status = 'pending' THEN 1 END) AS pending,
    count(CASE WHEN status = 'cancelled' THEN 1 END) AS cancelled,
    count(CASE WHEN status = 'expired' THEN 1 END) AS expired,
    count(CASE WHEN status = 'failed' THEN 1 END) AS failed,
    coalesce(sum(cents), 0) AS asked_cents,
    coalesce(sum(CASE WHEN status = 'settled' THEN cents END), 0) AS collected_cents,
    coalesce(sum(CASE WHEN status = 'pending' THEN cents END), 0) AS open_cents,
    {_at_rank(50)} AS days_p50, {_at_rank(90)} AS days_p90
  FROM ranked GROUP BY counterparty_id, name_key, direction
)
SELECT counterparty_id, counterparty_name, direction, requests, settled, pending, cancelled, expired, failed,
  asked_cents / 100.0 AS asked, collected_cents / 100.0 AS collected, open_cents / 100.0 AS still_open,
  CASE WHEN requests <> pending THEN CAST(settled AS REAL) / (requests - pending) END AS share_settled,
  days_p50, days_p90
FROM sums
ORDER BY asked_cents DESC, counterparty_id IS NULL, counterparty_id, counterparty_name IS NULL, counterparty_name,
  direction"""

_TIME_TO_SETTLE: Final = f"""WITH charge AS (
  SELECT direction, {_WAITED} AS waited_us FROM payments WHERE {_CHARGES}
), ranked AS (
  SELECT direction, waited_us, count(*) OVER (PARTITION BY direction) AS waits,
    row_number() OVER (PARTITION BY direction ORDER BY waited_us) AS place
  FROM charge WHERE waited_us IS NOT NULL
)
SELECT direction, count(*) AS payments, {_at_rank(50)} AS days_p50, {_at_rank(90)} AS days_p90,
  {_at_rank(99)} AS days_p99, {_at_rank(100)} AS days_max
FROM ranked GROUP BY direction ORDER BY direction"""

_PENDING_REQUESTS: Final = f"""SELECT payment_id, direction, counterparty_id, counterparty_username, counterparty_name,
  note, abs(amount_cents) / 100.0 AS amount, date_created, {{age}} / {DAY_US} AS age_days
FROM payments WHERE {_PENDING}
ORDER BY date_created IS NULL, date_created, payment_id IS NULL, payment_id, counterparty_id IS NULL, counterparty_id,
  counterparty_name IS NULL, counterparty_name, direction, note IS NULL, note, amount_cents IS NULL,
  abs(amount_cents)"""

_ACTIVITY: Final = f"""WITH RECURSIVE slot AS (
  SELECT 0 AS number UNION ALL SELECT number + 1 FROM slot WHERE number < 167
), sums AS (
  SELECT (CAST(strftime('%w', substr(created, 1, 10)) AS INTEGER) + 6) % 7 AS weekday,
    CAST(substr(created, 12, 2) AS INTEGER) AS hour, {_AMOUNT} AS amount_cents, count(*) AS payments
  FROM (SELECT {_within("date_created")} AS created, amount_cents FROM payments WHERE {_SETTLED})
  WHERE created IS NOT NULL GROUP BY 1, 2
)
SELECT number / 24 AS weekday, number % 24 AS hour, coalesce(payments, 0) AS payments,
  coalesce(amount_cents, 0) / 100.0 AS amount
FROM slot LEFT JOIN sums ON sums.weekday = number / 24 AND sums.hour = number % 24
ORDER BY number"""

_EXPOSURE: Final = f"""WITH RECURSIVE sums AS (
  SELECT substr({_within("date_created")}, 1, 7) AS month, count(*) AS payments,
    count(CASE WHEN audience = 'public' THEN 1 END) AS public,
    count(CASE WHEN audience = 'friends' THEN 1 END) AS friends,
    count(CASE WHEN audience = 'private' THEN 1 END) AS private,
    count(CASE WHEN audience = 'public' AND note IN (SELECT note FROM sensitive_notes) THEN 1 END) AS sensitive_public
  FROM payments WHERE coalesce(kind, 'payment') = 'payment' GROUP BY 1
), {_EVERY_MONTH}
SELECT every_month.month AS month, coalesce(payments, 0) AS payments, coalesce(public, 0) AS public,
  coalesce(friends, 0) AS friends, coalesce(private, 0) AS private,
  CASE WHEN public + friends + private > 0 THEN CAST(public AS REAL) / payments END AS share_public,
  coalesce(sensitive_public, 0) AS sensitive_public
{_OF_MONTH}"""


def _write_ageing(moment: int, edges: tuple[int, ...], bands: Iterable[str]) -> str:
    """Return the query of pending_ageing; the last band is that of payments without a date."""
    undated = len(edges) + 1
    created = _us("date_created")
    older = "".join(
        f" WHEN {created} <= {moment - edge * DAY_US} THEN {band}"
        for band, edge in reversed([*enumerate(edges, start=1)])
    )
    labels = [*bands, NO_DATE]
    rows = ", ".join(
        f"('{direction}', {number}, '{label}')" for direction in ("in", "out") for number, label in enumerate(labels)
    )
    return f"""WITH band(direction, number, label) AS (VALUES {rows}), pending AS (
  SELECT direction, CASE WHEN date_created IS NULL THEN {undated}{older} ELSE 0 END AS number,
    abs(amount_cents) AS cents, {created} AS created_us
  FROM payments WHERE {_PENDING}
), sums AS (
  SELECT direction, number, count(*) AS payments, coalesce(sum(cents), 0) AS cents, min(created_us) AS oldest_us
  FROM pending GROUP BY direction, number
)
SELECT band.direction AS direction, label AS band, coalesce(payments, 0) AS payments,
  coalesce(cents, 0) / 100.0 AS amount,
  CASE WHEN band.number < {undated} THEN {_age(moment, "oldest_us")} / {DAY_US} END AS oldest_days
FROM band LEFT JOIN sums ON sums.direction = band.direction AND sums.number = band.number
WHERE band.number < {undated} OR payments > 0
ORDER BY band.direction, band.number"""
