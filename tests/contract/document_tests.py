"""Files of the tests that show the rows of the interface document, below ``tests/``."""

HERE, GIVEN = "contract/test_over_http.py", "contract/test_client.py"
ENDPOINTS, LISTS, VISIBLE = (
    "sandbox/api/test_endpoints.py",
    "sandbox/api/test_lists.py",
    "sandbox/domain/test_visibility.py",
)
WRITES, BODIES, REFUSALS = "sandbox/api/test_writes.py", "sandbox/http/test_bodies.py", "sandbox/http/test_refusals.py"
ALLOW, ACCOUNT, EXCHANGE = (
    "sandbox/pages/test_authorization.py",
    "sandbox/pages/test_account.py",
    "sandbox/api/test_exchange.py",
)
SERVED = "contract/test_sandbox.py"
PAGES, TEST_USER = "contract/test_pages_and_tokens.py", "sandbox/api/test_sandbox_outcomes.py"
