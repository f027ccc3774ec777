"""Where the statements of each section of the interface document are tested over HTTP.

A row has the file (below ``tests/``) and the name of a test, and the items of the section that it shows. What the
document leaves open ("not shown") is in parentheses, with the rule of the sandbox. Sentences about agreements and
people have no row: access is closed to new businesses, no merchant payments, the API is retired for new businesses.
"""

from __future__ import annotations

from typing import Final

HERE, CLIENT, PAGES = "contract/test_over_http.py", "contract/test_client.py", "contract/test_pages_and_tokens.py"
LISTS, WRITES, EXCHANGE = "sandbox/api/test_lists.py", "sandbox/api/test_writes.py", "sandbox/api/test_exchange.py"
BODIES, REFUSALS, OUTCOMES = (
    "sandbox/http/test_bodies.py",
    "sandbox/http/test_refusals.py",
    "sandbox/api/test_sandbox_outcomes.py",
)
MODEL, DIALECTS, ANSWERS = (
    "sandbox/domain/test_state_machine.py",
    "sandbox/http/test_dialects.py",
    "contract/test_openapi_responses.py",
)
VISIBLE, ALLOW, ACCOUNT = (
    "sandbox/domain/test_visibility.py",
    "sandbox/pages/test_authorization.py",
    "sandbox/pages/test_account.py",
)

