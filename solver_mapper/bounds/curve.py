"""Curves of buffer size against least accesses, and everything that can be read off one."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar, cast

from solver_mapper.bounds.roofline import Roofline
from solver_mapper.core.results.chart import Chart
from solver_mapper.core.results.rendering import chart_of, svg_of
from solver_mapper.core.results.shown import Shown


class CurvePoint(Protocol):
    """One step. With `buffer` units of space or more, `accesses` units of traffic are enough, and
    fewer are not.
    """

    @property
    def buffer(self) -> int:
        """Space, in the curve's units."""

    @property
    def accesses(self) -> int:
        """Traffic, in the curve's units."""

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""

    def summary(self) -> Mapping[str, str]:
        """The example mapping in a few words, by column."""
        ...


P = TypeVar("P", bound=CurvePoint)


@dataclass(frozen=True)
class Mark:
    """A buffer that some machine has: `buffer` units, called `name`."""

    name: str
    buffer: int


@dataclass(frozen=True)
class LevelBound:
    """Words that cross into one level of a hierarchy, at the least, if the level keeps every
    tensor. `capacity` is what all its instances hold together; `least` is None where no mapping
    fits.
    """

    level: str
    capacity: int
    least: int | None

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {"level": self.level, "capacity": self.capacity, "accesses": self.least}

    def __str__(self) -> str:
        least = "nothing fits" if self.least is None else f"at least {self.least:,} accesses"
        return f"{self.level} ({self.capacity:,}): {least} if it keeps every tensor"


