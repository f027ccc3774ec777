"""Rows of the interface document: the service, its resources, states and outcomes."""

from __future__ import annotations

from contract.document_tests import (
    BODIES,
    ENDPOINTS,
    GIVEN,
    HERE,
    LISTS,
    PAGES,
    SERVED,
    TEST_USER,
    WRITES,
)

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
     HERE, "test_sandboxes_are_independent"),
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
     HERE, "test_display_name_of_a_business"),
    ("field", "date_joined", "datetime", HERE, "test_a_field_of_the_user"),
    ("field", "profile_picture_url", "URL", HERE, "test_a_field_of_the_user"),
    ("field", "about", "the bio", HERE, "test_a_field_of_the_user"),
    ("field", "email", "set with access_email alone, else null", HERE, "test_fields_of_optional_scopes"),
    ("field", "phone", "set with access_phone alone, else null", HERE, "test_fields_of_optional_scopes"),
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
    ("rule", "balance and its scope", "non-null with access_balance alone", HERE, "test_fields_of_optional_scopes"),
]  # fmt: skip


PAYMENT = [
    ("field", "id", "numeric text", HERE, "test_people_and_dates_of_a_payment"),
    ("field", "status", "one of five words", SERVED, "test_every_word_and_form_occurs"),
    ("field", "note", "the message", BODIES, "test_notes_come_back_as_they_were"),
    ("field", "amount", "currency units; positive for a payment, negative for a charge",
     HERE, "test_a_field_of_a_payment"),
    ("field", "action", "pay or charge", HERE, "test_a_field_of_a_payment"),
    ("field", "date_created", "datetime", HERE, "test_people_and_dates_of_a_payment"),
    ("field", "date_completed", "datetime; null while pending", HERE, "test_people_and_dates_of_a_payment"),
    ("field", "audience", "public, friends or private", WRITES, "test_the_audience_is_private_unless_it_is_said"),
    ("field", "target", "whom it was sent to", HERE, "test_people_and_dates_of_a_payment"),
    ("field", "actor", "who created it", HERE, "test_people_and_dates_of_a_payment"),
    ("field", "fee", "an object where a fee is attached, else null", ENDPOINTS, "test_fee_and_refund"),
    ("field", "refund", "the refund payment of an expired or refunded payment, else null",
     ENDPOINTS, "test_fee_and_refund"),
    ("field", "medium", "ios, android, web or api", ENDPOINTS, "test_single_payment_has_three_more_fields"),
    ("open", "fields of fee", "an amount, paid on top by the payer", WRITES, "test_an_approval_pays_the_fee"),
    ("open", "fields of refund", "the fields of a payment", ENDPOINTS, "test_fee_and_refund"),
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
     PAGES, "test_next_links_need_the_token_appended"),
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
    ("state", "new: charge another user", "pending, not completed", WRITES, "test_a_charge_to_anybody_else_waits"),
    ("state", "pending: approve by who was asked", "settled, completed", WRITES, "test_a_request_is_answered"),
    ("state", "pending: deny by who was asked", "not shown: cancelled here", WRITES, "test_a_request_is_answered"),
    ("state", "pending: cancel by who asked", "not shown: cancelled here", WRITES, "test_a_request_is_answered"),
    ("state", "pending: expiry", "expired, with a refund payment", WRITES, "test_what_nobody_collects_expires"),
    ("rule", "status: settled", "a payment's state", SERVED, "test_every_word_and_form_occurs"),
    ("rule", "status: pending", "a payment's state", SERVED, "test_every_word_and_form_occurs"),
    ("rule", "status: failed", "a payment's state", SERVED, "test_every_word_and_form_occurs"),
    ("rule", "status: expired", "a payment's state", SERVED, "test_every_word_and_form_occurs"),
    ("rule", "status: cancelled", "a payment's state", SERVED, "test_every_word_and_form_occurs"),
    ("rule", "approve, deny, cancel", "the other party's are refused", WRITES, "test_the_wrong_party_is_refused"),
    ("rule", "pending alone", "no other state has transitions", WRITES, "test_only_a_pending_payment_changes"),
    ("rule", "funding source", "with one, a low balance does not fail",
     WRITES, "test_a_linked_bank_is_a_funding_source"),
    ("open", "trigger and timing of expiry", "30 days, payments alone", WRITES, "test_what_nobody_collects_expires"),
    ("open", "trusted friend", "one way, and between friends",
     WRITES, "test_trust_goes_one_way_and_only_between_friends"),
]  # fmt: skip


OUTCOMES = [
    ("rule", "the test user", "fixed, with an id, an email and a phone",
     TEST_USER, "test_the_test_user_is_no_resident"),
    ("outcome", "pay the test user 0.10", "settled", TEST_USER, "test_outcomes_of_the_test_user"),
    ("outcome", "pay the test user 0.20", "failed, insufficient funding", TEST_USER, "test_outcomes_of_the_test_user"),
    ("outcome", "pay an unregistered address 0.30", "pending", TEST_USER, "test_outcomes_of_an_unregistered_address"),
    ("outcome", "charge the test user -0.10", "settled", TEST_USER, "test_outcomes_of_the_test_user"),
    ("outcome", "charge an unregistered address -0.20", "pending",
     TEST_USER, "test_outcomes_of_an_unregistered_address"),
    ("open", "other amounts to the test user", "refused", TEST_USER, "test_other_amounts_to_the_test_user"),
]  # fmt: skip
