"""Two people, two tokens and one cache folder, from sign-in to frames."""

from __future__ import annotations

import p2p_analytics as p2p


def test_accounts_share_a_folder_and_no_data(tmp_path) -> None:
    """The histories differ, and a second load only fetches the pages that may have changed.

    Per account: the newest page, the list of pending payments, and the end of the list if no other page shows it.
    """
    with p2p.sandbox.SandboxServer(seed=7) as server:
        people = [server.people[0].username, server.people[2].username]
        url = p2p.authorize_url(server.base_url, server.client_id)

        def load(person: str) -> p2p.History:
            token = p2p.token_from_redirect(server.sign_in(url, person))  # a new token each time
            with p2p.Client(token, base_url=server.base_url, cache_dir=tmp_path) as client:
                return p2p.load_history(client)

        first = {person: load(person) for person in people}
        server.requests.clear()
        second = {person: load(person) for person in people}
        assert sum(path.startswith("/v1/payments") for _, path in server.requests) <= 2 * 3
        assert sum(path == "/v1/me" for _, path in server.requests) == 2
    for person, history in first.items():
        assert history.me.user.username == person
        sides = history.payments[["actor_id", "target_user_id"]]
        assert (sides == history.me.user.id).any(axis=1).all()
        assert second[person].payments.equals(history.payments)
        assert second[person].friends.equals(history.friends)
    assert set(first[people[0]].friends["user_id"]) != set(first[people[1]].friends["user_id"])