DOCUMENT: Final[dict[str, list[tuple[str, str, str]]]] = {
    "What the service does": [
        (HERE, "test_fields_of_optional_scopes", "1 reads the profile, and with permission email, phone, balance"),
        (HERE, "test_fields_of_each_resource", "2 another user's profile; 3 friends"),
        (WRITES, "test_a_new_payment_or_charge", "4 pays and charges, with a note"),
        (HERE, "test_sandboxes_are_independent", "rule 3: no real balance, the same paths"),
        (HERE, "test_a_client_uses_https_off_this_machine", "rule 4: https"),
        (HERE, "test_answers_are_json_with_data", "rules 5 to 7: JSON, data, pagination of the two lists only"),
        (HERE, "test_the_fields_of_a_payment", "rule 5: null, never omitted"),
        (HERE, "test_each_kind_of_error", "rule 6: the envelope of errors"),
        (HERE, "test_every_word_and_form_occurs", "rule 8: datetimes with Z, without, and with a fraction"),
        (CLIENT, "test_a_history_of_the_documents_forms", "rule 8: clients tolerate them"),
    ],
    "User": [
        (HERE, "test_fields_of_each_resource", "12 fields; 7 of a friend; 8 of an actor and a target.user"),
        (HERE, "test_the_fields_of_a_user", "the values; is_friend of oneself"),
        (HERE, "test_display_name_of_a_business", "display_name"),
        (HERE, "test_fields_of_optional_scopes", "email, phone"),
        (HERE, "test_is_friend", "is_friend of others"),
        (HERE, "test_subsets_agree_with_the_user", "the two subsets"),
    ],
    "Current-user envelope (GET /me)": [
        (HERE, "test_fields_of_each_resource", "balance, user"),
        (WRITES, "test_a_new_payment_or_charge", "a number"),
        (HERE, "test_fields_of_optional_scopes", "null without access_balance"),
    ],
    "Payment (covers both payments and charges)": [
        (HERE, "test_fields_of_each_resource", "13 fields; 10 in a list, without fee, refund, medium"),
        (HERE, "test_the_fields_of_a_payment", "the values"),
        (HERE, "test_every_word_and_form_occurs", "5 statuses, 2 actions, 3 audiences, 4 media; date_completed"),
        (BODIES, "test_notes_come_back_as_they_were", "note"),
        (HERE, "test_fee_and_refund", "fee, refund (an amount, and the fields of a payment)"),
        (WRITES, "test_an_approval_pays_the_fee", "fee (paid on top)"),
    ],
    "Target": [
        (HERE, "test_targets", "user excludes the addresses; email null while pending"),
        (WRITES, "test_an_address_of_an_account_is_its_user", "type; user, by id, email or phone"),
        (WRITES, "test_what_nobody_collects_expires", "email of an address without an account"),
        (WRITES, "test_an_address_without_an_account", "phone of a number without an account; a pending email is null"),
        (CLIENT, "test_a_history_of_the_documents_forms", "clients do not rely on email"),
    ],
    "Pagination object": [
        (LISTS, "test_the_form_of_the_next_link", "next"),
        (PAGES, "test_next_links_need_the_token_appended", "without the token"),
        (LISTS, "test_last_page", "(null on the last page)"),
    ],
    "Error envelope": [(HERE, "test_each_kind_of_error", "message, code")],
    "States and transitions": [
        (WRITES, "test_a_new_payment_or_charge", "new: 5 rows"),
        (WRITES, "test_a_linked_bank_is_a_funding_source", "a funding source"),
        (WRITES, "test_trust_goes_one_way_and_only_between_friends", "(trusted friend)"),
        (WRITES, "test_a_request_is_answered", "pending: approve, deny, cancel (deny and cancel: cancelled)"),
        (ANSWERS, "test_refusals_of_a_request", "the callers of approve, deny, cancel; pending only"),
        (WRITES, "test_what_nobody_collects_expires", "pending: expiry, refund (payments, after 30 days)"),
    ],
    "Sandbox outcomes": [
        (OUTCOMES, "test_the_test_user_is_no_resident", "a fixed id, email and phone"),
        (OUTCOMES, "test_outcomes_of_the_test_user", "0.10, 0.20, -0.10"),
        (OUTCOMES, "test_outcomes_of_an_unregistered_address", "0.30, -0.20"),
        (DIALECTS, "test_other_amounts_to_the_test_user", "(other amounts are refused)"),
    ],
    "Endpoints": [
        (HERE, "test_paths_without_a_token_or_version", "relative to the base address; the token is required"),
        (BODIES, "test_places_of_parameters_and_token", "the token in the query of GET, in the form of POST"),
        (HERE, "test_endpoints_of_each_scope", "the scope of each"),
    ],
    "GET /me": [(HERE, "test_fields_of_optional_scopes", "3 optional scopes")],
    "GET /users/:user_id": [(REFUSALS, "test_an_id_of_nobody", "user_id")],
    "GET /users/:user_id/friends": [
        (REFUSALS, "test_an_id_of_nobody", "user_id"),
        (LISTS, "test_friends_before", "before"),
        (PAGES, "test_page_sizes_of_both_lists", "limit"),
        (LISTS, "test_friends_ascend_and_next_has_after", "after in next"),
    ],
    "POST /payments": [
        (WRITES, "test_a_new_payment_or_charge", "user_id, email, phone; data is balance and payment"),
        (WRITES, "test_writing_needs_its_scope", "make_payments, access_balance (null without it)"),
        (BODIES, "test_no_token_no_write", "access_token"),
        (BODIES, "test_targets_that_are_none", "one of the three"),
        (BODIES, "test_notes_that_are_none", "note"),
        (BODIES, "test_spellings_of_an_amount", "amount"),
        (HERE, "test_the_fields_of_a_payment", "a negative amount is a charge"),
        (WRITES, "test_the_audience_is_private_unless_it_is_said", "audience"),
    ],
    "GET /payments": [
        (VISIBLE, "test_lists_hold_only_ones_own", "the current user's"),
        (LISTS, "test_filters_on_every_page", "action, actor, status"),
        (LISTS, "test_unknown_words_are_refused", "other words"),
        (PAGES, "test_page_sizes_of_both_lists", "limit"),
        (LISTS, "test_both_bounds_exclude_their_instant", "after, before"),
        (LISTS, "test_the_form_of_the_next_link", "next with limit and before"),
        (LISTS, "test_every_spelling_of_a_bound", "(formats of after and before)"),
        (LISTS, "test_default_and_largest_page", "(order)"),
    ],
    "GET /payments/:payment": [
        (REFUSALS, "test_an_id_of_nobody", "payment"),
        (HERE, "test_the_fields_of_a_payment", "a Payment without balance"),
    ],
    "PUT /payments/:payment": [
        (WRITES, "test_a_request_is_answered", "approve, deny, cancel; the payment in its new state"),
        (WRITES, "test_strangers_to_a_request", "payment"),
        (BODIES, "test_no_token_no_write", "access_token"),
        (WRITES, "test_an_unknown_action", "action"),
        (ANSWERS, "test_refusals_of_a_request", "who takes which action"),
        (BODIES, "test_places_of_parameters_and_token", "(query, form, multipart or JSON)"),
    ],
    "GET /oauth/authorize": [(ALLOW, "test_allow", "a browser's redirect")],
    "Authentication": [(REFUSALS, "test_no_token", "access_token")],
    "Application registration": [
        (ACCOUNT, "test_an_unverified_person_is_told_why", "1 a verified identity"),
        (ALLOW, "test_names_are_escaped", "App Name"),
        (ACCOUNT, "test_fields_that_are_refused", "App Description, Web Redirect URL"),
        (ACCOUNT, "test_fields_that_are_taken", "Site URL"),
        (ACCOUNT, "test_register", "3 client id"),
        (ACCOUNT, "test_without_a_redirect_url_nobody_is_asked", "3 no authorization without a redirect URL"),
    ],
    "Client-side flow": [
        (ALLOW, "test_requests_that_are_not_served", "1 client_id"),
        (PAGES, "test_a_token_of_the_client_side_flow", "1 scope; 5 expires after 30 minutes"),
        (ALLOW, "test_allow", "2 redirect_uri"),
        (ALLOW, "test_the_consent_page_names_each_scope", "3 the user agrees"),
        (ALLOW, "test_allow", "4 access_token in the query of the redirect"),
    ],
    "Server-side flow": [
        (EXCHANGE, "test_sixty_days", "60 days"),
        (EXCHANGE, "test_what_clients_send", "(endpoints and parameters)"),
    ],
    "Scopes named": [
        (HERE, "test_endpoints_of_each_scope", "access_profile, access_friends, make_payments"),
        (HERE, "test_fields_of_optional_scopes", "access_email, access_phone, access_balance"),
        (ALLOW, "test_requests_that_are_not_served", "(others are refused)"),
        (ALLOW, "test_state_comes_back_to_the_letter", "(state, response_type)"),
    ],
    "Events": [(HERE, "test_neither_events_nor_deprecations", "(none)")],
    "Errors": [
        (HERE, "test_each_kind_of_error", "1, 2 envelope, status, message, code (the known codes)"),
        (WRITES, "test_a_new_payment_or_charge", "3, 4 unregistered addresses and insufficient funding are no errors"),
        (ALLOW, "test_requests_that_are_not_served", "5 without a valid redirect URL"),
        (REFUSALS, "test_no_token", "(missing token: 401)"),
        (REFUSALS, "test_invalid_token", "(invalid token: 401)"),
        (HERE, "test_endpoints_of_each_scope", "(missing scope: 403)"),
        (REFUSALS, "test_an_id_of_nobody", "(unknown id: 404)"),
        (REFUSALS, "test_odd_parameters", "(invalid parameter: 400)"),
    ],
    "Limits": [
        (PAGES, "test_page_sizes_of_both_lists", "20 and 50, limit"),
        (PAGES, "test_a_token_of_the_client_side_flow", "30 minutes"),
        (EXCHANGE, "test_sixty_days", "60 days"),
        (BODIES, "test_targets_that_are_none", "US phone numbers"),
        (PAGES, "test_next_links_need_the_token_appended", "1 next omits the token"),
        (HERE, "test_rate_limits_are_optional", "2 (none until asked for)"),
        (BODIES, "test_amounts_that_are_none", "3 (above zero, whole cents, up to 1,000,000.00)"),
        (BODIES, "test_notes_that_are_none", "4 (2,000 characters)"),
    ],
    "Versioning": [
        (HERE, "test_paths_without_a_token_or_version", "1 /v1 is part of the path"),
        (HERE, "test_neither_events_nor_deprecations", "3 (no deprecation is announced)"),
    ],
}
