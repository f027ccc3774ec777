"""The command of the PyPI package venmo, its addresses pointed elsewhere.

Run as ``command.py PAYMENTS USERS pay @person 1.25 lunch``: two addresses, then the command's own arguments.
"""

import sys

import venmo

venmo.settings.PAYMENTS_URL, venmo.settings.USERS_URL = sys.argv[1:3]
del sys.argv[1:3]
venmo.cli.main()
