"""Rows of the interface document: endpoints, authorization, scopes, errors, limits and versions."""

from __future__ import annotations

from contract.document_tests import (
    ACCOUNT,
    ALLOW,
    BODIES,
    ENDPOINTS,
    EXCHANGE,
    HERE,
    LISTS,
    PAGES,
    REFUSALS,
    SERVED,
    VISIBLE,
    WRITES,
)

EVERY_ENDPOINT = [
    ("rule", "paths", "relative to the base address, the same in the sandbox",
     HERE, "test_paths_without_a_token_or_version"),
    ("rule", "GET", "access_token in the query", BODIES, "test_places_of_parameters_and_token"),
    ("rule", "POST", "access_token as a form field, form-encoded", BODIES, "test_places_of_parameters_and_token"),
]  # fmt: skip


GET_ME = [
    ("endpoint", "GET /me", "the current user", ENDPOINTS, "test_me_has_balance_and_user"),
    ("scope", "access_profile", "demanded", HERE, "test_endpoints_of_each_scope"),
    ("scope", "access_email", "optional: email", HERE, "test_fields_of_optional_scopes"),
    ("scope", "access_phone", "optional: phone", HERE, "test_fields_of_optional_scopes"),
    ("scope", "access_balance", "optional: balance", HERE, "test_fields_of_optional_scopes"),
    ("parameter", "access_token", "required", HERE, "test_paths_without_a_token_or_version"),
    ("rule", "response", "data is balance and user", SERVED, "test_me"),
]  # fmt: skip


GET_USER = [
    ("endpoint", "GET /users/:user_id", "a user", SERVED, "test_another_user"),
    ("scope", "access_profile", "demanded", HERE, "test_endpoints_of_each_scope"),
    ("parameter", "user_id", "in the path", REFUSALS, "test_an_id_of_nobody"),
    ("parameter", "access_token", "required", HERE, "test_paths_without_a_token_or_version"),
    ("rule", "response", "data is a User with all its fields", ENDPOINTS, "test_user_has_all_fields"),
]  # fmt: skip


GET_FRIENDS = [
    ("endpoint", "GET /users/:user_id/friends", "a user's friends", SERVED, "test_friends"),
    ("scope", "access_friends", "demanded", HERE, "test_endpoints_of_each_scope"),
    ("parameter", "user_id", "in the path", REFUSALS, "test_an_id_of_nobody"),
    ("parameter", "access_token", "required, the caller's own", HERE, "test_paths_without_a_token_or_version"),
    ("parameter", "before", "user ids less than this id", LISTS, "test_friends_before"),
    ("parameter", "limit", "the most friends returned", PAGES, "test_page_sizes_of_both_lists"),
    ("parameter", "after", "in next, though not in the list of parameters",
     LISTS, "test_friends_ascend_and_next_has_after"),
    ("rule", "response", "pagination.next and data, an array of friend items", SERVED, "test_friends"),
]  # fmt: skip


POST_PAYMENTS = [
    ("endpoint", "POST /payments", "pays or charges", WRITES, "test_a_payment_to_a_user_settles"),
    ("scope", "make_payments", "demanded", WRITES, "test_writing_needs_its_scope"),
    ("scope", "access_balance", "optional", WRITES, "test_the_balance_needs_its_scope"),
    ("parameter", "access_token", "required", BODIES, "test_no_token_no_write"),
    ("parameter", "user_id", "a user", WRITES, "test_a_payment_to_a_user_settles"),
    ("parameter", "email", "an email address", WRITES, "test_a_payment_to_an_unregistered_address_waits"),
    ("parameter", "phone", "a valid US phone number", WRITES, "test_a_payment_to_an_unregistered_address_waits"),
    ("rule", "one of the three", "without any there is no recipient", BODIES, "test_targets_that_are_none"),
    ("parameter", "note", "required", BODIES, "test_notes_that_are_none"),
    ("parameter", "amount", "required; a decimal number", BODIES, "test_spellings_of_an_amount"),
    ("rule", "negative amount", "creates a charge", HERE, "test_a_field_of_a_payment"),
    ("parameter", "audience", "public, friends or private; not required",
     WRITES, "test_the_audience_is_private_unless_it_is_said"),
    ("rule", "audience of another word", "refused", BODIES, "test_an_unknown_audience"),
    ("rule", "response", "data is balance and payment", WRITES, "test_a_payment_to_a_user_settles"),
    ("field", "balance", "of the acting user, after the operation", WRITES, "test_a_payment_to_a_user_settles"),
    ("field", "payment", "a Payment with all its fields", WRITES, "test_a_payment_to_a_user_settles"),
    ("open", "balance without access_balance", "null", WRITES, "test_the_balance_needs_its_scope"),
]  # fmt: skip


