"""The store of results: what is put in comes out, and a file that is no store is refused."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.io import bundled
from solver_mapper.study.execution.job import Job, SearchOptions
from solver_mapper.study.execution.record import Record
from solver_mapper.study.execution.store import APPLICATION, MIGRATIONS, Store
from tests.study.commands import run
from tests.study.test_networks import ARCHITECTURE, LAYERS


@pytest.fixture(scope="module")
def spec() -> sm.Spec:
    loaded = sm.load(*bundled.resolve("three_level", "tiny/mm8"))
    assert isinstance(loaded, sm.Spec)
    return loaded


@pytest.fixture(scope="module")
def record(spec: sm.Spec) -> Record:
    return Record.of(sm.solve(spec), None)


def unproven(record: Record, worse: int, bound: Fraction, allowance: float) -> Record:
    assert record.rank is not None
    told = record.solution["objective"] | {"gap": 0.5}
    return replace(
        record,
        status="feasible",
        rank=record.rank * worse,
        bound_rank=bound,
        allowance=allowance,
        solution=record.solution | {"objective": told},
    )


def test_a_record_comes_back_as_it_was_put(tmp_path: Path, record: Record) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        assert store.get("a") is None
        assert store.put("a", "layer", record) == record
    with Store(tmp_path / "s.sqlite") as again:
        assert again.get("a") == record
        assert len(again) == 1


def test_the_file_says_whose_it_is(tmp_path: Path) -> None:
    Store(tmp_path / "s.sqlite").close()
    with sqlite3.connect(tmp_path / "s.sqlite") as db:
        assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
        assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_a_proven_answer_is_not_replaced_by_an_unproven_one(record: Record) -> None:
    with Store() as store:
        store.put("a", "layer", record)
        assert store.put("a", "layer", unproven(record, 2, Fraction(1), 1.0)) == record


def test_of_two_unproven_answers_the_better_mapping_and_the_higher_bound_are_kept(
    record: Record,
) -> None:
    assert record.rank is not None
    with Store() as store:
        store.put("a", "layer", unproven(record, 3, record.rank / 2, 1.0))
        kept = store.put("a", "layer", unproven(record, 2, record.rank / 4, 5.0))
        assert (kept.rank, kept.bound_rank, kept.allowance) == (
            2 * record.rank,
            record.rank / 2,
            5.0,
        )
        assert kept.solution["objective"]["gap"] == 0.75
        assert kept.solution["objective"]["bound"] <= record.rank / 2
        assert store.get("a") == kept


@pytest.mark.parametrize(
    ("allowance", "limit", "enough"),
    [
        (5.0, 5.0, True),
        (5.0, 4.0, True),
        (5.0, 6.0, False),
        (5.0, None, False),
        (None, None, True),
        (None, 3.0, True),
    ],
)
def test_an_unproven_answer_suffices_for_a_limit_that_is_not_longer(
    record: Record, allowance: float | None, limit: float | None, enough: bool
) -> None:
    assert replace(record, status="feasible", allowance=allowance).satisfies(limit) is enough


def test_a_record_whose_figures_are_not_those_of_its_mapping_is_refused(
    spec: sm.Spec, record: Record
) -> None:
    record.verified(spec)
    assert record.energy is not None
    with pytest.raises(sm.ExactnessError, match="figures that are stored"):
        replace(record, energy=record.energy + 1).verified(spec)
    other = sm.load(*bundled.resolve("three_level", "tiny/mm12"))
    assert isinstance(other, sm.Spec)
    with pytest.raises(sm.ExactnessError):
        record.verified(other)


def test_text_that_is_no_record_counts_as_missing(tmp_path: Path, record: Record) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.put("a", "layer", record)
    for text in ("", "{}", "[1]", record.to_json().replace('"rank":"', '"rank":"x')):
        with sqlite3.connect(tmp_path / "s.sqlite") as db:
            db.execute("UPDATE solutions SET record = ?", (text,))
        db.close()
        with Store(tmp_path / "s.sqlite") as store:
            assert store.get("a") is None


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.sqlite"
    text.write_text("problem: {shape: gemm}\n" * 100)
    with pytest.raises(sm.InputError, match=r"text\.sqlite: cannot be used as a store of results"):
        Store(text)
    with sqlite3.connect(tmp_path / "other.sqlite") as db:
        db.execute("CREATE TABLE mine (a)")
    db.close()
    with pytest.raises(sm.InputError, match="not a store of results"):
        Store(tmp_path / "other.sqlite")
    with pytest.raises(sm.InputError, match="cannot be used as a store"):
        Store(tmp_path / "none" / "s.sqlite")


def test_a_store_of_a_later_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    Store(tmp_path / "s.sqlite").close()
    with sqlite3.connect(tmp_path / "s.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(
        sm.InputError, match=f"schema version 99; this program knows up to {len(MIGRATIONS)}"
    ):
        Store(tmp_path / "s.sqlite")


@pytest.mark.parametrize("version", range(len(MIGRATIONS)))
def test_a_store_of_an_earlier_version_is_brought_up_to_date(
    tmp_path: Path, record: Record, version: int
) -> None:
    """Whatever an earlier schema held is there afterwards."""
    with sqlite3.connect(tmp_path / "s.sqlite") as db:
        for step in MIGRATIONS[:version]:
            db.execute(step)
        if version:
            db.execute(
                "INSERT INTO solutions VALUES ('old', 'layer', 'optimal', ?, '')",
                (record.to_json(),),
            )
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    with Store(tmp_path / "s.sqlite") as store:
        assert store.get("old") == (record if version else None)
        store.put("new", "layer", record)
    with sqlite3.connect(tmp_path / "s.sqlite") as db:
        assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_several_writers_share_a_file(tmp_path: Path, record: Record) -> None:
    """Each opens the file for itself, at the same time, also when there is none yet."""

    def write(writer: int) -> None:
        with Store(tmp_path / "s.sqlite") as store:
            for number in range(10):
                store.put(f"{writer}/{number}", "layer", record)
                store.put(f"all/{number}", "layer", record)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    with Store(tmp_path / "s.sqlite") as store:
        assert len(store) == 50


def test_opening_a_new_file_waits_for_another_that_is_making_it(tmp_path: Path) -> None:
    def first() -> None:
        Store(tmp_path / "s.sqlite").close()

    with sqlite3.connect(tmp_path / "s.sqlite", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as pool:
            opening = pool.submit(first)
            with pytest.raises(TimeoutError):
                opening.result(timeout=0.2)
            other.execute("COMMIT")
            opening.result()


def test_keys_depend_on_what_decides_the_answer_and_on_nothing_else() -> None:
    def key(*files: str, **options: object) -> str:
        spec = sm.load(*bundled.resolve(*files))
        assert isinstance(spec, sm.Spec)
        return Job.of("name", spec, SearchOptions(**options)).digest  # type: ignore[arg-type]

    same = key("three_level", "resnet50/layer1.0.conv1_1x1")
    assert same == key("three_level", "resnet50/layer1.0.conv1_1x1")
    others = [
        key("eyeriss", "resnet50/layer1.0.conv1_1x1"),
        key("three_level", "resnet50/layer1.x.conv2_3x3"),
        key("three_level", "resnet50/layer1.0.conv1_1x1", objective=("energy",)),
        key("three_level", "resnet50/layer1.0.conv1_1x1", seed=1),
    ]
    assert len({same, *others}) == 5


def full(path: Path) -> Store:
    """A store that can grow no further, as on a full disk."""
    store = Store(path)
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    return store


def test_answers_that_cannot_be_stored_are_given_all_the_same(tmp_path: Path) -> None:
    """A network and a sweep go on when the store is full, and say that it was."""
    with full(tmp_path / "a.sqlite") as store:
        network = sm.solve_network(ARCHITECTURE, LAYERS, store=store)
    assert network.status == "optimal" and network.totals.proven
    assert "full" in str(network.unstored)
    plan = {
        "sweep": {
            "architecture": "three_level",
            "workloads": ["tiny/mm8"],
            "parameters": {"GLB.entries": [1024, 2048]},
        }
    }
    with full(tmp_path / "b.sqlite") as store:
        sweep = sm.sweep(plan, store=store)
    assert sweep.status == "complete" and "full" in str(sweep.unstored)


def test_the_command_prints_the_answer_and_ends_with_2_when_the_store_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer and the other files are there; what was lost is said."""

    def no_room(self: Store, digest: str, name: str, record: Record) -> Record:
        raise sm.InputError("cannot be used as a store of results (database or disk is full)")

    monkeypatch.setattr(Store, "put", no_room)
    code, printed, said = run("solve", "eyeriss", "tiny", "-o", tmp_path / "out")
    assert code == 2 and "total" in printed
    assert "database or disk is full" in said
    assert (tmp_path / "out" / "layers.csv").is_file()
