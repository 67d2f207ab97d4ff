"""Files by URL, and a batch whose workbooks and results are in a store; a cluster that loses a worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from batchbooks import BAD, ENVIRONMENT, Waiting, book, fill, results
from click.testing import CliRunner

from planner.batch import places
from planner.batch.run import run_batch
from planner.batch.scan import scan
from planner.batch.work import BatchOptions
from planner.cli import main
from planner.issues import PlannerError

fsspec = pytest.importorskip("fsspec", reason="pip install fsspec would run this")
NO_PDF = BatchOptions(pdf=False)
BOOKS = ("a.xlsx", "team/b.xlsx", "team/b.xlsm")


@pytest.fixture
def store():
    system = fsspec.filesystem("memory")
    for name in BOOKS:
        system.pipe_file(f"/plans/{name}", book(len(name)))
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def names(scanned):
    return [found.name for found in scanned.found]


def test_a_store_is_searched_as_a_folder_is(store):
    assert names(scan(["memory://plans"], "out")) == ["a.xlsx", "team/b.xlsm", "team/b.xlsx"]
    assert names(scan(["memory://plans/*/*.xlsx"], "out")) == ["team/b.xlsx"]
    assert names(scan(["memory://plans/a.xlsx"], "out")) == ["a.xlsx"]
    store.pipe_file("/plans/out/c.xlsx", book(1))
    assert len(scan(["memory://plans"], "memory://plans/out").found) == 3
    store.pipe_file("/list.txt", b"memory://plans/a.xlsx\n")
    assert names(scan(["@memory://list.txt"], "out")) == ["a.xlsx"]
    assert [said.why for said in scan(["memory://nope"], "out").missing] == ["No workbook at memory://nope."]


def test_a_batch_in_a_store_makes_what_it_makes_here(store, tmp_path):
    for name in BOOKS:
        path = tmp_path / "plans" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.cat_file(f"/plans/{name}"))
    run_batch([tmp_path / "plans"], tmp_path / "out", asked=NO_PDF, jobs=1)
    with ThreadPoolExecutor(2) as executor:
        found = run_batch(["memory://plans"], "memory://out", asked=NO_PDF, executor=executor)
    assert found.exit_code() == 0
    assert found.written == ("memory://out/summary.xlsx",)
    there = {path.removeprefix("/out/"): store.cat_file(path) for path in store.find("/out")}
    assert {name: data for name, data in there.items() if ".results." in name} == results(tmp_path / "out")
    assert sorted(set(there) - set(results(tmp_path / "out"))) == ["planner-batch.jsonl", "summary.xlsx"]
    again = run_batch(["memory://plans"], "memory://out", asked=NO_PDF, jobs=1)
    assert all(done.kept for done in again.workbooks)
    store.pipe_file("/plans/a.xlsx", book(9))
    again = run_batch(["memory://plans"], "memory://out", asked=NO_PDF, jobs=1)
    assert [done.name for done in again.workbooks if not done.kept] == ["a.xlsx"]


def test_bad_workbooks_in_a_store_are_named_as_they_were_asked_for(store):
    for name, data, _ in BAD:
        store.pipe_file(f"/plans/{name}", data)
    store.pipe_file("/out/a.results.xlsx", b"mine")
    found = run_batch(["memory://plans"], "memory://out", asked=NO_PDF, jobs=1)
    reasons = {done.name: done.reason for done in found.workbooks if done.reason}
    assert reasons == {name: f"memory:///plans/{said}" for name, _, said in BAD} | {
        "a.xlsx": "memory:///plans/a.xlsx: memory://out/a.results.xlsx is there already and is no work of planner's; "
        "--force writes over it."
    }
    assert store.cat_file("/out/a.results.xlsx") == b"mine"


def test_a_file_url_is_a_path(tmp_path):
    plans = fill(tmp_path / "plans", "a.xlsx")
    done = CliRunner().invoke(main, ["batch", f"file://{plans}", "-o", f"file://{tmp_path}/out", "--no-pdf", "-j", "1"])
    assert done.exit_code == 0, done.output
    assert list(results(tmp_path / "out")) == ["a.results.xlsx"]


@pytest.mark.usefixtures("store")
def test_places_are_read_and_written_alike(tmp_path):
    for folder in (str(tmp_path / "here"), "memory://there"):
        place = places.join(folder, "a/b.bin")
        assert not places.exists(place)
        with pytest.raises(PlannerError, match=f"No such file: {place}."):
            places.read(place)
        assert places.sha256_at(place) == ""
        places.make_folder(places.join(folder, "a"))
        places.write(place, b"one")
        places.write(place, b"two")
        assert places.read(place) == b"two"
        assert places.exists(place)
        places.remove(place)
        places.remove(place)
        assert not places.exists(place)


def start(*words):
    return subprocess.Popen(
        [sys.executable, "-m", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT
    )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers, each a process of its own, as `dask scheduler` and `dask worker` start them."""
    pytest.importorskip("distributed", reason="pip install distributed would run this")
    file = tmp_path_factory.mktemp("cluster") / "scheduler.json"
    common = ("--scheduler-file", str(file), "--no-dashboard")
    started = [start("distributed.cli.dask_scheduler", "--port", "0", *common)]
    # They wait for the scheduler's file.
    started += [start("distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", *common) for _ in range(2)]
    deadline = time.monotonic() + 60
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < deadline, "the scheduler does not start"
        time.sleep(0.05)
    yield json.loads(file.read_text())["address"], started
    for process in reversed(started):
        process.kill()
        process.wait()


