"""A wrong optimum of the past: CP-SAT's model took A[M+M+K] for symmetric in M and K, as its
reductions looked at sets of terms. With that error back in a test double, the prover refutes the
answer, and no certificate of it is accepted.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.core import problem as problems
from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.clock import Clock
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem, Tensor, Term
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.errors import ExactnessError
from solver_mapper.solve.certify import with_certificate
from solver_mapper.verify.boxes import Mapspace
from solver_mapper.verify.certificate_format import mapping_to_json
from solver_mapper.verify.checker import check_certificate
from solver_mapper.verify.prover import Prover
from solver_mapper.verify.target import Target

ARCHITECTURE = Architecture(
    "two_levels",
    (
        Buffer("L0", energy=AccessEnergy(*map(Fraction, ("39.4", "144.2", "8.8")))),
        Buffer(
            "L1",
            entries=24,
            instances=2,
            mesh_x=2,
            energy=AccessEnergy(*map(Fraction, ("5.18", "2.14", "4.1"))),
        ),
    ),
    Arithmetic("MAC", instances=8, mesh_x=8, energy=Fraction("1.96")),
)


def specification() -> Spec:
    terms = (Term("M"), Term("M"), Term("K"))
    tensors = (
        Tensor("A", (terms,)),
        Tensor("Z", ((Term("M"),), (Term("K"),)), read_write=True),
    )
    return Spec(ARCHITECTURE, Problem("double", ("M", "K"), {"M": 9, "K": 9}, tensors))


@pytest.fixture
def wrong(monkeypatch) -> sm.Solution:
    """What the solver finds where the terms of a dimension are not added up."""
    with monkeypatch.context() as old:
        old.setattr(problems, "_merged", lambda rank: rank)
        spec = specification()
        solution = sm.solve(spec, "energy", gap=0)
    assert solution.status == "optimal"
    return solution


def test_the_prover_refutes_it(wrong):
    spec = specification()
    statistics = evaluate(ARCHITECTURE, spec.need_problem(), wrong.mapping)
    target = Target(Mapspace(spec), parse_objective("energy"), (statistics.energy_pj,), Fraction(0))
    better = Prover(target, lambda: False).prove().better
    assert better is not None
    found = evaluate(ARCHITECTURE, spec.need_problem(), better)
    assert found.energy_pj < statistics.energy_pj


def test_no_certificate_is_written_or_accepted(wrong, tmp_path: Path):
    """Neither does `solve` write one, nor does the tree of the true proof carry the wrong value."""
    spec, path = specification(), tmp_path / "proof.gz"
    with pytest.raises(ExactnessError, match="finds a better mapping"):
        with_certificate(spec, replace(wrong), path, 0.0, Clock())
    assert not path.exists()
    sm.solve(spec, "energy", certificate=path)
    assert check_certificate(spec, path).holds
    header, *nodes = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    statistics = evaluate(ARCHITECTURE, spec.need_problem(), wrong.mapping)
    header["incumbent"] = {
        "mapping": mapping_to_json(wrong.mapping),
        "values": [str(statistics.energy_pj)],
    }
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, [header, *nodes])).encode()))
    refused = check_certificate(spec, path)
    assert not refused.holds
    assert "better" in refused.reason
