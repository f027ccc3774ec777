"""Every sentence of the interface document that can be right or wrong, each with the test that shows it over HTTP.

A row is: its kind, what it is about, what the document says in a few words, and the file (below ``tests/``) and name
of its test. What the document leaves open ("not shown") has rows of the kind "open", which say what the sandbox does.
The kind "statement" is for what is said of agreements and people, and leaves nothing on the wire to test.
"""

from __future__ import annotations

from typing import Final, NamedTuple

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


class Row(NamedTuple):
    """One thing that the document says; ``path`` and ``name`` of its test are empty for a statement."""

    section: str
    kind: str
    item: str
    says: str
    path: str
    name: str

    @property
    def test(self) -> str:
        """The test as pytest names it, below the tests folder."""
        return f"{self.path}::{self.name}" if self.path else ""


SERVICE = [
    ("rule", "does 1", "reads the user's profile, and with permission email, phone, balance",
     SERVED, "test_optional_scopes"),
    ("rule", "does 2", "reads another user's profile", SERVED, "test_another_user"),
    ("rule", "does 3", "lists a user's friends", ENDPOINTS, "test_friends_items"),
    ("rule", "does 4", "pays and charges a user, an email or a US phone, with a note",
     WRITES, "test_a_payment_to_a_user_settles"),
    ("statement", "1", "access is closed to new businesses", "", ""),
    ("statement", "2", "no merchant payments: an obligation of who has an account", "", ""),
    ("rule", "3", "the sandbox touches no real balance and has the same paths",
     HERE, "test_a_sandbox_touches_no_other_place"),
    ("rule", "4", "the base address is used with https", HERE, "test_a_client_uses_https_off_this_machine"),
    ("rule", "5: JSON", "all responses are JSON", HERE, "test_answers_are_json_with_data"),
    ("rule", "5: null", "a field without a value is null, never omitted", HERE, "test_a_field_without_a_value_is_null"),
    ("rule", "6: data", "every response has data", HERE, "test_answers_are_json_with_data"),
    ("rule", "6: pagination", "a response that pages a list has pagination", HERE, "test_answers_are_json_with_data"),
    ("rule", "6: error", "error responses have the envelope instead", HERE, "test_each_kind_of_error"),
    ("rule", "7", "only the lists of payments and of friends are paged", HERE, "test_answers_are_json_with_data"),
    ("rule", "8: service", "datetimes with Z, without, and with a fraction",
     ENDPOINTS, "test_all_three_spellings_of_datetimes"),
    ("rule", "8: client", "clients tolerate all of them", GIVEN, "test_a_history_of_the_documents_forms"),
]  # fmt: skip

USER = [
    ("field", "id", "numeric text, the user's identifier", HERE, "test_a_field_of_the_user"),
    ("field", "username", "text", HERE, "test_a_field_of_the_user"),
    ("field", "first_name", "text", HERE, "test_a_field_of_the_user"),
    ("field", "last_name", "text", HERE, "test_a_field_of_the_user"),
    ("field", "display_name", "first and last name together, or a business name",
     HERE, "test_a_business_shows_its_own_name"),
    ("field", "date_joined", "datetime", HERE, "test_a_field_of_the_user"),
    ("field", "profile_picture_url", "URL", HERE, "test_a_field_of_the_user"),
    ("field", "about", "the bio", HERE, "test_a_field_of_the_user"),
    ("field", "email", "set with access_email alone, else null", HERE, "test_what_an_optional_scope_fills"),
    ("field", "phone", "set with access_phone alone, else null", HERE, "test_what_an_optional_scope_fills"),
    ("field", "is_friend", "boolean; null of oneself; false in the sample of /me", HERE, "test_is_friend"),
    ("field", "friends_count", "number of friends", HERE, "test_a_field_of_the_user"),
    ("field", "friend item: username", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "friend item: about", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "friend item: last_name", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "friend item: display_name", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "friend item: first_name", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "friend item: profile_picture_url", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "friend item: id", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "actor and target.user: username", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "actor and target.user: first_name", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "actor and target.user: last_name", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "actor and target.user: display_name", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "actor and target.user: about", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "actor and target.user: profile_picture_url", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "actor and target.user: id", "in the subset", HERE, "test_subsets_agree_with_the_user"),
    ("field", "actor and target.user: date_joined", "in the subset", HERE, "test_subsets_agree_with_the_user"),
]  # fmt: skip

