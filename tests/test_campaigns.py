"""Parts of campaigns: together they are all tests, and what is no part is refused."""

from __future__ import annotations

import pytest

from tests.campaigns import part_of

TESTS = [f"test_{number}" for number in range(37)]


@pytest.mark.parametrize("parts", [1, 2, 16, 40])
def test_parts_are_all_tests_once(parts: int) -> None:
    every = [each for n in range(1, parts + 1) for each in part_of(TESTS, f"{n}/{parts}")]
    assert sorted(every) == sorted(TESTS)


def test_a_part_has_tests_from_all_over() -> None:
    assert part_of(TESTS, "3/16") == ["test_2", "test_18", "test_34"]


@pytest.mark.parametrize("part", ["0/4", "5/4", "3", "3/", "a/b", "-1/4", "1/0", "1/4 "])
def test_what_is_no_part_is_refused(part: str) -> None:
    with pytest.raises(pytest.UsageError, match=r"--part: .* is no part; --part 3/16 is the third"):
        part_of(TESTS, part)
