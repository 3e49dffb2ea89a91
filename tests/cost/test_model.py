"""The cost model on designs small enough to count by hand."""

from fractions import Fraction

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.mapping import LevelMapping, Mapping, loop
from solver_mapper.core.problem import Problem, Tensor, Term
from solver_mapper.cost.timeloop import evaluate
from solver_mapper.cost.timeloop.legality import violations

ALL = frozenset({"A", "B", "Z"})
MATMUL = Problem(
    "matmul",
    ("M", "N", "K"),
    {"M": 4, "N": 6, "K": 8},
    (
        Tensor("A", ((Term("M"),), (Term("K"),))),
        Tensor("B", ((Term("K"),), (Term("N"),))),
        Tensor("Z", ((Term("M"),), (Term("N"),)), read_write=True),
    ),
)


def machine(entries: int = 64, instances: int = 1) -> Architecture:
    price = AccessEnergy(Fraction(2), Fraction(3), Fraction(5))
    dram = Buffer("DRAM", energy=price, reduction_supported=False)
    return Architecture(
        "small",
        (dram, Buffer("RF", entries, instances, instances, energy=price)),
        Arithmetic("MAC", instances, instances, energy=Fraction(1)),
    )


def test_each_tensor_moves_once_per_relevant_iteration_outside_its_tile() -> None:
    mapping = Mapping(
        (
            LevelMapping("DRAM", (loop("K", 8), loop("N", 3), loop("M", 2)), (), ALL),
            LevelMapping("RF", (loop("N", 2), loop("M", 2)), (), ALL),
        )
    )
    statistics = evaluate(machine(), MATMUL, mapping)
    rf = statistics.levels["RF"].tensors
    assert (rf["A"].fills, rf["B"].fills) == (8 * 3 * 2 * 2, 8 * 3 * 2)
    assert (rf["Z"].tile, rf["Z"].updates, rf["Z"].reads, rf["Z"].fills) == (
        4,
        192,
        192 - 24,
        8 * 24 - 24,
    )
    dram = statistics.levels["DRAM"].tensors["Z"]
    assert (dram.reads, dram.fills, dram.updates) == (8 * 24 - 24, 0, 8 * 24)
    assert statistics.cycles == 192


def test_a_multicast_reads_once_and_a_spatial_reduction_updates_once() -> None:
    mapping = Mapping(
        (
            LevelMapping("DRAM", (), (loop("K", 8, "X"),), ALL),
            LevelMapping("RF", (loop("M", 4), loop("N", 6)), (), ALL),
        )
    )
    statistics = evaluate(machine(instances=8), MATMUL, mapping)
    z = statistics.networks["DRAM <==> RF"].tensors["Z"]
    assert (z.multicast, statistics.levels["DRAM"].tensors["Z"].updates) == (8, 24)
    assert statistics.levels["DRAM"].tensors["A"].reads == 32
    assert statistics.levels["RF"].tensors["A"].fills == 4


def test_a_violation_names_the_level_and_shows_the_arithmetic() -> None:
    mapping = Mapping(
        (
            LevelMapping("DRAM", (), (), ALL),
            LevelMapping("RF", (loop("M", 4), loop("N", 6), loop("K", 8)), (), ALL),
        )
    )
    (found,) = violations(machine(), MATMUL, mapping)
    assert found.rule == "capacity"
    assert found.message == "RF: the tiles of A (32), B (48) and Z (24) need 104 words; 64 fit"