CURRENT_USER = [
    ("field", "balance", "a number", HERE, "test_the_balance_of_me"),
    ("field", "user", "a User with all its fields", ENDPOINTS, "test_me_has_balance_and_user"),
    ("rule", "balance and its scope", "non-null with access_balance alone", HERE, "test_what_an_optional_scope_fills"),
]  # fmt: skip

PAYMENT = [
    ("field", "id", "numeric text", HERE, "test_who_and_when_of_a_payment"),
    ("field", "status", "one of five words", SERVED, "test_every_word_and_spelling_occurs"),
    ("field", "note", "the message", BODIES, "test_notes_come_back_as_they_were"),
    ("field", "amount", "currency units; positive for a payment, negative for a charge",
     HERE, "test_a_field_of_a_payment"),
    ("field", "action", "pay or charge", HERE, "test_a_field_of_a_payment"),
    ("field", "date_created", "datetime", HERE, "test_who_and_when_of_a_payment"),
    ("field", "date_completed", "datetime; null while pending", HERE, "test_who_and_when_of_a_payment"),
    ("field", "audience", "public, friends or private", WRITES, "test_the_audience_is_private_unless_it_is_said"),
    ("field", "target", "whom it was sent to", HERE, "test_who_and_when_of_a_payment"),
    ("field", "actor", "who created it", HERE, "test_who_and_when_of_a_payment"),
    ("field", "fee", "an object where a fee is attached, else null", ENDPOINTS, "test_fee_and_refund"),
    ("field", "refund", "the refund payment of an expired or refunded payment, else null",
     ENDPOINTS, "test_fee_and_refund"),
    ("field", "medium", "ios, android, web or api", ENDPOINTS, "test_single_payment_has_three_more_fields"),
    ("open", "fields of fee", "an amount, paid on top by the payer", WRITES, "test_an_approval_pays_the_fee"),
    ("open", "fields of refund", "those of a payment", ENDPOINTS, "test_fee_and_refund"),
    ("field", "listed: status", "in the list", SERVED, "test_listed_payments"),
    ("field", "listed: date_completed", "in the list", SERVED, "test_listed_payments"),
    ("field", "listed: target", "in the list", SERVED, "test_listed_payments"),
    ("field", "listed: audience", "in the list", SERVED, "test_listed_payments"),
    ("field", "listed: actor", "in the list", SERVED, "test_listed_payments"),
    ("field", "listed: note", "in the list", SERVED, "test_listed_payments"),
    ("field", "listed: amount", "in the list", SERVED, "test_listed_payments"),
    ("field", "listed: action", "in the list", SERVED, "test_listed_payments"),
    ("field", "listed: date_created", "in the list", SERVED, "test_listed_payments"),
    ("field", "listed: id", "in the list", SERVED, "test_listed_payments"),
    ("rule", "not listed", "fee, refund and medium are shown of a single payment alone",
     SERVED, "test_listed_payments"),
]  # fmt: skip

TARGET = [
    ("field", "type", "how it was addressed: email, phone or user",
     WRITES, "test_an_address_of_an_account_is_its_user"),
    ("field", "email", "set for an address without an account", WRITES, "test_what_nobody_collects_expires"),
    ("field", "phone", "set for a number without an account", WRITES, "test_a_charge_to_an_unregistered_address_waits"),
    ("field", "user", "set for an existing user, by id, email or phone",
     WRITES, "test_an_address_of_an_account_is_its_user"),
    ("rule", "user excludes", "with a user, email and phone are null",
     WRITES, "test_an_address_of_an_account_is_its_user"),
    ("rule", "pending email in a list", "null, as in the sample", ENDPOINTS, "test_targets"),
    ("rule", "pending email alone", "null, as in the sample",
     WRITES, "test_a_payment_to_an_unregistered_address_waits"),
    ("rule", "clients", "do not rely on email being filled", GIVEN, "test_a_history_of_the_documents_forms"),
]  # fmt: skip

