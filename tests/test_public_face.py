"""What other programs import."""

import solver_mapper


def test_all_is_sorted_and_complete():
    """`__all__` names every public thing that the package itself imports, in order, and nothing
    else.
    """
    names = {
        n
        for n, v in vars(solver_mapper).items()
        if not n.startswith("_") and type(v).__name__ != "module"
    }
    assert sorted(names) == solver_mapper.__all__
