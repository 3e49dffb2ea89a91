"""Merge keys, and input that is no file at all."""

from __future__ import annotations

from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.io.yaml.documents import Reader, parse
from solver_mapper.io.yaml.source import to_python

BASE = "base: &base {x: {a: 1, b: 2}, l: [1], s: 5}\n"


def read(text: str) -> object:
    return to_python(parse(text, "file.yaml"))


@pytest.mark.parametrize(
    ("key", "x", "items"),
    [
        ("<<", {"a": 10}, [2]),
        ("<<<", {"a": 10, "b": 2}, [2]),
        ("<<<<", {"a": 10, "b": 2}, [2, 1]),
    ],
)
def test_what_each_key_merges(key: str, x: object, items: object) -> None:
    merged = read(f"{BASE}own:\n  {key}: *base\n  x: {{a: 10}}\n  l: [2]\n")
    assert isinstance(merged, dict) and merged["own"] == {"x": x, "l": items, "s": 5}


def test_the_first_of_several_mappings_counts() -> None:
    merged = read("a: {<<<: [{x: {p: 1}}, {x: {p: 2, q: 3}}], y: 4}\n")
    assert merged == {"a": {"x": {"p": 1, "q": 3}, "y": 4}}


def test_what_is_marked_is_not_merged() -> None:
    merged = read(f"{BASE}own:\n  <<<: *base\n  x: !nomerge {{a: 10}}\n")
    assert isinstance(merged, dict) and merged["own"]["x"] == {"a": 10}


def test_a_list_that_is_not_merged_is_reported() -> None:
    reader = Reader()
    reader.one({"own": {"<<<": {"l": [1]}, "l": [2]}})
    assert reader.notes.lines == [
        "<python>: this list 'l' replaces the list that '<<<' would merge; write '<<<<' to have"
        " both"
    ]


def test_merge_keys_in_dicts_are_resolved() -> None:
    assert to_python(Reader().one({"own": {"<<<": {"x": {"a": 1}}, "x": {"b": 2}}})) == {
        "own": {"x": {"b": 2, "a": 1}}
    }


def test_a_merge_key_needs_a_mapping() -> None:
    with pytest.raises(
        sm.InputError, match=r"file.yaml:1:10: '<<<' must name a mapping or a list of mappings"
    ):
        read("a: {<<<: 5}\n")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, "cannot read from int: a path, an open file or a dict is needed"),
        (None, "cannot read from NoneType"),
        (
            ["a.yaml", "b.yaml"],
            (
                "cannot read from list: a path, an open file or a dict is needed; give each as an"
                " argument of its own"
            ),
        ),
    ],
)
def test_values_that_are_no_input(value: object, message: str) -> None:
    with pytest.raises(sm.InputError) as caught:
        sm.load(value)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_streams_that_give_no_text(tmp_path: Path) -> None:
    class Odd:
        name = "odd"

        def read(self) -> int:
            return 3

    with pytest.raises(sm.InputError, match="odd: what was read is int, neither text nor bytes"):
        sm.load(Odd())  # type: ignore[arg-type]


def two_files(tmp_path: Path, one: str, other: str) -> object:
    """The top levels of two files, merged."""
    files = tmp_path / "one.yaml", tmp_path / "other.yaml"
    for file, text in zip(files, (one, other), strict=True):
        file.write_text(text)
    return to_python(Reader(files).all(*files))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            "model: {verbose: True, n: [1, {a: x}]}",
            {"model": {"verbose": "True", "n": [1, {"a": "x"}]}},
        ),
        ("version: 0.3", {"version": "0.3"}),
    ],
)
def test_equal_values_of_a_key_in_two_files_count_once(
    tmp_path: Path, text: str, value: object
) -> None:
    assert two_files(tmp_path, f"{text}\n", f"# again\n{text}\n") == value


@pytest.mark.parametrize(
    "other",
    ["{verbose: False}", "{verbose: True, a: 1}", "!a {verbose: True}", "[True]", "True"],
)
def test_different_values_of_a_key_in_two_files_are_refused(tmp_path: Path, other: str) -> None:
    with pytest.raises(
        sm.InputError,
        match=r"other.yaml:2:1: 'model' is given twice with different values, first at"
        r" .*one.yaml:1:1; keep one of them",
    ):
        two_files(tmp_path, "model: {verbose: True}\n", f"\nmodel: {other}\n")


def test_a_file_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text("model: {verbose: True}\n")
    with pytest.raises(sm.InputError, match="'model' is given twice, first at"):
        Reader((file,)).all(file, file)
