# The public names and their modules, listed once: type checkers read this file, and so does __init__.py.

from p2p_analytics import errors as errors
from p2p_analytics import plots as plots
from p2p_analytics import sandbox as sandbox
from p2p_analytics.analyses import *
from p2p_analytics.analyses import categorise as categorise
from p2p_analytics.analyses import default_rules as default_rules
from p2p_analytics.archive import Archive as Archive
from p2p_analytics.archive import Archives as Archives
from p2p_analytics.archive import open_archive as open_archive
from p2p_analytics.archive import open_archives as open_archives
from p2p_analytics.auth import AccessToken as AccessToken
from p2p_analytics.auth import authorize_url as authorize_url
from p2p_analytics.auth import token_from_redirect as token_from_redirect
from p2p_analytics.bank import match_bank as match_bank
from p2p_analytics.client import Client as Client
from p2p_analytics.errors import P2PAnalyticsError as P2PAnalyticsError
from p2p_analytics.export import read_csv as read_csv
from p2p_analytics.export import read_parquet as read_parquet
from p2p_analytics.export import to_beancount as to_beancount
from p2p_analytics.export import to_csv as to_csv
from p2p_analytics.export import to_excel as to_excel
from p2p_analytics.export import to_hledger as to_hledger
from p2p_analytics.export import to_jsonl as to_jsonl
from p2p_analytics.export import to_parquet as to_parquet
from p2p_analytics.export import to_sqlite as to_sqlite
from p2p_analytics.frames.units import units as units
from p2p_analytics.history import History as History
from p2p_analytics.history import combine as combine
from p2p_analytics.history import household as household
from p2p_analytics.history import load_history as load_history
from p2p_analytics.reminder_messages import reminders as reminders
from p2p_analytics.report import render_report as render_report
from p2p_analytics.report import render_year as render_year
from p2p_analytics.statements import ColumnFormat as ColumnFormat
from p2p_analytics.statements import Statements as Statements
from p2p_analytics.statements import describe_file as describe_file
from p2p_analytics.statements import read_format as read_format
from p2p_analytics.statements import read_statements as read_statements
from p2p_analytics.statements import register_format as register_format
from p2p_analytics.widgets import Explorer as Explorer
from p2p_analytics.widgets import TokenForm as TokenForm

__version__: str