def test_a_cluster_that_loses_a_worker_does_all_the_work(cluster, tmp_path):
    address, (_, *workers) = cluster
    plans, out = fill(tmp_path / "plans", *(f"{n}.xlsx" for n in range(6))), tmp_path / "out"
    waiting = Waiting(plans / "m.xlsx")
    asked = ["planner", "batch", str(plans), "-o", str(out), "--no-pdf", "--json", "--dask", address]
    with subprocess.Popen([sys.executable, "-m", *asked], stdout=subprocess.PIPE, env=ENVIRONMENT) as batch:
        waiting.wait_for_a_reader()
        lost = waiting.reader([worker.pid for worker in workers])
        waiting.become(book(5))
        os.kill(lost, signal.SIGKILL)
        waiting.let_go()
        said, _ = batch.communicate(timeout=90)
    *lines, last = map(json.loads, said.splitlines())
    assert {line["workbook"]: line["status"] for line in lines} == {f"{n}.xlsx": "done" for n in (*range(6), "m")}
    assert last["summary"]["exit_code"] == batch.returncode == 0
    run_batch([plans], tmp_path / "here", asked=NO_PDF, jobs=1)
    assert results(out) == results(tmp_path / "here")


def impatient(plans, out, address):
    """A batch on a cluster that waits a second for its scheduler."""
    code = "from planner.batch import cluster; from planner.cli import main; cluster._PATIENCE_S = 1; main()"
    asked = [sys.executable, "-c", code, "batch", str(plans), "-o", str(out), "--no-pdf", "--dask", address]
    return subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


def test_a_scheduler_that_is_gone_or_never_was_is_said(cluster, tmp_path):
    address, (scheduler, *_) = cluster
    plans = fill(tmp_path / "plans", "a.xlsx")
    waiting = Waiting(plans / "m.xlsx")
    batch = impatient(plans, tmp_path / "out", address)
    waiting.wait_for_a_reader()
    scheduler.kill()
    _, err = batch.communicate(timeout=60)
    waiting.let_go()
    assert batch.returncode == 2
    gone = f"planner: The Dask scheduler at {address} is gone; run again to go on with what is left."
    assert gone in err.splitlines()
    batch = impatient(plans, tmp_path / "out", address)
    _, err = batch.communicate(timeout=60)
    assert batch.returncode == 2
    assert err.startswith(f"planner: No Dask scheduler answers at {address} (")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("lacking", "args", "said"),
    [
        (
            "fsspec.core",
            ["s3://team/plans"],
            "s3://team/plans is a URL, and fsspec is not installed here; pip install ",
        ),
        ("distributed", [".", "--dask", "tcp://x:1"], "--dask needs distributed; pip install "),
    ],
)
def test_what_is_not_installed_is_said(tmp_path, monkeypatch, lacking, args, said):
    fill(tmp_path, "a.xlsx")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, lacking, None)
    done = CliRunner().invoke(main, ["batch", "-o", "out", *args])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"planner: {said}'llm-capacity-planner[dask]'")


def test_an_address_that_is_none_is_said(tmp_path):
    plans = fill(tmp_path / "plans", "a.xlsx")
    done = CliRunner().invoke(main, ["batch", str(plans), "-o", str(tmp_path / "out"), "--dask", "nowhere"])
    assert done.exit_code == 2
    said = "planner: The Dask scheduler is 'nowhere'; expected an address such as tcp://host:8786.\n"
    assert done.stderr == said
