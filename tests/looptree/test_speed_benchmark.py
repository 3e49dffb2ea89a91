"""The timing comparison runs alone and beside a peer, and says whether both sides found the same
optimum.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def rows(*arguments: str) -> list[list[str]]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "looptree_speed.py"), *arguments],
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def stand_in(folder: Path, value: float) -> Path:
    """An interpreter that answers every file with one and the same optimum, after 8 seconds."""
    program = folder / "peer"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\nfor case in json.load(sys.stdin):"
        f" print(json.dumps({{'value': {value}, 'seconds': 8.0}}))\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program


def test_without_a_peer_it_prints_optima_and_our_seconds():
    titles, energy = rows("simple/64x64x64/energy")
    assert titles[:2] == ["case", "optimum"] and energy[:2] == [
        "simple/64x64x64/energy",
        "1.854669e+07",
    ]


def test_beside_a_peer_it_prints_the_ratio_and_whether_optima_agree(tmp_path: Path):
    (_, same), (_, other) = (
        rows("simple/64x64x64/energy", "--peer-python", str(stand_in(tmp_path, value)))
        for value in (18546688.0, 20401356.8)
    )
    assert (
        same[3] == "8.00"
        and abs(float(same[4]) - float(same[2]) / 8) < 0.002
        and same[5:] == ["equal"]
    )
    assert other[5:] == ["differs:", "+10.00%"]


def test_the_array_can_be_asked_to_be_full():
    full = {line[0] for line in rows("--list") if "-full" in line[0]}
    assert full == {"eyeriss-full/112x96x128/edp", "eyeriss-full/448x768x3072/edp"}
    _, row = rows("eyeriss-full/112")
    assert row[0] == "eyeriss-full/112x96x128/edp"
