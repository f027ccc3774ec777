"""The sections of the interface document, and the tests of their statements; agreements and people have no test."""

import ast
from pathlib import Path
from typing import Final

DOCUMENT: Final = {
    "What the service does": (
        "fields_of_optional_scopes answers_to_reads a_new_payment_or_charge sandboxes_are_independent "
        "a_client_uses_https_off_this_machine answers_are_json_with_data the_fields_of_a_payment "
        "answers_to_refused_requests every_word_and_form_occurs a_history_of_the_documents_forms"
    ),
    "User": ("answers_to_reads the_fields_of_a_user fields_of_optional_scopes is_friend subsets_agree_with_the_user"),
    "Current-user envelope (GET /me)": "answers_to_reads a_new_payment_or_charge fields_of_optional_scopes",
    "Payment (covers both payments and charges)": (
        "answers_to_reads the_fields_of_a_payment every_word_and_form_occurs notes_come_back_as_they_were "
        "fee_and_refund an_approval_pays_the_fee"
    ),
    "Target": ("an_address_of_an_account_is_its_user an_address_without_an_account a_history_of_the_documents_forms"),
    "Pagination object": "the_form_of_the_next_link next_links_need_the_token_appended last_page",
    "Error envelope": "answers_to_refused_requests",
    "States and transitions": (
        "a_new_payment_or_charge a_ledger_by_hand "
        "trust_goes_one_way_and_only_between_friends a_request_is_answered refusals_of_a_request "
        "what_nobody_collects_expires"
    ),
    "Sandbox outcomes": (
        "the_test_user_is_no_resident outcomes_of_the_test_user outcomes_of_an_unregistered_address "
        "other_amounts_to_the_test_user"
    ),
    "Endpoints": "paths_without_a_token_or_version places_of_parameters_and_token endpoints_of_each_scope",
    "GET /me": "fields_of_optional_scopes",
    "GET /users/:user_id": "an_id_of_nobody",
    "GET /users/:user_id/friends": (
        "an_id_of_nobody friends_before page_sizes_of_both_lists friends_ascend_and_next_has_after"
    ),
    "POST /payments": (
        "a_new_payment_or_charge answers_to_writes answers_to_refused_requests values_that_are_refused "
        "spellings_of_an_amount the_fields_of_a_payment the_audience_is_private_unless_it_is_said"
    ),
    "GET /payments": (
        "lists_hold_only_ones_own filters_on_every_page unknown_words_are_refused page_sizes_of_both_lists "
        "both_bounds_exclude_their_instant the_form_of_the_next_link every_spelling_of_a_bound "
        "default_and_largest_page"
    ),
    "GET /payments/:payment": "an_id_of_nobody the_fields_of_a_payment",
    "PUT /payments/:payment": (
        "a_request_is_answered strangers_to_a_request an_unknown_action refusals_of_a_request "
        "places_of_parameters_and_token"
    ),
    "GET /oauth/authorize": "allow",
    "Authentication": "invalid_token",
    "Application registration": (
        "an_unverified_person_is_told_why fields_that_are_refused fields_that_are_taken register "
        "without_a_redirect_url_nobody_is_asked"
    ),
    "Client-side flow": (
        "requests_that_are_not_served a_token_of_the_client_side_flow allow the_consent_page_names_each_scope"
    ),
    "Server-side flow": "sixty_days what_clients_send",
    "Scopes named": (
        "endpoints_of_each_scope fields_of_optional_scopes requests_that_are_not_served state_comes_back_to_the_letter"
    ),
    "Events": "neither_events_nor_deprecations",
    "Errors": (
        "answers_to_refused_requests a_new_payment_or_charge requests_that_are_not_served invalid_token "
        "an_id_of_nobody odd_parameters"
    ),
    "Limits": (
        "page_sizes_of_both_lists next_links_need_the_token_appended rate_limits_are_optional values_that_are_refused"
    ),
    "Versioning": "paths_without_a_token_or_version neither_events_nor_deprecations",
}


def test_each_section_has_tests_that_run() -> None:
    """Each of the 27 sections with text has tests, named without `test_`, that exist, assert and are not skipped."""
    defined = {
        node.name.removeprefix("test_"): node
        for folder in ("contract", "sandbox")
        for path in (Path(__file__).parents[1] / folder).rglob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert len(DOCUMENT) == 27
    for test in (defined[name] for names in DOCUMENT.values() for name in names.split()):
        assert any(isinstance(node, ast.Assert) for node in ast.walk(test)), test.name
        assert all(ast.unparse(one).startswith("pytest.mark.parametrize") for one in test.decorator_list), test.name