PAGINATION = [
    ("field", "next", "URL of the next page", LISTS, "test_the_form_of_the_next_link"),
    ("rule", "no token", "next does not hold the token; the client appends it",
     HERE, "test_next_links_need_the_token_appended"),
    ("open", "last page", "next is null", LISTS, "test_last_page"),
]  # fmt: skip

ENVELOPE = [
    ("field", "message", "text for people", HERE, "test_each_kind_of_error"),
    ("field", "code", "text that names the kind", SERVED, "test_errors_have_the_envelope"),
]  # fmt: skip

STATES = [
    ("state", "new: pay a user, funds suffice", "settled, completed", WRITES, "test_a_payment_to_a_user_settles"),
    ("state", "new: pay, funding insufficient", "failed, completed, balance unchanged",
     WRITES, "test_insufficient_funding_fails"),
    ("state", "new: pay an unregistered address", "pending, not completed, balance reduced",
     WRITES, "test_a_payment_to_an_unregistered_address_waits"),
    ("state", "new: charge a trusted friend", "settled at once, completed",
     WRITES, "test_a_charge_to_a_trusted_friend_settles"),
    ("state", "new: charge anybody else", "pending, not completed", WRITES, "test_a_charge_to_anybody_else_waits"),
    ("state", "pending: approve by who was asked", "settled, completed", WRITES, "test_a_request_is_answered"),
    ("state", "pending: deny by who was asked", "not shown: cancelled here", WRITES, "test_a_request_is_answered"),
    ("state", "pending: cancel by who asked", "not shown: cancelled here", WRITES, "test_a_request_is_answered"),
    ("state", "pending: expiry", "expired, with a refund payment", WRITES, "test_what_nobody_collects_expires"),
    ("rule", "status: settled", "a payment's state", SERVED, "test_every_word_and_spelling_occurs"),
    ("rule", "status: pending", "a payment's state", SERVED, "test_every_word_and_spelling_occurs"),
    ("rule", "status: failed", "a payment's state", SERVED, "test_every_word_and_spelling_occurs"),
    ("rule", "status: expired", "a payment's state", SERVED, "test_every_word_and_spelling_occurs"),
    ("rule", "status: cancelled", "a payment's state", SERVED, "test_every_word_and_spelling_occurs"),
    ("rule", "approve, deny, cancel", "the other party's are refused", WRITES, "test_the_wrong_party_is_refused"),
    ("rule", "pending alone", "no other state has transitions", WRITES, "test_only_a_pending_payment_changes"),
    ("rule", "funding source", "with one, a low balance does not fail",
     WRITES, "test_a_linked_bank_is_a_funding_source"),
    ("open", "trigger and timing of expiry", "30 days, payments alone", WRITES, "test_what_nobody_collects_expires"),
    ("open", "trusted friend", "one way, and between friends",
     WRITES, "test_trust_goes_one_way_and_only_between_friends"),
]  # fmt: skip

OUTCOMES = [
    ("rule", "the test user", "fixed, with an id, an email and a phone", WRITES, "test_the_test_user_is_no_resident"),
    ("outcome", "pay the test user 0.10", "settled", WRITES, "test_outcomes_of_the_test_user"),
    ("outcome", "pay the test user 0.20", "failed, insufficient funding", WRITES, "test_outcomes_of_the_test_user"),
    ("outcome", "pay an unregistered address 0.30", "pending", WRITES, "test_outcomes_of_an_unregistered_address"),
    ("outcome", "charge the test user -0.10", "settled", WRITES, "test_outcomes_of_the_test_user"),
    ("outcome", "charge an unregistered address -0.20", "pending", WRITES, "test_outcomes_of_an_unregistered_address"),
    ("open", "other amounts to the test user", "refused", WRITES, "test_other_amounts_to_the_test_user"),
]  # fmt: skip

EVERY_ENDPOINT = [
    ("rule", "paths", "relative to the base address, the same in the sandbox",
     HERE, "test_paths_without_a_token_or_version"),
    ("rule", "GET", "access_token in the query", BODIES, "test_places_of_parameters_and_token"),
    ("rule", "POST", "access_token as a form field, form-encoded", BODIES, "test_places_of_parameters_and_token"),
]  # fmt: skip

