"""The tables of the analyses written by hand in DuckDB's SQL: queries on the table or view ``payments``.

The braces hold a time zone, ``{tz}``, an instant, ``{as_of}``, or the expression of a category, ``{category}``.
"""

# ruff: noqa: S608 - the parts of the queries are literals of this file

_MOVED = "kind = 'payment' AND status = 'settled' AND direction IN ('in', 'out')"
_KEY = "coalesce(counterparty_id, counterparty_name)"
_LOCAL = "coalesce(date_completed, date_created) AT TIME ZONE '{tz}'"
_CENTS = "coalesce(abs(amount_cents), 0)"
_TEXT = r"lower(trim(regexp_replace(coalesce(note, ''), '\s+', ' ', 'g')))"
_SUMS = "-sum(least(flow_cents, 0)) AS sent, sum(greatest(flow_cents, 0)) AS received, count(*) AS payments"
_UNITS = "sent / 100 AS sent, received / 100 AS received, (received - sent) / 100 AS net"
_NAMES = "max(counterparty_id) AS counterparty_id, max(counterparty_name) AS counterparty_name"
_DAY = 86_400_000_000

QUERIES: dict[str, str] = {
    "spend_by_friend": f"""
        WITH sums AS (
            SELECT {_KEY} AS key, {_NAMES}, max(counterparty_username) AS counterparty_username, {_SUMS},
                   min(date_created) AS first_date, max(date_created) AS last_date
            FROM payments WHERE {_MOVED} GROUP BY ALL)
        SELECT * EXCLUDE (key, sent, received), {_UNITS}, sent / sum(sent) OVER () AS share_of_sent,
               CASE WHEN counterparty_id IS NOT NULL THEN counterparty_id IN (SELECT user_id FROM friends) END
               AS is_friend
        FROM sums ORDER BY sums.sent DESC, counterparty_id NULLS LAST, counterparty_name NULLS LAST""",
    "status_mix": f"""
        WITH sums AS (SELECT action, status, count(*) AS payments, sum({_CENTS}) AS amount FROM payments
                      WHERE kind = 'payment' GROUP BY ALL)
        SELECT action, status, payments, payments / sum(payments) OVER (PARTITION BY action) AS share,
               amount / 100 AS amount, amount / sum(amount) OVER (PARTITION BY action) AS share_of_amount
        FROM sums ORDER BY action, payments DESC, status""",
    "monthly_flow": f"""
        WITH sums AS (
            SELECT date_trunc('month', {_LOCAL}) AS month, {_SUMS} FROM payments WHERE {_MOVED} GROUP BY ALL),
        months AS (SELECT unnest(generate_series(min(month), max(month), INTERVAL 1 MONTH)) AS month FROM sums),
        filled AS (
            SELECT month, coalesce(sent, 0) AS sent, coalesce(received, 0) AS received,
                   coalesce(payments, 0) AS payments
            FROM months LEFT JOIN sums USING (month))
        SELECT strftime(month, '%Y-%m') AS month, {_UNITS}, payments,
               sum(filled.received - filled.sent) OVER (ORDER BY filled.month) / 100 AS running_net
        FROM filled ORDER BY filled.month""",
    "pending_ageing": f"""
        WITH bands(number, band, low, high) AS (VALUES
            (0, 'under 1 day', -10000000, 0), (1, '1 to 7 days', 1, 6), (2, '7 to 30 days', 7, 29),
            (3, '30 to 90 days', 30, 89), (4, '90 days or more', 90, 10000000)),
        pending AS (
            SELECT direction, greatest(date_sub('day', date_created, TIMESTAMPTZ '{{as_of}}'), 0) AS age,
                   {_CENTS} AS cents
            FROM payments WHERE kind = 'payment' AND status = 'pending' AND direction IN ('in', 'out')),
        sums AS (
            SELECT direction, CASE WHEN age < 1 THEN 0 WHEN age < 7 THEN 1 WHEN age < 30 THEN 2 WHEN age < 90 THEN 3
                   ELSE 4 END AS number, count(*) AS payments, sum(cents) AS amount, max(age) AS oldest_days
            FROM pending GROUP BY ALL)
        SELECT direction, band, coalesce(payments, 0) AS payments, coalesce(amount, 0) / 100 AS amount, oldest_days
        FROM bands CROSS JOIN (VALUES ('in'), ('out')) AS ways(direction) LEFT JOIN sums USING (direction, number)
        ORDER BY direction, number""",
    "pending_requests": """
        SELECT payment_id, direction, counterparty_id, counterparty_username, counterparty_name, note, date_created,
               abs(amount_cents) / 100 AS amount,
               greatest(date_sub('day', date_created, TIMESTAMPTZ '{as_of}'), 0) AS age_days
        FROM payments WHERE kind = 'payment' AND status = 'pending' AND direction IN ('in', 'out')
        ORDER BY date_created, payment_id""",
    "spending_by_week": f"""
        WITH sums AS (
            SELECT date_trunc('week', {_LOCAL}) AS period, {_SUMS} FROM payments WHERE {_MOVED} GROUP BY ALL),
        weeks AS (SELECT unnest(generate_series(min(period), max(period), INTERVAL 7 DAY)) AS period FROM sums),
        filled AS (
            SELECT period, coalesce(sent, 0) AS sent, coalesce(received, 0) AS received,
                   coalesce(payments, 0) AS payments
            FROM weeks LEFT JOIN sums USING (period))
        SELECT period::DATE AS period, {_UNITS}, payments FROM filled ORDER BY period""",
    "spending_by_person": f"""
        WITH sums AS (
            SELECT date_trunc('year', {_LOCAL}) AS period, {_KEY} AS key, {_NAMES}, {_SUMS}
            FROM payments WHERE {_MOVED} GROUP BY ALL),
        years AS (SELECT unnest(generate_series(min(period), max(period), INTERVAL 1 YEAR)) AS period FROM sums),
        people AS (SELECT key, {_NAMES} FROM sums GROUP BY ALL),
        filled AS (
            SELECT period, people.counterparty_id, people.counterparty_name, coalesce(sent, 0) AS sent,
                   coalesce(received, 0) AS received, coalesce(payments, 0) AS payments
            FROM years CROSS JOIN people LEFT JOIN sums USING (period, key))
        SELECT period::DATE AS period, counterparty_id, counterparty_name, {_UNITS}, payments
        FROM filled ORDER BY period, filled.sent DESC, counterparty_id NULLS LAST, counterparty_name NULLS LAST""",
    "request_outcomes": f"""
        WITH charges AS (
            SELECT *, {_KEY} AS key, {_CENTS} AS cents,
                   CASE WHEN status = 'settled' THEN epoch_us(date_completed) - epoch_us(date_created) END AS waited
            FROM payments WHERE kind = 'payment' AND action = 'charge' AND direction IN ('in', 'out')),
        sums AS (
            SELECT key, direction, {_NAMES}, count(*) AS requests,
                   count(*) FILTER (status = 'settled') AS settled, count(*) FILTER (status = 'pending') AS pending,
                   count(*) FILTER (status = 'cancelled') AS cancelled, count(*) FILTER (status = 'expired') AS expired,
                   count(*) FILTER (status = 'failed') AS failed, sum(cents) AS asked,
                   coalesce(sum(cents) FILTER (status = 'settled'), 0) AS collected,
                   coalesce(sum(cents) FILTER (status = 'pending'), 0) AS still_open,
                   quantile_disc(waited, [0.5, 0.9]) AS days
            FROM charges GROUP BY ALL)
        SELECT * EXCLUDE (key, asked, collected, still_open, days), asked / 100 AS asked, collected / 100 AS collected,
               still_open / 100 AS still_open, days[1] / {_DAY} AS days_p50, days[2] / {_DAY} AS days_p90,
               settled / nullif(requests - pending, 0) AS share_settled
        FROM sums
        ORDER BY sums.asked DESC, counterparty_id NULLS LAST, counterparty_name NULLS LAST, direction""",
    "time_to_settle": f"""
        WITH settled AS (
            SELECT direction, epoch_us(date_completed) - epoch_us(date_created) AS waited
            FROM payments WHERE {_MOVED} AND action = 'charge'),
        sums AS (
            SELECT direction, count(*) AS payments, quantile_disc(waited, [0.5, 0.9, 0.99]) AS days, max(waited) AS most
            FROM settled WHERE waited IS NOT NULL GROUP BY ALL)
        SELECT direction, payments, days[1] / {_DAY} AS days_p50, days[2] / {_DAY} AS days_p90,
               days[3] / {_DAY} AS days_p99, most / {_DAY} AS days_max
        FROM sums ORDER BY direction""",
    "people_by_year": f"""
        WITH person AS (
            SELECT year({_LOCAL}) AS year, {_KEY} AS key, {_SUMS} FROM payments WHERE {_MOVED} GROUP BY ALL),
        marked AS (
            SELECT *, sent + received AS moved, lag(year) OVER chain IS NULL AS is_new,
                   coalesce(lead(year) OVER chain <> year + 1, true) AS is_gone,
                   row_number() OVER (PARTITION BY year ORDER BY sent + received DESC) AS rank
            FROM person WINDOW chain AS (PARTITION BY key ORDER BY year)),
        sums AS (
            SELECT year, count(*) AS people, count(*) FILTER (is_new) AS new, count(*) FILTER (is_gone) AS gone,
                   coalesce(sum(moved) FILTER (rank = 1) / sum(moved), 0) AS top_person_share,
                   coalesce(sum(moved) FILTER (rank <= 5) / sum(moved), 0) AS top_5_share,
                   sum(payments) AS payments, sum(sent) AS sent, sum(received) AS received
            FROM marked GROUP BY ALL),
        years AS (SELECT unnest(range(min(year), max(year) + 1)) AS year FROM sums),
        filled AS (
            SELECT year, coalesce(COLUMNS(* EXCLUDE (year)), 0) FROM years LEFT JOIN sums USING (year))
        SELECT * EXCLUDE (gone, sent, received), coalesce(lag(gone) OVER (ORDER BY year), 0) AS lost,
               sent / 100 AS sent, received / 100 AS received
        FROM filled ORDER BY year""",
    "activity": f"""
        WITH sums AS (
            SELECT isodow(date_created AT TIME ZONE '{{tz}}') - 1 AS weekday,
                   hour(date_created AT TIME ZONE '{{tz}}') AS hour,
                   count(*) AS payments, sum({_CENTS}) AS amount
            FROM payments WHERE {_MOVED} GROUP BY ALL)
        SELECT weekday, hour, coalesce(payments, 0) AS payments, coalesce(amount, 0) / 100 AS amount
        FROM range(7) AS days(weekday) CROSS JOIN range(24) AS hours(hour) LEFT JOIN sums USING (weekday, hour)
        ORDER BY weekday, hour""",
    "split_bills": f"""
        WITH made AS (
            SELECT *, {_TEXT} AS text, {_KEY} AS key, {_CENTS} AS cents
            FROM payments WHERE kind = 'payment' AND action = 'charge' AND direction = 'in'),
        gaps AS (
            SELECT *, coalesce(date_created - lag(date_created) OVER chain > INTERVAL 6 HOUR, true) AS is_first
            FROM made WHERE text <> '' WINDOW chain AS (PARTITION BY text ORDER BY date_created, payment_id)),
        bills AS (
            SELECT *, count(*) FILTER (is_first) OVER (PARTITION BY text ORDER BY date_created, payment_id) AS bill
            FROM gaps),
        sums AS (
            SELECT text, bill, max(payment_id) FILTER (is_first) AS bill_id, min(date_created) AS date,
                   max(note) FILTER (is_first) AS note, count(DISTINCT key) AS people, sum(cents) AS asked,
                   coalesce(sum(cents) FILTER (status = 'settled'), 0) AS collected,
                   coalesce(sum(cents) FILTER (status = 'pending'), 0) AS still_open,
                   coalesce(sum(cents) FILTER (status IN ('cancelled', 'expired', 'failed')), 0) AS declined,
                   min(date_created) FILTER (status = 'pending') AS open_since
            FROM bills GROUP BY ALL HAVING people >= 2)
        SELECT bill_id, date, note, people, asked / 100 AS asked, collected / 100 AS collected,
               still_open / 100 AS still_open, declined / 100 AS declined,
               (epoch_us(TIMESTAMPTZ '{{as_of}}') - epoch_us(open_since)) / {_DAY} AS oldest_open_days
        FROM sums ORDER BY date DESC, bill_id""",
    "unusual": f"""
        WITH moved AS (
            SELECT payment_id, abs(amount_cents) AS cents, {_KEY} AS key, direction, counterparty_id, counterparty_name,
                   date_created, note
            FROM payments WHERE {_MOVED} AND amount_cents IS NOT NULL),
        several AS (SELECT key, direction, cents FROM moved GROUP BY ALL HAVING count(*) > 1),
        alike AS (SELECT *, {_TEXT} AS text FROM moved SEMI JOIN several USING (key, direction, cents)),
        chained AS (
            SELECT *, lag(payment_id) OVER chain AS other_id, lag(date_created) OVER chain AS before
            FROM alike WINDOW chain AS (
                PARTITION BY key, direction, cents, text ORDER BY date_created, payment_id)),
        medians AS (
            SELECT key, direction, median(cents) AS usual FROM moved GROUP BY ALL HAVING count(*) >= 5),
        found AS (
            SELECT payment_id, 'duplicate' AS reason, other_id, cents, NULL AS usual, counterparty_id,
                   counterparty_name, date_created, note
            FROM chained WHERE date_created - before <= INTERVAL 10 MINUTE
            UNION ALL
            SELECT payment_id, 'large', NULL, cents, usual, counterparty_id, counterparty_name, date_created, note
            FROM moved JOIN medians USING (key, direction) WHERE cents >= 5 * usual)
        SELECT * EXCLUDE (cents, usual), usual / 100 AS usual, cents / 100 AS amount
        FROM found ORDER BY date_created DESC, payment_id, reason""",
    "categories": f"""
        WITH notes AS (SELECT note, {_SUMS} FROM payments WHERE {_MOVED} GROUP BY ALL),
        texts AS (SELECT * EXCLUDE (note), {_TEXT} AS text FROM notes),
        sums AS (
            SELECT {{category}} AS category, sum(sent) AS sent, sum(received) AS received, sum(payments) AS payments
            FROM texts GROUP BY ALL)
        SELECT category, {_UNITS}, payments, sent / sum(sent) OVER () AS share_of_sent
        FROM sums ORDER BY category = 'uncategorised', sums.sent DESC, category""",
}


def write_query(name: str, given: object = None) -> str:
    """Return a query with what it takes besides the payments: a zone, an instant, or the expressions of categories."""
    query = QUERIES[name]
    if isinstance(given, dict):
        return query.replace("{category}", _write_category(given))
    return query.replace("{tz}", str(given)).replace("{as_of}", str(given))


def _write_category(rules: dict[str, str]) -> str:
    """Return the expression of the first category with a regular expression that the note matches."""
    cases = [
        f"WHEN regexp_matches(text, '{_quote(expression)}') THEN '{category}'" for category, expression in rules.items()
    ]
    return f"CASE {' '.join(cases)} ELSE 'uncategorised' END"


def _quote(text: str) -> str:
    return text.replace("'", "''")