GET_PAYMENTS = [
    ("endpoint", "GET /payments", "the current user's most recent payments and charges",
     VISIBLE, "test_lists_hold_only_ones_own"),
    ("scope", "access_profile", "demanded", HERE, "test_endpoints_of_each_scope"),
    ("parameter", "access_token", "required", HERE, "test_paths_without_a_token_or_version"),
    ("parameter", "action", "pay or charge", LISTS, "test_filters_on_every_page"),
    ("parameter", "actor", "started by these users, by commas", LISTS, "test_filters_on_every_page"),
    ("parameter", "status", "of these statuses, by commas", LISTS, "test_filters_on_every_page"),
    ("rule", "other words", "refused, not ignored", LISTS, "test_unknown_words_are_refused"),
    ("parameter", "limit", "the most returned", PAGES, "test_page_sizes_of_both_lists"),
    ("parameter", "after", "made after this date", LISTS, "test_both_bounds_exclude_their_instant"),
    ("parameter", "before", "made before this date", LISTS, "test_both_bounds_exclude_their_instant"),
    ("rule", "response", "pagination.next and data, an array of payments", ENDPOINTS, "test_listed_payments"),
    ("rule", "next", "carries limit and before, a datetime without zone", LISTS, "test_the_form_of_the_next_link"),
    ("open", "formats of after and before", "every usual spelling; others are refused",
     LISTS, "test_every_spelling_of_a_bound"),
    ("open", "order", "newest first", LISTS, "test_newest_first"),
]  # fmt: skip


GET_PAYMENT = [
    ("endpoint", "GET /payments/:payment", "one payment", SERVED, "test_one_payment"),
    ("scope", "access_profile", "demanded", HERE, "test_endpoints_of_each_scope"),
    ("parameter", "payment", "in the path", REFUSALS, "test_an_id_of_nobody"),
    ("parameter", "access_token", "required", HERE, "test_paths_without_a_token_or_version"),
    ("rule", "response", "data is a Payment, without balance", SERVED, "test_one_payment"),
]  # fmt: skip


PUT_PAYMENT = [
    ("endpoint", "PUT /payments/:payment", "approves, denies or cancels", WRITES, "test_a_request_is_answered"),
    ("scope", "make_payments", "demanded", HERE, "test_endpoints_of_each_scope"),
    ("parameter", "payment", "in the path", WRITES, "test_strangers_to_a_request"),
    ("parameter", "access_token", "required", BODIES, "test_no_token_no_write"),
    ("parameter", "action", "required; one of three words", WRITES, "test_an_unknown_action"),
    ("rule", "approve", "the owner received the request", WRITES, "test_the_wrong_party_is_refused"),
    ("rule", "deny", "the owner received the request", WRITES, "test_the_wrong_party_is_refused"),
    ("rule", "cancel", "the owner made the request", WRITES, "test_the_wrong_party_is_refused"),
    ("rule", "response", "data is the Payment in its new state", WRITES, "test_a_request_is_answered"),
    ("open", "encoding of its parameters", "query, form, multipart, JSON",
     BODIES, "test_places_of_parameters_and_token"),
]  # fmt: skip


GET_AUTHORIZE = [
    ("endpoint", "GET /oauth/authorize", "a browser's redirect endpoint", ALLOW, "test_allow"),
]  # fmt: skip


AUTHENTICATION = [
    ("rule", "OAuth 2.0", "tokens are the parameter access_token", REFUSALS, "test_no_token"),
]  # fmt: skip


REGISTRATION = [
    ("rule", "1", "a user with a verified identity, in the developer settings",
     ACCOUNT, "test_an_unverified_person_is_told_why"),
    ("field", "App Name", "the name shown to users", ALLOW, "test_names_are_escaped"),
    ("field", "App Description", "a short statement of the purpose", ACCOUNT, "test_fields_that_are_refused"),
    ("field", "Web Redirect URL", "http(s)://<host>/<path>", ACCOUNT, "test_fields_that_are_refused"),
    ("field", "Site URL", "a host, also with a port", ACCOUNT, "test_fields_that_are_taken"),
    ("rule", "3: client id", "the application gets one", ACCOUNT, "test_register"),
    ("rule", "3: redirect", "no valid redirect URL, no authorization",
     ACCOUNT, "test_without_a_redirect_url_nobody_is_asked"),
]  # fmt: skip