GET_ME = [
    ("endpoint", "GET /me", "the current user", ENDPOINTS, "test_me_has_balance_and_user"),
    ("scope", "access_profile", "demanded", HERE, "test_what_a_scope_grants"),
    ("scope", "access_email", "optional: email", HERE, "test_what_an_optional_scope_fills"),
    ("scope", "access_phone", "optional: phone", HERE, "test_what_an_optional_scope_fills"),
    ("scope", "access_balance", "optional: balance", HERE, "test_what_an_optional_scope_fills"),
    ("parameter", "access_token", "required", HERE, "test_paths_without_a_token_or_version"),
    ("rule", "response", "data is balance and user", SERVED, "test_me"),
]  # fmt: skip

GET_USER = [
    ("endpoint", "GET /users/:user_id", "a user", SERVED, "test_another_user"),
    ("scope", "access_profile", "demanded", HERE, "test_what_a_scope_grants"),
    ("parameter", "user_id", "in the path", REFUSALS, "test_an_id_of_nobody"),
    ("parameter", "access_token", "required", HERE, "test_paths_without_a_token_or_version"),
    ("rule", "response", "data is a User with all its fields", ENDPOINTS, "test_user_has_all_fields"),
]  # fmt: skip

GET_FRIENDS = [
    ("endpoint", "GET /users/:user_id/friends", "a user's friends", SERVED, "test_friends"),
    ("scope", "access_friends", "demanded", HERE, "test_what_a_scope_grants"),
    ("parameter", "user_id", "in the path", REFUSALS, "test_an_id_of_nobody"),
    ("parameter", "access_token", "required, the caller's own", HERE, "test_paths_without_a_token_or_version"),
    ("parameter", "before", "user ids less than this id", LISTS, "test_friends_before"),
    ("parameter", "limit", "the most friends returned", HERE, "test_page_sizes_of_both_lists"),
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
    ("rule", "one of the three", "without any there is nobody to pay", BODIES, "test_targets_that_are_none"),
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
    ("scope", "access_profile", "demanded", HERE, "test_what_a_scope_grants"),
    ("parameter", "access_token", "required", HERE, "test_paths_without_a_token_or_version"),
    ("parameter", "action", "pay or charge", LISTS, "test_filters_on_every_page"),
    ("parameter", "actor", "started by these users, by commas", LISTS, "test_filters_on_every_page"),
    ("parameter", "status", "of these statuses, by commas", LISTS, "test_filters_on_every_page"),
    ("rule", "other words", "refused, not ignored", LISTS, "test_unknown_words_are_refused"),
    ("parameter", "limit", "the most returned", HERE, "test_page_sizes_of_both_lists"),
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
    ("scope", "access_profile", "demanded", HERE, "test_what_a_scope_grants"),
    ("parameter", "payment", "in the path", REFUSALS, "test_an_id_of_nobody"),
    ("parameter", "access_token", "required", HERE, "test_paths_without_a_token_or_version"),
    ("rule", "response", "data is a Payment, without balance", SERVED, "test_one_payment"),
]  # fmt: skip

