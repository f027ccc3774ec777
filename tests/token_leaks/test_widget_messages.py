"""Messages of a kernel, which all its clients receive: none holds the text entered into the form."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

from support.canary import CANARY

SECONDS = 60
CELL = """
import ipywidgets, logging, sys
import p2p_analytics as p2p
plain = ipywidgets.Password()
form = p2p.TokenForm("http://127.0.0.1:1/v1", "1")
display(form)
box = form._box
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[BlockingKernelClient]:
    """Run a kernel that shows a form."""
    manager, client = start_new_kernel(startup_timeout=SECONDS)
    messages(client, client.execute(CELL))
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def messages(client: BlockingKernelClient, request: str) -> list[dict[str, Any]]:
    """Return the messages that the kernel sends to all its clients until it has finished a request."""
    sent = []
    while True:
        message = client.get_iopub_msg(timeout=SECONDS)
        sent.append(message)
        if message["parent_header"].get("msg_id") == request and message["content"].get("execution_state") == "idle":
            return sent


def enter(client: BlockingKernelClient, box: str, text: str) -> list[dict[str, Any]]:
    """Enter a text into a box, as a browser does, and return the kernel's messages."""
    (answer,) = client.execute_interactive(
        "", user_expressions={"id": f"{box}.comm.comm_id"}, timeout=SECONDS, output_hook=lambda _: None
    )["content"]["user_expressions"].values()
    update = {"method": "update", "state": {"value": text}, "buffer_paths": []}
    identifier = answer["data"]["text/plain"].strip("'")
    message = client.session.msg("comm_msg", {"comm_id": identifier, "data": update})
    client.shell_channel.send(message)
    return messages(client, message["header"]["msg_id"])


@pytest.mark.parametrize("text", [CANARY, f"http://127.0.0.1/cb?access_token={CANARY}", f"no token: {CANARY}"])
def test_no_message_holds_what_was_pasted(kernel: BlockingKernelClient, text: str) -> None:
    """The browser is asked to empty the box, and no client receives its text; a plain box repeats it."""
    assert "echo_update" in repr(enter(kernel, "plain", text))
    assert CANARY in repr(enter(kernel, "plain", f"{text} "))
    sent = enter(kernel, "box", text)
    updates = [one["content"]["data"] for one in sent if one["msg_type"] == "comm_msg"]
    assert {"value": ""} in [update["state"] for update in updates if update["method"] == "update"]
    assert CANARY not in json.dumps(sent, default=str)
