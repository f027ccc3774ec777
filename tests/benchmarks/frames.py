"""Bytes to a frame, a frame to a file, and the start of a process: speed and memory against named peers.

Run as a program with a file of pages, the viewer and a way to flatten them, it does so once and prints the CPU time in
seconds and the growth of the process's resident memory in bytes.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pandas as pd
from costs import read_memory, run_alone, time_call  # beside this file

import p2p_analytics as p2p
from p2p_analytics.frames.build import payments_frame
from p2p_analytics.frames.people import people_frame
from p2p_analytics.records import InternTables, User, decode_payments

ROUNDS = 5
PAGE = 50
TOWNS = 100  # number of copies of the town's people


def measure(add_row, server: p2p.sandbox.SandboxServer) -> None:
    """Add one row for each benchmark to the table, with its target."""
    items, viewer = history(server), server.people[0].user_id
    with tempfile.TemporaryDirectory() as folder:
        files = {number: Path(folder) / f"{number}" for number in (100_000, 200_000, 1_000_000)}
        for number, file in files.items():
            file.write_bytes(b"\n".join(pages_of(items, viewer, number)))
        flattening(add_row, files[200_000], viewer)
        growing(add_row, files, viewer)
        pages = files[200_000].read_bytes().splitlines()
        writing(add_row, build_frame(pages, viewer), Path(folder) / "payments.csv")
    starting(add_row)


def history(server: p2p.sandbox.SandboxServer) -> list[dict]:
    """Return the payments of the town's first person as the service sends them."""
    with p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False) as client:
        return [json.loads(payment.raw) for page in client.payment_pages() for payment in page.items]


def pages_of(items: list[dict], viewer: str, number: int) -> Iterator[bytes]:
    """Yield pages with ``number`` payments in all, newest first: copies with distinct ids, amounts and people."""
    copies = -(-number // len(items))

    def rename_person(person: dict | None, town: int) -> dict | None:
        if person is None or person["id"] == viewer:
            return person
        return person | {"id": f"{person['id']}{town}", "username": f"{person['username']}-{town}"}

    rows = (
        item
        | {
            "id": f"{item['id']}{copies - copy:04}",
            "amount": round(item["amount"] * (1 + copy % 97 / 100), 2),
            "actor": rename_person(item["actor"], copy % TOWNS),
            "target": item["target"] | {"user": rename_person(item["target"]["user"], copy % TOWNS)},
        }
        for item in items
        for copy in range(copies)
    )
    for start in range(0, number, PAGE):
        size = min(PAGE, number - start)
        yield orjson.dumps({"data": [next(rows) for _ in range(size)], "pagination": None})


def build_frame(pages: list[bytes], viewer: str) -> pd.DataFrame:
    """Turn pages of bytes into the PAYMENTS and PEOPLE frames, as a load does."""
    tables = InternTables()
    people: list[User] = []
    frame = payments_frame((decode_payments(page, tables).items for page in pages), viewer, on_people=people.extend)
    people_frame(people)
    return frame


def normalize_json(pages: list[bytes], _viewer: str) -> pd.DataFrame:
    """Flatten with ``pandas.json_normalize``, as tutorials do, after collecting all pages."""
    frame = pd.json_normalize([item for page in pages for item in json.loads(page)["data"]])
    for name in ("date_created", "date_completed"):
        frame[name] = pd.to_datetime(frame[name], format="ISO8601", utc=True)
    return frame


def parse_json(pages: list[bytes], _viewer: str) -> None:
    """Parse the pages and discard the result: the minimum for the same bytes."""
    for page in pages:
        orjson.loads(page)


WAYS = {way.__name__: way for way in (build_frame, normalize_json, parse_json)}


def flattening(add_row, file: Path, viewer: str) -> None:
    """Compare ways to flatten the same pages; the two fastest in more rounds, because their difference is small."""
    runs = [{way: alone(file, viewer, way) for way in WAYS} for _ in range(ROUNDS)]
    quicker, smaller = ([run["normalize_json"][at] / run["build_frame"][at] for run in runs] for at in (0, 1))
    pairs = [[alone(file, viewer, way)[0] for way in ("build_frame", "parse_json")] for _ in range(3 * ROUNDS)]
    dearer = [ours / theirs for ours, theirs in pairs]
    add_row("flatten 200,000 payments", "pandas.json_normalize", quicker, wanted="6.5x or more")
    add_row("CPU time of that", "orjson.loads alone", dearer, wanted="1.8x or less")
    add_row("peak memory of that, less", "pandas.json_normalize", smaller, wanted="6.5x or more")


def growing(add_row, files: dict[int, Path], viewer: str) -> None:
    """Compare the cost per payment of a large load with that of a small one."""
    runs = [[alone(files[number], viewer, "build_frame") for number in (100_000, 1_000_000)] for _ in range(ROUNDS)]
    for at, what in enumerate(("CPU time", "memory")):
        each = [large[at] / small[at] / 10 for small, large in runs]
        add_row(f"{what} a payment, 1,000,000", "100,000 payments", each, wanted="1.3x or less")


def writing(add_row, frame: pd.DataFrame, csv: Path) -> None:
    """Write the frame as CSV and read it back."""
    wrote = ratios(lambda: frame.to_csv(csv), lambda: p2p.to_csv(frame, csv))  # ours last, to be read
    add_row("write them as CSV", "DataFrame.to_csv", wrote, wanted="8x or more")
    pd.testing.assert_frame_equal(p2p.read_csv(csv), frame)
    read = ratios(lambda: pd.read_csv(csv, low_memory=False), lambda: p2p.read_csv(csv))
    add_row("read them back", "pandas.read_csv", read)


def starting(add_row) -> None:
    """Import the package, and ask the command line for help."""
    for name, arguments, most in (
        ("import p2p_analytics", ("-c", "import p2p_analytics"), 1.5),
        ("p2p-analytics --help", ("-m", "p2p_analytics", "--help"), 3.5),
    ):
        found = [measure_process(*arguments) / measure_process("-c", "pass") for _ in range(3 * ROUNDS)]
        add_row(name, "python -c pass", found, wanted=f"{most}x or less")


def alone(file: Path, viewer: str, way: str) -> list[float]:
    """Flatten a file of pages in a separate process; return CPU seconds and bytes."""
    return run_alone(__file__, str(file), viewer, way)


def ratios(*works: Callable[[], object]) -> list[float]:
    """Return the CPU time of the first work divided by the second one's, for alternated rounds."""
    found = []
    for _ in range(ROUNDS):
        seconds = []
        for work in works:
            started = time.process_time()
            work()
            seconds.append(time.process_time() - started)
        found.append(seconds[0] / seconds[1])
    return found


def measure_process(*arguments: str) -> float:
    """Return the CPU time of a fresh interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def once(file: str, viewer: str, way: str) -> None:
    """Flatten the pages and print the cost, without that of the first use of each library."""
    pages = Path(file).read_bytes().splitlines()
    WAYS[way](pages[:PAGE], viewer)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    before = read_memory("VmRSS")
    _, _, seconds = time_call(lambda: WAYS[way](pages, viewer))
    print(json.dumps([seconds, max(read_memory() - before, 100_000)]))  # noqa: T201 - its purpose


if __name__ == "__main__":
    once(*sys.argv[1:])