PUT_PAYMENT = [
    ("endpoint", "PUT /payments/:payment", "approves, denies or cancels", WRITES, "test_a_request_is_answered"),
    ("scope", "make_payments", "demanded", HERE, "test_what_a_scope_grants"),
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
    ("rule", "1", "a user whose identity is verified, in the developer settings",
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
    ("parameter", "scope", "separated by an encoded space", HERE, "test_a_token_of_the_client_side_flow"),
    ("parameter", "redirect_uri", "overrides the registered redirect", HERE, "test_a_redirect_made_on_the_fly"),
    ("rule", "3", "the user signs in and agrees", ALLOW, "test_the_consent_page_names_each_scope"),
    ("rule", "4", "redirected with access_token in the query", ALLOW, "test_allow"),
    ("rule", "5", "the token expires after 30 minutes", HERE, "test_a_token_of_the_client_side_flow"),
]  # fmt: skip

SERVER_SIDE = [
    ("rule", "lifetime", "tokens last 60 days", EXCHANGE, "test_sixty_days"),
    ("open", "endpoints and parameters", "a code for POST /oauth/access_token", EXCHANGE, "test_what_clients_send"),
]  # fmt: skip

SCOPES = [
    ("scope", "access_profile", "own and other profiles, payments and their list", HERE, "test_what_a_scope_grants"),
    ("scope", "access_email", "fills email", HERE, "test_what_an_optional_scope_fills"),
    ("scope", "access_phone", "fills phone", HERE, "test_what_an_optional_scope_fills"),
    ("scope", "access_balance", "fills balance", HERE, "test_what_an_optional_scope_fills"),
    ("scope", "access_friends", "friend lists", HERE, "test_what_a_scope_grants"),
    ("scope", "make_payments", "creates, approves, denies, cancels", HERE, "test_what_a_scope_grants"),
    ("open", "further scopes", "refused", ALLOW, "test_requests_that_are_not_served"),
    ("open", "further parameters", "state is echoed, response_type is token or code",
     ALLOW, "test_state_comes_back_to_the_letter"),
]  # fmt: skip

EVENTS = [("open", "events, webhooks, notifications", "there are none", HERE, "test_there_are_no_events")]

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
    ("limit", "page size default", "20", HERE, "test_page_sizes_of_both_lists"),
    ("limit", "page size maximum", "50", HERE, "test_page_sizes_of_both_lists"),
    ("limit", "page size parameter", "limit", HERE, "test_page_sizes_of_both_lists"),
    ("limit", "client-side token", "30 minutes", HERE, "test_a_token_of_the_client_side_flow"),
    ("limit", "server-side token", "60 days", EXCHANGE, "test_sixty_days"),
    ("limit", "phone numbers", "US alone", BODIES, "test_targets_that_are_none"),
    ("rule", "1", "next omits the token, the client appends it", HERE, "test_next_links_need_the_token_appended"),
    ("open", "2: rate limits", "none until asked for, then 429 with code 277 and Retry-After",
     HERE, "test_rate_limits_are_asked_for"),
    ("open", "3: amounts", "above zero, whole cents, up to 1,000,000.00", BODIES, "test_amounts_that_are_none"),
    ("open", "4: length of a note", "2,000 characters", BODIES, "test_notes_that_are_none"),
]  # fmt: skip

VERSIONING = [
    ("rule", "1", "/v1 is part of the path", HERE, "test_paths_without_a_token_or_version"),
    ("statement", "2", "retired for new businesses; holders keep access", "", ""),
    ("open", "3: deprecation and change", "nothing is announced", HERE, "test_nothing_announces_a_change"),
]  # fmt: skip

# The document's headings in its order; one of them holds nothing but the headings below it.
DOCUMENT: Final = {
    "What the service does": SERVICE,
    "Resources and their fields": [],
    "User": USER,
    "Current-user envelope (GET /me)": CURRENT_USER,
    "Payment (covers both payments and charges)": PAYMENT,
    "Target": TARGET,
    "Pagination object": PAGINATION,
    "Error envelope": ENVELOPE,
    "States and transitions": STATES,
    "Sandbox outcomes": OUTCOMES,
    "Endpoints": EVERY_ENDPOINT,
    "GET /me": GET_ME,
    "GET /users/:user_id": GET_USER,
    "GET /users/:user_id/friends": GET_FRIENDS,
    "POST /payments": POST_PAYMENTS,
    "GET /payments": GET_PAYMENTS,
    "GET /payments/:payment": GET_PAYMENT,
    "PUT /payments/:payment": PUT_PAYMENT,
    "GET /oauth/authorize": GET_AUTHORIZE,
    "Authentication": AUTHENTICATION,
    "Application registration": REGISTRATION,
    "Client-side flow": CLIENT_SIDE,
    "Server-side flow": SERVER_SIDE,
    "Scopes named": SCOPES,
    "Events": EVENTS,
    "Errors": ERRORS,
    "Limits": LIMITS,
    "Versioning": VERSIONING,
}

ROWS: Final = [Row(section, *row) for section, rows in DOCUMENT.items() for row in rows]
