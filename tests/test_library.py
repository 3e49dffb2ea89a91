"""Shipped models are found wherever the package runs from."""

from pathlib import Path

from solver_mapper import library


def test_models_are_found_in_a_checkout() -> None:
    assert library.root().is_dir()
    assert library.path("a", "b.yaml") == library.root() / "a" / "b.yaml"


def test_models_of_a_wheel_come_first(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "_models" / "kind").mkdir(parents=True)
    (tmp_path / "_models" / "kind" / "one.yaml").write_text("x: 1\n")
    monkeypatch.setattr(library, "_PACKAGE", tmp_path)
    assert library.path("kind", "one.yaml") == tmp_path / "_models" / "kind" / "one.yaml"
    assert library.names("kind") == ("one",)
    assert library.names("nothing") == ()
