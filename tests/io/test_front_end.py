"""What Timeloop's front end makes of v0.4 files: where a split falls, keys by part of their name,
the input as `spec`, sparsity.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.core.constraints import FactorConstraint, PermutationConstraint, SplitConstraint

DESIGN = """\
architecture:
  version: 0.4
  nodes:
  - !Component {{name: DRAM, class: DRAM, attributes: {{datawidth: 8, width: 64}}}}
  - !Container
    name: PE
    spatial: {{meshX: 4, meshY: 4}}
    constraints:
      spatial: {{{spatial}}}
  - !Component {{name: RF, class: regfile, attributes: {{depth: 64, width: 8, datawidth: 8}}{more}}}
  - !Component {{name: mac, class: intmac, attributes: {{datawidth: 8}}}}
problem:
  shape: gemm-ABZ
  instance: {{M: 8, N: {n}, K: 4{facts}}}
"""


def load(
    folder: Path,
    spatial: str,
    n: int = 8,
    facts: str = "",
    more: str = "",
    extra: str = "",
    **options: bool,
) -> sm.Spec:
    file = folder / "design.yaml"
    file.write_text(DESIGN.format(spatial=spatial, n=n, facts=facts, more=more) + extra)
    spec = sm.load(file, **options)
    assert isinstance(spec, sm.Spec)
    return spec


def codes(spec: sm.Spec) -> list[str]:
    return [warning.code for warning in spec.warnings]


def test_a_split_counts_the_dimensions_of_factor_1_that_the_front_end_adds(tmp_path: Path) -> None:
    spec = load(tmp_path, "permutation: [K, M], split: 1, factors: [N=1]")
    (order,) = [
        constraint
        for constraint in spec.constraints
        if isinstance(constraint, PermutationConstraint)
    ]
    assert order.inner == ("N", "K", "M")
    assert order.text == "inter_PE_spatial spatial: permutation KM (behind N, of factor 1)"
    (warning,) = [each for each in spec.warnings if each.code == "split-position"]
    assert warning.location.line == 9
    assert "K can lie along Y only; write 'split: 2' to count the listed ones" in warning


@pytest.mark.parametrize(
    ("spatial", "n", "inner"),
    [
        ("permutation: [K, M], split: 1, factors: [N=1]", 8, ("N", "K", "M")),
        ("permutation: [K, M], split: 1", 1, ("N", "K", "M")),
        ("permutation: [N, K, M], split: 2, factors: [N=1]", 8, ("N", "K", "M")),
        ("permutation: [K, M], split: 1", 8, ("K", "M")),
        ("permutation: [K, M], factors: [N=1]", 8, ("K", "M")),
    ],
)
def test_what_stands_in_front_of_a_permutation(
    tmp_path: Path, spatial: str, n: int, inner: tuple[str, ...]
) -> None:
    spec = load(tmp_path, spatial, n)
    assert [
        constraint.inner
        for constraint in spec.constraints
        if isinstance(constraint, PermutationConstraint)
    ] == [inner]


def test_the_warning_about_a_split_comes_only_where_it_matters(tmp_path: Path) -> None:
    assert "split-position" in codes(load(tmp_path, "permutation: [K, M], split: 1", n=1))
    for quiet in (
        "permutation: [K, M], split: 0, factors: [N=1]",
        "permutation: [K, M], split: 99, factors: [N=1]",
        "permutation: [N, K, M], split: 2, factors: [N=1]",
    ):
        assert "split-position" not in codes(load(tmp_path, quiet))


def test_arithmetic_may_look_into_the_input(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        'permutation: [K, M, N], split: \'len(spec.problem.instance) - spec["problem"].instance.M'
        " + COUNT'",
        extra="variables: {COUNT: 6}\n",
    )
    assert [
        constraint.split
        for constraint in spec.constraints
        if isinstance(constraint, SplitConstraint)
    ] == [1]
    for text, message in (
        ("spec.problm.x", "there is no 'problm'; did you mean 'problem'?"),
        ("spec.problem.instance.M.x", "'x' is asked of something that is no mapping"),
        ("len(3)", "'len' needs a mapping or a list"),
        ("spec.architecture.nodes[9]", "there is no item 9"),
        ('spec.get("problm")', "'get' needs a name in quotes and a default"),
        ("spec.get(problem, 1)", "'get' needs a name in quotes and a default"),
        ('spec.problem.instance.M.get("x", 1)', "'x' is asked of something that is no mapping"),
        ("spec.problem.keys()", "only plain function calls are supported"),
    ):
        with pytest.raises(sm.InputError) as caught:
            load(tmp_path, f"split: '{text}'")
        assert message in str(caught.value) and caught.value.line == 9


@pytest.mark.parametrize(("text", "split"), [("COUNT", 2), ("OTHER", 1)])
def test_arithmetic_may_ask_for_an_entry_and_name_a_default(
    tmp_path: Path, text: str, split: int
) -> None:
    spec = load(
        tmp_path,
        f"permutation: [K, M, N], split: 'spec.variables.get(\"{text}\", ONE)'",
        extra="variables: {COUNT: 2 * ONE, ONE: 1}\n",
    )
    (found,) = (each for each in spec.constraints if isinstance(each, SplitConstraint))
    assert found.split == split


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("own(2)", "unknown function 'own'"),
        ("max(2, key=1)", "only plain function calls are supported"),
    ],
)
def test_functions_of_python_files_are_not_run(tmp_path: Path, text: str, message: str) -> None:
    extra = "globals: {version: 0.4, expression_custom_functions: [own.py]}\n"
    with pytest.raises(sm.InputError) as caught:
        load(tmp_path, f"split: '{text}'", extra=extra)
    assert caught.value.message.endswith(
        f"{message}, and the Python files of 'expression_custom_functions' are not run"
    )
    assert caught.value.hint == (
        "give the input that the front end hands to Timeloop ('parsed-processed-input.yaml')"
    )


def test_top_level_keys_are_known_by_a_part_of_their_name(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        "factors: [N=1]",
        extra=(
            "extra_mapping_constraints: {version: 0.4, targets: [{target: RF, type: temporal,"
            " factors: [K=4]}]}\nmy_variables: {version: 0.4, X: 1}\nold_globals:"
            " {}\nmore_components: []\nignored_text: &a {}\n"
        ),
    )
    assert FactorConstraint("RF", "", "temporal", "K", "==", 4) in spec.constraints


SPARSE = ", sparse_optimizations: {action_optimization: []}"


def test_sparse_designs_are_dense_on_request(tmp_path: Path) -> None:
    with pytest.raises(
        sm.InputError,
        match="sparse optimizations are not modelled; --ignore-sparse leaves them out",
    ):
        load(tmp_path, "factors: [N=1]", more=SPARSE)
    spec = load(
        tmp_path, "factors: [N=1]", more=SPARSE, facts=", densities: {A: 0.5}", ignore_sparse=True
    )
    assert codes(spec).count("sparse-ignored") == 2
    assert "densities other than 1 in 'densities' are left out: all tensors are dense" in "\n".join(
        spec.warnings
    )
    result = CliRunner().invoke(app, ["solve", str(tmp_path / "design.yaml"), "--ignore-sparse"])
    assert result.exit_code == 0 and "[sparse-ignored]" in result.stderr
    result = CliRunner().invoke(app, ["solve", str(tmp_path / "design.yaml")])
    assert result.exit_code == 2 and "--ignore-sparse" in result.stderr


def test_coefficients_in_another_letter_case_are_not_read_and_said(tmp_path: Path) -> None:
    file = tmp_path / "layer.yaml"
    file.write_text(
        "problem:\n  shape: cnn-layer\n  instance: {R: 1, S: 1, P: 2, Q: 2, C: 1, K: 1, N: 1,"
        " WStride: 2, H: 4, Wpad: 0}\n"
    )
    spec = sm.load(file)
    assert codes(spec) == ["misspelt-coefficient"]
    assert (
        "'WStride' is not read, as in Timeloop: 'Wstride' stays 1; did you mean 'Wstride'?"
        in spec.warnings[0]
    )
    file.write_text(
        "problem:\n  shape: cnn-layer\n  instance: {R: 1, S: 1, P: 2, Q: 2, C: 1, K: 1, N: 1,"
        " Wtsride: 2}\n"
    )
    with pytest.raises(sm.InputError, match="did you mean 'Wstride'"):
        sm.load(file)


def test_flattened_architectures_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "flat.yaml"
    file.write_text("architecture: {version: 0.4, local: []}\n")
    with pytest.raises(
        sm.InputError, match="was flattened by Accelergy, which is a result and no input"
    ):
        sm.load(file)
