"""Templates: the functions that front ends give them, variables, where included files may lie, and
positions in messages.
"""

from __future__ import annotations

import io
import json
from os.path import relpath
from pathlib import Path

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.io.templates import TemplateOptions, is_template, variable_of
from solver_mapper.io.yaml.documents import Reader
from solver_mapper.io.yaml.source import to_python

TOP = """\
{{add_to_path(cwd() ~ '/parts')}}
{% set layer = layer | default('layer.yaml') %}
problem: {{include(layer, 'problem')}}
architecture: {{include(design ~ '/arch.yaml', 'architecture')}}
{% if path_exists(design ~ '/mapping.yaml') %}
mapping: {{include(design ~ '/mapping.yaml', 'mapping')}}
{% endif %}
components:
  version: 0.4
  classes: {{include_all('components/*.yaml', 'compound_components.classes')}}
"""
BASE = """\
shape_ignored: &base
  instance: {M: 1, K: 1, N: 1}
  shape:
    name: gemm
    dimensions: [M, K, N]
    data_spaces:
    - {name: A, projection: [[[M]], [[K]]]}
    - {name: B, projection: [[[K]], [[N]]]}
    - {name: Z, projection: [[[M]], [[N]]], read_write: true}
"""
LAYER = """\
{{include_text('../base.yaml')}}
problem:
  <<<: *base
  instance: {M: 4, K: {{k | default(2)}}}
"""
ARCH = """\
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 16}}
  - !Component
    name: buffer
    class: smartbuffer_SRAM
    attributes: {depth: {{depth}}, width: 16, datawidth: 16}
  - !Component {name: mac, class: intmac, attributes: {datawidth: 16}}
"""
CLASS = "compound_components: {version: 0.4, classes: [{name: thing}]}\n"