CLIENT_SIDE = [
    ("parameter", "client_id", "required", ALLOW, "test_requests_that_are_not_served"),
    ("parameter", "scope", "separated by an encoded space", PAGES, "test_a_token_of_the_client_side_flow"),
    ("parameter", "redirect_uri", "overrides the registered redirect", PAGES, "test_a_redirect_override"),
    ("rule", "3", "the user signs in and agrees", ALLOW, "test_the_consent_page_names_each_scope"),
    ("rule", "4", "redirected with access_token in the query", ALLOW, "test_allow"),
    ("rule", "5", "the token expires after 30 minutes", PAGES, "test_a_token_of_the_client_side_flow"),
]  # fmt: skip


SERVER_SIDE = [
    ("rule", "lifetime", "tokens last 60 days", EXCHANGE, "test_sixty_days"),
    ("open", "endpoints and parameters", "a code for POST /oauth/access_token", EXCHANGE, "test_what_clients_send"),
]  # fmt: skip


SCOPES = [
    ("scope", "access_profile", "profiles, payments and their list", HERE, "test_endpoints_of_each_scope"),
    ("scope", "access_email", "fills email", HERE, "test_fields_of_optional_scopes"),
    ("scope", "access_phone", "fills phone", HERE, "test_fields_of_optional_scopes"),
    ("scope", "access_balance", "fills balance", HERE, "test_fields_of_optional_scopes"),
    ("scope", "access_friends", "friend lists", HERE, "test_endpoints_of_each_scope"),
    ("scope", "make_payments", "creates, approves, denies, cancels", HERE, "test_endpoints_of_each_scope"),
    ("open", "further scopes", "refused", ALLOW, "test_requests_that_are_not_served"),
    ("open", "further parameters", "state is echoed, response_type is token or code",
     ALLOW, "test_state_comes_back_to_the_letter"),
]  # fmt: skip


EVENTS = [("open", "events, webhooks, notifications", "there are none", HERE, "test_no_event_endpoints")]


ERRORS = [
    ("rule", "1", "an error response carries the envelope", HERE, "test_each_kind_of_error"),
    ("rule", "2: status", "in the status line", HERE, "test_each_kind_of_error"),
    ("rule", "2: message and code", "one explains, the other names the kind", HERE, "test_each_kind_of_error"),
    ("rule", "3", "an unregistered address is no error", WRITES, "test_a_payment_to_an_unregistered_address_waits"),
    ("rule", "4", "insufficient funding is no error of HTTP", WRITES, "test_insufficient_funding_fails"),
    ("rule", "5", "an application without a valid redirect is not served", ALLOW, "test_requests_that_are_not_served"),
    ("open", "codes", "those publicly known, as text", HERE, "test_each_kind_of_error"),
    ("open", "status: missing token", "401", REFUSALS, "test_no_token"),
    ("open", "status: invalid token", "401", REFUSALS, "test_invalid_token"),
    ("open", "status: missing scope", "403", ENDPOINTS, "test_each_endpoint_needs_its_scope"),
    ("open", "status: unknown id", "404", REFUSALS, "test_an_id_of_nobody"),
    ("open", "status: invalid parameter", "400", REFUSALS, "test_odd_parameters"),
]  # fmt: skip


LIMITS = [
    ("limit", "page size default", "20", PAGES, "test_page_sizes_of_both_lists"),
    ("limit", "page size maximum", "50", PAGES, "test_page_sizes_of_both_lists"),
    ("limit", "page size parameter", "limit", PAGES, "test_page_sizes_of_both_lists"),
    ("limit", "client-side token", "30 minutes", PAGES, "test_a_token_of_the_client_side_flow"),
    ("limit", "server-side token", "60 days", EXCHANGE, "test_sixty_days"),
    ("limit", "phone numbers", "US alone", BODIES, "test_targets_that_are_none"),
    ("rule", "1", "next omits the token, the client appends it", PAGES, "test_next_links_need_the_token_appended"),
    ("open", "2: rate limits", "none until asked for, then 429 with code 277 and Retry-After",
     HERE, "test_rate_limits_are_optional"),
    ("open", "3: amounts", "above zero, whole cents, up to 1,000,000.00", BODIES, "test_amounts_that_are_none"),
    ("open", "4: length of a note", "2,000 characters", BODIES, "test_notes_that_are_none"),
]  # fmt: skip


VERSIONING = [
    ("rule", "1", "/v1 is part of the path", HERE, "test_paths_without_a_token_or_version"),
    ("statement", "2", "retired for new businesses; holders keep access", "", ""),
    ("open", "3: deprecation and change", "nothing is announced", HERE, "test_no_deprecation_headers"),
]  # fmt: skip
