"""Notebooks that were executed and saved with their widget state: no token, in any state of the form.

``nbconvert --execute`` saves every living widget, displayed or not. Each route below has tokens of its
own, which begin with its number, so that a leak names its route.
"""

import json
import os
import subprocess
import sys

import pytest

from support.canary import CANARY

pytestmark = pytest.mark.full
START = f"""
import getpass, secrets, time, urllib.request
import ipywidgets, p2p_analytics as p2p
from datetime import timedelta
server = p2p.sandbox.SandboxServer(people=4, years=1).start()
plain, route = secrets.token_urlsafe, 0
# The nonce of the redirect URI is shorter than a token and part of the link.
secrets.token_urlsafe = lambda size=None: (f"{CANARY}-{{route}}-" if size == 32 else "") + plain(size)
def new(**options):
    return p2p.TokenForm(server.base_url, server.client_id, **options)
def address(form, allow=True):
    return server.sign_in(form.link, server.viewer, allow=allow)
def until(happened):
    for _ in range(3000):
        if happened():
            return
        time.sleep(0.02)
    raise TimeoutError
def sign_in():
    form = new()
    form.take(address(form))
    form.token
    return form
def client_of(form):
    return p2p.Client(form.token, base_url=server.base_url, cache_dir=False)
"""
CONVERT = """
import json, sys
from nbconvert.nbconvertapp import NbConvertApp
for arguments in json.loads(sys.argv[1]):
    NbConvertApp.launch_instance(["--log-level=ERROR", *arguments])
    NbConvertApp.clear_instance()
"""
CONTROL = "box = ipywidgets.Password(value=server.token(server.viewer)); box"
# The code of a cell, by the resulting state of the form.
ROUTES = {
    "not signed in": "form = new(); address(form); form",
    "address pasted": "form = new(); form._box.value = address(form); form.token; form",
    "token pasted": "form = new(); form._box.value = server.token(server.viewer); form.token; form",
    "nonsense pasted": "form = new(); form._box.value = 'http://127.0.0.1/?x=' + server.token(server.viewer); form",
    "browser came back": "form = new(); urllib.request.urlopen(address(form)); until(lambda: form._user_name); form",
    "declined": "form = new(); urllib.request.urlopen(address(form, False)); until(lambda: form._problem); form",
    "new link while signed in": "form = sign_in(); form._link_button.click(); form",
    "expired": "form = sign_in(); form.token.expires_at -= timedelta(1); until(lambda: form._token is None); form",
    "refused": "form = new(); t = server.token(server.viewer); server.expire(t); form.take(t); form",
    "closed": "form = sign_in(); form.close(); form",
    "never shown": "form = sign_in(); None",
    "prompt": "getpass.getpass = lambda _: server.token(server.viewer); form = new(how='prompt'); form.token; form",
    "all that it holds": "form = sign_in(); form.token, vars(form), form.widget, dir(form)",
    "explorer": "p2p.Explorer(p2p.load_history(client_of(sign_in())))",
    "explorer of payments": "e = p2p.Explorer(p2p.load_history(client_of(sign_in())))\n"
    "e.analysis.value = 'payments'; e",
    "verbose traceback": "get_ipython().run_line_magic('xmode', 'Verbose')\nform = sign_in(); form.take('x y')",
    "traceback of a request": "client_of(sign_in()).payment('1')",
}


@pytest.fixture(scope="module")
def executed_notebook(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run all routes in one notebook, and return the notebook and the page of nbconvert."""
    import nbformat  # here, because importing it takes seconds

    folder = tmp_path_factory.mktemp("executed")
    cells = [f"route = {number}\n{code}" for number, code in enumerate([CONTROL, *ROUTES.values()])]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in [START, *cells]])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / "routes.ipynb")
    runs = [
        ["--execute", "--allow-errors", "--to=notebook", "--output=run", "routes.ipynb"],
        ["--to=html", "run.ipynb"],
    ]
    command = [sys.executable, "-c", CONVERT, json.dumps(runs)]  # one process, because starting it takes seconds
    own = os.environ | {"IPYTHONDIR": str(folder / "ipython")}
    subprocess.run(command, cwd=folder, env=own, check=True, timeout=120, capture_output=True)  # noqa: S603 - our own
    return {path.suffix: path.read_text(encoding="utf-8") for path in folder.glob("run.*")}


def test_the_search_would_find_a_token(executed_notebook: dict[str, str]) -> None:
    """A box that keeps its value leaks into both files, and each route reached the state of its name."""
    assert set(executed_notebook) == {".ipynb", ".html"}
    assert all(f"{CANARY}-0-" in text for text in executed_notebook.values())
    notebook = json.loads(executed_notebook[".ipynb"])
    assert "PasswordModel" in json.dumps(notebook["metadata"]["widgets"])
    outputs = [json.dumps(cell["outputs"]) for cell in notebook["cells"][2:]]
    failed = {name for name, shown in zip(ROUTES, outputs, strict=True) if '"error"' in shown}
    assert failed == {"verbose traceback", "traceback of a request"}
    assert "TokenError" in outputs[list(ROUTES).index("verbose traceback")]
    assert "NotFoundError" in outputs[list(ROUTES).index("traceback of a request")]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", [".ipynb", ".html"])
def test_no_route_saves_a_token(executed_notebook: dict[str, str], route: str, kind: str) -> None:
    """Search outputs, tracebacks and the state of every widget."""
    number = list(ROUTES).index(route) + 1
    assert f"{CANARY}-{number}-" not in executed_notebook[kind]