@pytest.fixture
def design(tmp_path: Path) -> Path:
    """A folder like those of public designs: a top file, parts in folders beside it."""
    files = {
        "top.yaml.jinja2": TOP,
        "base.yaml": BASE,
        "parts/layer.yaml": LAYER,
        "parts/components/a.yaml": CLASS,
        "small/arch.yaml": ARCH,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def read(text: str, folder: Path, **variables: object) -> object:
    file = folder / "file.yaml"
    file.write_text(text)
    return to_python(Reader((file,), TemplateOptions(variables)).all(file))


def refusal(text: str, folder: Path, **variables: object) -> str:
    with pytest.raises(sm.InputError) as caught:
        read(text, folder, **variables)
    # Paths are shown from the working directory where that is near.
    return str(caught.value).replace(f"{relpath(folder)}/", "").replace(f"{folder}/", "")


def test_a_design_of_many_files_loads(design: Path) -> None:
    spec = sm.load(design / "top.yaml.jinja2", variables={"design": "small", "depth": 8, "k": 6})
    assert isinstance(spec, sm.Spec)
    assert spec.need_problem().bounds == {"M": 4, "K": 6, "N": 1}
    assert [level.entries for level in spec.need_architecture().levels] == [None, 8]
    assert spec.mapping is None


def test_the_command_line_sets_variables(design: Path) -> None:
    words = [
        "solve",
        str(design / "top.yaml.jinja2"),
        "-D",
        "design=small",
        "-D",
        "depth=8",
        "--json",
    ]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["evaluation"]["macs"] == 8


def test_positions_point_into_the_file_that_has_the_mistake(design: Path) -> None:
    (design / "small/arch.yaml").write_text(ARCH.replace("class: intmac", "class: intmca"))
    with pytest.raises(sm.InputError) as caught:
        sm.load(design / "top.yaml.jinja2", variables={"design": "small", "depth": 8})
    line = ARCH[: ARCH.index("intmac")].count("\n") + 1
    assert (Path(caught.value.file).name, caught.value.line, caught.value.column) == (
        "arch.yaml",
        line,
        35,
    )


def test_the_place_of_a_value_is_that_of_the_expression_that_renders_it(design: Path) -> None:
    with pytest.raises(
        sm.InputError, match="'depth' of storage level 'buffer' must be a number"
    ) as caught:
        sm.load(design / "top.yaml.jinja2", variables={"design": "small", "depth": "many"})
    assert (caught.value.line, caught.value.column) == (8, ARCH.split("\n")[7].index("{{") + 1)


def test_loops_give_every_copy_the_place_of_the_loop_body(tmp_path: Path) -> None:
    text = "{% for i in range(2) %}\nkey{{i}}: {a: 1}\n{% endfor %}\nkey1: 2\n"
    assert refusal(text, tmp_path) == "file.yaml:4:1: 'key1' is given twice, first at file.yaml:2:1"


def test_yaml_mistakes_in_rendered_text_are_shown(tmp_path: Path) -> None:
    message = refusal("a: 1\nb: {{value}}\n", tmp_path, value="[1, 2")
    assert message.startswith("file.yaml:2:4: not valid YAML: expected ',' or ']'")
    message = refusal("a: 1\nb: {{value}} d: 3\n", tmp_path, value="c:")
    assert (
        message == "file.yaml:2:4: not valid YAML: mapping values are not allowed here; "
        "the template renders 'b: c: d: 3' here"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: {{x}}\n",
            (
                "file.yaml:1:6: in this template 'x' is undefined; set it with -D x=VALUE (Python:"
                " variables={'x': ...})"
            ),
        ),
        (
            "a: 1\n{% if %}\n",
            (
                "file.yaml:2: not a valid Jinja2 template: Expected an expression, got 'end of"
                " statement block'"
            ),
        ),
        (
            "a: 1\n{% assert 1 > 2, 'one is small' %}\n",
            "file.yaml:2: the template refuses this: one is small",
        ),
        ("a: 1\nb: {{1 / 0}}\n", "file.yaml:2: the template fails: division by zero"),
        ("a: 1\nb: {{include('file.yaml')}}\n", "file.yaml:2: 'file.yaml' includes itself"),
        (
            "a: {{'x'.__class__.__mro__}}\n",
            (
                "file.yaml:1: the template fails: access to attribute '__class__' of 'str' object"
                " is unsafe."
            ),
        ),
        (
            "a: {{'x' * 100000000}}\n",
            "file.yaml:1: the template fails: the repeated value is too long",
        ),
        ("a: {{7 ** 100000}}\n", "file.yaml:1: the template fails: the power is too large"),
        (
            "a: !include_loaded nothing\nb: {{1}}\n",
            (
                "file.yaml:1:4: '!include_loaded' stands for files that templates include; there is"
                " none called 'nothing'"
            ),
        ),
    ],
)
def test_what_templates_can_get_wrong(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(text, tmp_path).replace(str(tmp_path), ".") == message


def test_a_variable_that_is_misspelt_is_recognised(tmp_path: Path) -> None:
    assert refusal("a: {{depth}}\n", tmp_path, dpeth=3).endswith(
        "-D sets 'dpeth': did you mean 'depth'?"
    )


def test_a_missing_file_is_named_with_one_that_is_alike(tmp_path: Path) -> None:
    (tmp_path / "layer_1.yaml").write_text("a: 1\n")
    message = refusal("a: {{include('layer1.yaml')}}\n", tmp_path)
    assert message.startswith("file.yaml:1: no file 'layer1.yaml' in ") and message.endswith(
        "; did you mean 'layer_1.yaml'?"
    )
    (tmp_path / "14.yaml").write_text("a: 1\n")
    (tmp_path / "04.yaml").write_text("a: 1\n")
    message = refusal("a: {{include('4.yaml')}}\n", tmp_path)
    assert message.endswith("; did you mean '04.yaml'?")


def test_a_key_that_the_included_file_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("a: {b: 1}\n")
    message = refusal("x: {{include('other.yaml', 'a.c')}}\n", tmp_path)
    assert message.startswith(
        "file.yaml:1:4: the included file has no 'c' (of 'a.c'); see"
    ) and message.endswith("it has b")


def test_files_elsewhere_are_not_included(tmp_path: Path) -> None:
    (tmp_path / "design").mkdir()
    (tmp_path / "secret.yaml").write_text("word: 1\n")
    file = tmp_path / "design" / "top.yaml"
    for function in ("include", "include_text", "include_all"):
        file.write_text(f"a: {{{{{function}('../secret.yaml')}}}}\n")
        with pytest.raises(sm.InputError, match="must not be included: it lies outside"):
            sm.load(file)
    (tmp_path / "design" / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    file.write_text("a: {{include('link.yaml')}}\n")
    with pytest.raises(sm.InputError, match="must not be included"):
        sm.load(file)
    reader = Reader((file,), TemplateOptions(include_dirs=(str(tmp_path),)))
    assert to_python(reader.one(file)) == {"a": {"word": 1}}
    with pytest.raises(sm.InputError, match="not a folder"):
        sm.load(file, include_dirs=[str(tmp_path / "nowhere")])


def test_a_file_named_by_a_variable_may_be_included(tmp_path: Path) -> None:
    for name in ("design", "layers"):
        (tmp_path / name).mkdir()
    (tmp_path / "base.yaml").write_text("size: 3\n")
    (tmp_path / "layers" / "one.yaml").write_text("{{include_text('../base.yaml')}}\nname: one\n")
    file = tmp_path / "design" / "top.yaml"
    file.write_text("layer: {{include(layer)}}\n")
    reader = Reader((file,), TemplateOptions({"layer": "../layers/one.yaml"}))
    assert to_python(reader.one(file)) == {"layer": {"size": 3, "name": "one"}}


def test_included_files_see_variables_and_what_they_are_given(tmp_path: Path) -> None:
    (tmp_path / "child.yaml").write_text("sum: {{x + y + z}}\n")
    text = (
        "{% set y = 20 %}\n{% set part = include('child.yaml', '', z=300) %}\nsum:"
        " {{part}}.sum\nall: [{{part}}.sum, 1]\n"
    )
    assert read(text, tmp_path, x=1) == {"sum": 321, "all": [321, 1]}
    assert "'y' is undefined" in refusal(
        text.replace("z=300", "inherit_parse_data=False, z=300"), tmp_path, x=1
    )


def test_the_other_functions(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for name in ("p.yaml", "q.yaml"):
        (tmp_path / "parts" / name).write_text(f"name: {name}\n")
    text = (
        "{{setenv('A', 'b')}}\n{{add_to_path('parts')}}\nhere: {{cwd()}}\none:"
        " {{find_path('p.yaml')}}\nall: {{find_paths('*.yaml') | length}}\nnames:"
        " {{include_all('[pq].yaml', 'name')}}\n"
    )
    parts = (tmp_path / "parts").resolve()
    assert read(text, tmp_path) == {
        "here": str(tmp_path.resolve()),
        "one": str(parts / "p.yaml"),
        "all": 3,
        "names": ["p.yaml", "q.yaml"],
    }
    assert "names 2 files; use include_all for all of them" in refusal(
        "a: {{include('parts/*.yaml')}}\n", tmp_path
    )


def test_text_that_many_files_include_may_define_its_anchors_again(tmp_path: Path) -> None:
    (tmp_path / "anchor.yaml").write_text("- &x 1\n")
    text = "a:\n{{include_text('anchor.yaml')}}\nb:\n{{include_text('anchor.yaml')}}\nc: *x\n"
    assert read(text, tmp_path) == {"a": [1], "b": [1], "c": 1}


def test_which_files_are_templates(tmp_path: Path) -> None:
    assert (
        is_template("a.yaml.j2", "a: 1")
        and is_template("a.JINJA", "")
        and is_template("a.yaml", "a: {{x}}")
    )
    assert not is_template("a.yaml", "a: 1 # plain") and not is_template(
        "a.yaml", "# write {{x}} for x\na: 1"
    )
    assert read("# write {{x}} for x\na: 1\n", tmp_path) == {"a": 1}


def test_streams_are_templates_too() -> None:
    reader = Reader((), TemplateOptions({"x": 5}))
    assert to_python(reader.one(io.StringIO("a: {{x + 1}}"))) == {"a": 6}


def test_output_is_bounded(tmp_path: Path) -> None:
    text = (
        "a: 1\n{% for i in range(999) %}{% for j in range(999) %}# {{ 'comment' * 99 }}\n"
        "{% endfor %}{% endfor %}"
    )
    assert "renders more than" in refusal(text, tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}", "steps"),
        (
            "{% set n = namespace(a='x') %}{% for i in range(60) %}{% set n.a = n.a ~ n.a %}"
            "{% endfor %}",
            "the joined value is too long",
        ),
        ("{{ 'x' | center(2000000000) }}", "a number given to 'center' is too large"),
        ("{{ '{:2000000000}'.format(1) }}", "the width in this format is too large"),
        ("{{ ('x' * 9999).replace('x', 'y' * 9999) }}", "what 'replace' makes is too long"),
    ],
)
def test_templates_end_in_bounded_time_and_memory(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(f"a: 1\n{text}\n", tmp_path)


def test_large_numbers_are_values_to_filters_that_make_nothing_of_their_size(
    tmp_path: Path,
) -> None:
    text = (
        "{% set sizes = [2 ** 30, 2 ** 40] %}"
        "a: {{ 2 ** 40 | default('inf') }}\nb: {{ sizes | max }}\n"
        "c: {{ (2 ** 40 / 3) | round(1) }}\n"
        "d: {{ (2 ** 40) | round | int }}\n"
    )
    assert read(text, tmp_path) == {"a": 2**40, "b": 2**40, "c": "366503875925.3", "d": 2**40}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ size | default('inf') }}", 134217728),
        ("{{ nothing | default(134217728) }}", 134217728),
        ("{{ (size / 2) | int }}", 67108864),
        ("{{ size | round }}", 134217728),
        ("{{ '%d' | format(size) }}", 134217728),
        ("{{ [size, 5] | select('gt', 8388608) | list }}", [134217728]),
    ],
)
def test_filters_take_numbers_of_any_size(tmp_path: Path, text: str, value: object) -> None:
    """A filter that makes nothing large of a large number, such as the size of a memory, is not
    refused.
    """
    (tmp_path / "file.yaml").write_text(f"a: {text}\n", encoding="utf-8")
    reader = Reader((), TemplateOptions({"size": 134217728}))
    assert to_python(reader.one(tmp_path / "file.yaml")) == {"a": value}