@dataclass(frozen=True)
class Curve(Shown, Generic[P]):
    """A bound curve: `points[i].buffer` rises, `points[i].accesses` falls.

    `units` are "words", "bytes" or "bits" of both figures. `algorithmic_minimum` is the traffic
    that no buffer avoids: every word of every tensor that must come from or go to the backing
    store, once. `operations` counts multiplications and additions. `operands` is the size of all
    tensors together. `assumptions` say what the figures hold for. `beside` are other bound curves
    to compare with, by name, as (buffer, accesses). `proof` says why no mapping lies below.
    `levels` are bounds of a machine's levels. `macs` counts the points of all iteration spaces;
    `roofline` gives the least cycles of each step.
    """

    title: str
    units: str
    points: tuple[P, ...]
    algorithmic_minimum: int
    operations: int
    operands: int
    assumptions: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    beside: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    proof: str = ""
    levels: tuple[LevelBound, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    macs: int = 0
    roofline: Roofline | None = None

    def at(self, capacity: int) -> P | None:
        """The step that a buffer of `capacity` affords; None where nothing fits."""
        return next((point for point in reversed(self.points) if point.buffer <= capacity), None)

    def accesses(self, capacity: int) -> int | None:
        """Least accesses with a buffer of `capacity`; None where nothing fits."""
        point = self.at(capacity)
        return None if point is None else point.accesses

    @property
    def least(self) -> int:
        """Accesses with an unlimited buffer."""
        return self.points[-1].accesses

    @property
    def enough(self) -> int:
        """The smallest buffer that reaches `least`; more is of no use."""
        return self.points[-1].buffer

    @property
    def effectual_ratio(self) -> Fraction:
        """Maximal effectual buffer over the size of all operands (Orojenesis, figure 11)."""
        return Fraction(self.enough, self.operands)

    def intensity(self, point: P) -> Fraction:
        """Operational intensity of a step: operations per unit of traffic."""
        return Fraction(self.operations, point.accesses)

    def timed(self, roofline: Roofline | None) -> Curve[P]:
        """The curve with `roofline`, for the least cycles of each step."""
        return replace(self, roofline=roofline)

    def cycles(self, point: P) -> int | None:
        """The least cycles of any mapping that fits the buffer of a step; None without a
        roofline.
        """
        return None if self.roofline is None else self.roofline.cycles(point.accesses)

    @property
    def balanced(self) -> int | None:
        """The smallest buffer with which compute and not bandwidth limits; None if there is none,
        or no roofline.
        """
        roofline = self.roofline
        if roofline is None:
            return None
        enough = (p.buffer for p in self.points if roofline.limit(p.accesses) == "compute")
        return next(enough, None)

    def marked(self, marks: Sequence[Mark]) -> Curve[P]:
        """The curve with further marks."""
        return replace(self, marks=(*self.marks, *marks))

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        curve = [
            point.to_dict()
            | {"operational_intensity": float(self.intensity(point))}
            | ({} if self.roofline is None else {"cycles": self.cycles(point)})
            for point in self.points
        ]
        marks = [
            {"name": mark.name, "buffer": mark.buffer, "accesses": self.accesses(mark.buffer)}
            for mark in self.marks
        ]
        return {
            "title": self.title,
            "units": self.units,
            "curve": curve,
            "compulsory": self.algorithmic_minimum,
            "least": self.least,
            "enough": self.enough,
            "effectual_ratio": float(self.effectual_ratio),
            "operations": self.operations,
            "marks": marks,
            "assumptions": list(self.assumptions),
            "proof": self.proof,
            **({"levels": [level.to_dict() for level in self.levels]} if self.levels else {}),
            **(
                {
                    "beside": {
                        name: [list(step) for step in steps] for name, steps in self.beside.items()
                    }
                }
                if self.beside
                else {}
            ),
            **(
                {"roofline": self.roofline.to_dict() | {"balanced_buffer": self.balanced}}
                if self.roofline
                else {}
            ),
            **self.extra,
        }

    def to_csv(self) -> str:
        """One line a step: buffer, accesses, operational intensity, and the example mapping in
        columns of its own.
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        columns = list(dict.fromkeys(name for point in self.points for name in point.summary()))
        writer.writerow(
            [
                "buffer",
                "accesses",
                "operational_intensity",
                *(["cycles"] if self.roofline else []),
                *(name or "mapping" for name in columns),
            ]
        )
        for point in self.points:
            values = point.summary()
            row = [point.buffer, point.accesses, float(self.intensity(point))]
            row += [self.cycles(point) or 0] if self.roofline else []
            writer.writerow(row + [values.get(name, "") for name in columns])
        return out.getvalue()

    def to_svg(self) -> str:
        """A log-log plot, with the machine's buffers marked."""
        return svg_of(self)

    def plot(self, what: str = "accesses") -> Chart:
        """A chart of buffer size against "accesses", or against operational "intensity".

        Raises: InputError for another name.
        """
        return cast(Chart, chart_of(self, what))

    def __str__(self) -> str:
        head = [f"{self.title}: least accesses for each buffer size, in {self.units}"]
        timed = self.roofline is not None
        rows = [["buffer", "accesses", "ops per access", *["cycles"] * timed, "mapping"]]
        for point in self.points:
            words = "  ".join(
                f"{name} {text}" if name else text for name, text in point.summary().items() if text
            )
            rows.append(
                [
                    f"{point.buffer:,}",
                    f"{point.accesses:,}",
                    f"{float(self.intensity(point)):.4g}",
                    *([f"{self.cycles(point):,}"] if timed else []),
                    words,
                ]
            )
        widths = [max(len(row[i]) for row in rows) for i in range(3 + timed)]
        for row in rows:
            head.append(
                "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=False))
                + "  "
                + row[-1]
            )
        head.append(
            f"Least accesses: {self.least:,}, from a buffer of {self.enough:,} on"
            f" ({float(self.effectual_ratio):.3g} of all operands);"
            f" algorithmic minimum: {self.algorithmic_minimum:,}."
        )
        head += (
            [str(level) for level in self.levels]
            if self.levels
            else [self._mark(mark) for mark in self.marks]
        )
        head += [_gain(name, steps, self) for name, steps in self.beside.items()]
        head += [self._latency()] if timed else []
        head += [f"Proven: {self.proof}"] if self.proof else []
        return "\n".join(head + [f"Assumed: {text}" for text in self.assumptions])

    def _latency(self) -> str:
        roofline = self.roofline
        assert roofline is not None
        limited = (
            "bandwidth limits at every buffer size"
            if self.balanced is None
            else f"with a buffer of {self.balanced:,} or more compute limits, below it bandwidth"
        )
        return (
            f"Roofline: {roofline.macs:,} operations, {float(roofline.peak):,.6g} per cycle, and"
            f" {float(roofline.bandwidth):,.6g} {self.units} per cycle, overlapped: {limited}."
        )

    def _mark(self, mark: Mark) -> str:
        least = self.accesses(mark.buffer)
        return (
            f"{mark.name} ({mark.buffer:,}):"
            f" {'nothing fits' if least is None else f'at least {least:,} accesses'}"
        )


def _gain(name: str, steps: Sequence[tuple[int, int]], curve: Curve[Any]) -> str:
    """Where a curve gains most against another bound curve: at one of its own steps, for that is
    where it falls.
    """
    gains = []
    for point in curve.points:
        other = min(
            (accesses for buffer, accesses in steps if buffer <= point.buffer), default=None
        )
        if other is not None:
            gains.append((Fraction(other, point.accesses), -point.buffer, other, point.accesses))
    if not gains or max(gains)[0] == 1:
        return f"Against {name}: no gain."
    ratio, buffer, other, own = max(gains)
    return (
        f"Against {name}: up to {float(ratio):.3g} times less, {own:,} instead of {other:,}"
        f" accesses with a buffer of {-buffer:,}."
    )
