"""Every analysis as plain Python loops over raw records, written from the definitions: slow, and easy to check.

A record is a dictionary with the columns of PAYMENTS; an instant is a datetime, which is in UTC without a zone.
"""

from support.analyses.oracle.over_time import activity, exposure, monthly_flow, people_by_year, spending_over_time
from support.analyses.oracle.pending import pending_ageing, pending_requests
from support.analyses.oracle.per_payment import categorise, sensitive_notes, unusual
from support.analyses.oracle.requests import request_outcomes, split_bills, time_to_settle
from support.analyses.oracle.rules import SeveralCurrenciesError, group, select, select_payments
from support.analyses.oracle.sums import categories, spend_by_friend, status_mix

__all__ = [
    "SeveralCurrenciesError",
    "activity",
    "categories",
    "categorise",
    "exposure",
    "group",
    "monthly_flow",
    "pending_ageing",
    "pending_requests",
    "people_by_year",
    "request_outcomes",
    "select",
    "select_payments",
    "sensitive_notes",
    "spend_by_friend",
    "spending_over_time",
    "split_bills",
    "status_mix",
    "time_to_settle",
    "unusual",
]