def test_whitespace_control_works_as_in_jinja(tmp_path: Path) -> None:
    text = (
        "a: [\n  {%- for i in range(3) -%}\n  {{ i }},\n  {%- endfor -%}\n]\nb: {% set t %}x{{1}}{%"
        " endset %}{{t == 'x1'}}\n"
    )
    assert read(text, tmp_path) == {"a": [0, 1, 2], "b": "True"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n=4", 4),
        ("x=1e-9", 1e-9),
        ("b=true", True),
        ("b=True", True),
        ("f=False", False),
        ("w=eyeriss", "eyeriss"),
        ("l=[1, 2]", [1, 2]),
        ("p=a=b", "a=b"),
        ("e=", ""),
        ("z=007", "007"),
    ],
)
def test_values_of_variables(text: str, value: object) -> None:
    assert variable_of(text)[1] == value


@pytest.mark.parametrize("text", ["n", "=3", "1n=3", ""])
def test_definitions_that_are_none(text: str) -> None:
    with pytest.raises(sm.InputError, match="does not set a variable; write -D NAME=VALUE"):
        variable_of(text)


def test_variables_without_use_are_reported(design: Path) -> None:
    top = str(design / "top.yaml.jinja2")
    words = ["space", top, "-D", "design=small", "-D", "depth=8", "-D", "layr=layer.yaml"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0
    assert "-D: no template uses the variable 'layr'; did you mean 'layer'?" in result.stderr
    result = CliRunner().invoke(app, ["space", top, "-D", "design=small", "-D", "design=large"])
    assert result.exit_code == 2 and "the variable 'design' is set twice" in result.stderr
