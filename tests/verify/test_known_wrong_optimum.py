"""A wrong optimum of the past: CP-SAT's model once took the terms of a dimension that stands twice
in a rank one by one. With that error back in a test double, the prover refutes the answer, and no
certificate of it is accepted.
"""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.core import problem as problems
from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.clock import Clock
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem, Tensor, Term
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.errors import ExactnessError
from solver_mapper.solve.certify import with_certificate
from solver_mapper.verify.bound import LowerBound
from solver_mapper.verify.boxes import Mapspace
from solver_mapper.verify.certificate_format import mapping_to_json
from solver_mapper.verify.checker import check_certificate
from solver_mapper.verify.prover import Prover
from solver_mapper.verify.target import Target


def energies(read: str, fill: str, update: str, leak: str = "0") -> AccessEnergy:
    return AccessEnergy(*map(Fraction, (read, fill, update, leak)))


def difference_of_one() -> Spec:
    """A[3M-2M+K]: a step of M moves tiles by one word, not by three or five."""
    levels = (
        Buffer("L0", address_energy=Fraction("2.37"), energy=energies("97", "128", "118.8", "3.9")),
        Buffer("L1", instances=4, mesh_x=4, energy=energies("6.87", "7.95", "0.65", "3.9")),
    )
    units = Arithmetic("MAC", instances=4, mesh_x=4, energy=Fraction("4.37"), leak=Fraction("1.95"))
    terms = (Term("M", 3), Term("M", -2), Term("K"))
    tensors = (
        Tensor("A", (terms,)),
        Tensor("B", ((Term("K"),),)),
        Tensor("Z", ((Term("M"),),), read_write=True),
    )
    problem = Problem("difference", ("M", "K"), {"M": 6, "K": 6}, tensors)
    return Spec(Architecture("two_levels", levels, units), problem)


Case = tuple[Spec, sm.Solution, Fraction]


@pytest.fixture
def case(monkeypatch) -> Case:
    """A specification, what the solver finds where the terms of a dimension are not added up, and
    what that costs."""
    with monkeypatch.context() as old:
        old.setattr(problems, "_merged", lambda rank: rank)
        # The bound without a search counts too many words then, and would tell.
        old.setattr(LowerBound, "goal_at_once", lambda self, goal: None)
        wrong = sm.solve(difference_of_one(), "energy", gap=0)
    assert wrong.status == "optimal"
    assert wrong.mapping is not None
    spec = difference_of_one()
    return spec, wrong, energy(spec, wrong.mapping)


def energy(spec: Spec, mapping: Mapping) -> Fraction:
    return evaluate(spec.need_architecture(), spec.need_problem(), mapping).energy_pj


def test_the_prover_refutes_it(case):
    spec, _, claimed = case
    target = Target(Mapspace(spec), parse_objective("energy"), (claimed,), Fraction(0))
    better = Prover(target, lambda: False).prove().better
    assert better is not None
    assert energy(spec, better) < claimed


def test_no_certificate_is_written_or_accepted(case, tmp_path: Path):
    """Neither does `solve` write one, nor does the tree of the true proof carry the wrong value."""
    (spec, wrong, claimed), path = case, tmp_path / "proof.gz"
    with pytest.raises(ExactnessError, match="finds a better mapping"):
        with_certificate(spec, wrong, path, 0.0, Clock())
    assert not path.exists()
    sm.solve(spec, "energy", certificate=path)
    assert check_certificate(spec, path).holds
    header, *nodes = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    header["incumbent"] = {"mapping": mapping_to_json(wrong.mapping), "values": [str(claimed)]}
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, [header, *nodes])).encode()))
    refused = check_certificate(spec, path)
    assert not refused.holds
    assert "better" in refused.reason
