"""Mapping workloads at every point of a sweep."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from solver_mapper.errors import InputError
from solver_mapper.io.yaml.source import Source
from solver_mapper.io.yaml.warnings import InputWarning
from solver_mapper.study.architecture_front import on_front
from solver_mapper.study.design import Design, Reading
from solver_mapper.study.execution.clock import StudyClock
from solver_mapper.study.execution.events import Started
from solver_mapper.study.execution.job import Job, Outcome, SearchOptions
from solver_mapper.study.execution.progress import StudyProgress
from solver_mapper.study.execution.record import Record
from solver_mapper.study.execution.runner import Study
from solver_mapper.study.execution.store import Store, opened
from solver_mapper.study.network_edp import NETWORK_EDP
from solver_mapper.study.network_result import Sum
from solver_mapper.study.network_study import StudyOptions, least_edp_records, listener
from solver_mapper.study.sizes import EnergyWatch, Sizes, sizes_of
from solver_mapper.study.sweep_plan import DesignPoint, SweepPlan
from solver_mapper.study.sweep_result import SweepPoint, SweepResult
from solver_mapper.study.swept_energies import energies, energy_path


@dataclass(frozen=True)
class Counted:
    """Where an outcome counts: the point, the workload, how often the workload runs the layer."""

    point: int
    workload: str
    count: int
    macs: int


def sweep(
    plan: SweepPlan,
    search: SearchOptions,
    options: StudyOptions,
    store: Store | str | Path | None = None,
    *,
    clock: StudyClock | None = None,
    on_progress: Callable[[StudyProgress], None] | None = None,
    reading: Reading | None = None,
) -> SweepResult:
    """See `api.sweep`."""
    for objective in dict.fromkeys(point.objective for point in plan.points):
        search.check(objective)
    run = _Sweep(plan, search, options, clock or StudyClock(), on_progress, reading)
    with opened(store) as records:
        return run.result(records)


class _Sweep:
    """One run of a sweep. Nothing but totals is kept of a point, so memory does not grow with the
    layers.
    """

    def __init__(
        self,
        plan: SweepPlan,
        search: SearchOptions,
        options: StudyOptions,
        clock: StudyClock,
        on_progress: Callable[[StudyProgress], None] | None,
        reading: Reading | None,
    ) -> None:
        self._plan, self._search, self._options, self._clock = plan, search, options, clock
        self._sums = [{name: Sum() for name in plan.workloads} for _ in plan.points]
        self._sizes: list[Sizes | None] = [None for _ in plan.points]
        self._errors: dict[int, str] = {}
        self._unreadable: dict[InputError, None] = {}
        self._unread = 0
        self._watch = EnergyWatch()
        self._designs: dict[str, Design] = {}
        reading = reading or Reading()
        templates = replace(reading.templates, used_elsewhere=plan.template_names)
        self._reading = replace(reading, templates=templates)
        self._warnings: dict[InputWarning, None] = {}
        self._fronts: dict[tuple[int, str], list[Outcome]] = {}
        self._solved = 0
        layers = sum(len(net.layers) for net in plan.workloads.values())
        self._total = layers * len(plan.points)
        self._on_progress = on_progress

    def result(self, store: Store) -> SweepResult:
        """Run all searches.

        Raises: InputError for names of files and attributes that do not exist, before any search,
        and if no point of the sweep can be read.
        """
        started = time.perf_counter()
        self._check_paths()
        tell = listener(StudyProgress(self._total), self._on_progress)

        def listen(event: object) -> None:
            self._solved += isinstance(event, Started)
            tell(event)  # type: ignore[arg-type]

        study = Study(self._options.executor(), store, self._clock, self._total, listen)
        for outcome in study.run(self._jobs()):
            self._take(outcome)
        for outcomes in self._fronts.values():
            self._add_all(outcomes, {})
        unreadable = _joined(list(self._unreadable))
        if unreadable is not None and self._unread == len(self._plan.points):
            raise unreadable
        points, front = self._points()
        answered = not self._errors and all(
            each.answered for sums in self._sums for each in sums.values()
        )
        return SweepResult(
            "complete" if answered else "partial",
            points,
            front,
            self._watch.notes(),
            time.perf_counter() - started,
            self._solved,
            tuple(self._warnings),
            study.unstored,
            unreadable,
        )

    def _jobs(self) -> Iterator[Job]:
        for number, point in enumerate(self._plan.points):
            try:
                with point.placed():
                    jobs = self._jobs_of(number, point)
                yield from jobs
            except InputError as error:
                self._unreadable[error] = None
                self._unread += 1
                self._errors[number] = str(error)

    def _check_paths(self) -> None:
        """Raises: InputError if a point names a file or an attribute that there is not."""
        layer = next(iter(self._plan.workloads.values())).layers[0]
        checked = set()
        for point in self._plan.points:
            key = (repr(point.architecture), repr(point.files), tuple(point.settings))
            if key in checked:
                continue
            checked.add(key)
            with point.placed():
                design = self._design(point.architecture)
                design.check_paths(layer, point.settings, point.files)

    def _jobs_of(self, number: int, point: DesignPoint) -> list[Job]:
        """Jobs of one point; all of them are read before the first is solved."""
        jobs: list[Job] = []
        design = self._design(point.architecture)
        values: dict[str, object] = dict(point.settings)
        search = replace(self._search, objective=point.objective)
        for name, net in self._plan.workloads.items():
            for layer in net.layers:
                if not jobs:
                    values |= self._energies(design, point, values)
                spec = design.spec(layer, values, point.files)
                self._warnings.update(dict.fromkeys(spec.warnings))
                tag = Counted(number, name, layer.count, layer.macs)
                label = ", ".join(f"{key}={value}" for key, value in point.parameters.items())
                job = Job.of(
                    f"{layer.name} ({label})", spec, search, self._options.layer_time_limit
                )
                jobs.append(replace(job, tag=tag))
        architecture = jobs[0].spec.need_architecture()
        sizes = sizes_of(architecture)
        if sizes.area is None and "area" in (self._plan.front or ()):
            raise InputError(
                "a front against 'area' needs the area of every point, and nothing is known of the"
                " area of this architecture",
                self._plan.front_location,
                "give an area reference table (ART), or choose 'capacity' and 'units'",
            )
        self._watch.see(architecture)
        self._sizes[number] = sizes
        return jobs

    def _energies(
        self, design: Design, point: DesignPoint, values: dict[str, object]
    ) -> dict[str, object]:
        """Energies by formula or by the user's function, from the architecture with its other
        attributes set.
        """
        if not self._plan.formulas and self._plan.hook is None:
            return {}
        first = next(iter(self._plan.workloads.values())).layers[0]
        spec = design.spec(first, values, point.files)
        given = {} if self._plan.hook is None else self._plan.hook(spec)
        return {
            **energies(self._plan.formulas, spec.need_architecture()),
            **{energy_path(path): value for path, value in given.items()},
        }

    def _design(self, architecture: tuple[Source, ...]) -> Design:
        key = repr(architecture)
        if key not in self._designs:
            self._designs[key] = Design(list(architecture), self._reading)
        return self._designs[key]

    def _take(self, outcome: Outcome) -> None:
        """Count an outcome; the fronts of a workload when all of them are there."""
        tag = _tag_of(outcome)
        if outcome.record.error is not None:
            self._errors.setdefault(tag.point, f"{outcome.job.name}: {outcome.record.error}")
        if outcome.job.options.objective != (NETWORK_EDP,):
            self._add_all([outcome], {})
            return
        key = tag.point, tag.workload
        fronts = self._fronts.setdefault(key, [])
        fronts.append(outcome)
        if len(fronts) == len(self._plan.workloads[tag.workload].layers):
            runs = Counter[str]()
            for each in fronts:
                runs[each.job.digest] += _tag_of(each).count
            found = {each.job.digest: each.record for each in fronts}
            self._add_all(self._fronts.pop(key), least_edp_records(found, runs))

    def _add_all(self, outcomes: Sequence[Outcome], chosen: Mapping[str, Record]) -> None:
        """Add outcomes to the sums, those in `chosen`, by digest, with that record."""
        for each in outcomes:
            tag, key = _tag_of(each), each.job.digest
            record = chosen.get(key, each.record)
            self._sums[tag.point][tag.workload].add(key, record, tag.count, tag.macs)

    def _points(self) -> tuple[tuple[SweepPoint, ...], tuple[str, ...]]:
        found = [
            SweepPoint(
                point.parameters,
                point.objective,
                {name: each.totals() for name, each in sums.items()} if size is not None else {},
                size,
                error=self._errors.get(number),
            )
            for number, (point, sums, size) in enumerate(
                zip(self._plan.points, self._sums, self._sizes, strict=True)
            )
        ]
        marked, axes = on_front(found, self._plan.front)
        return (
            tuple(replace(point, pareto=mark) for point, mark in zip(found, marked, strict=True)),
            axes,
        )


def _joined(errors: Sequence[InputError]) -> InputError | None:
    """One error that lists all of them; None if there are none."""
    if not errors:
        return None
    first = errors[0]
    more = (part for error in errors[1:] for part in (error, *error.more))
    return InputError(first.message, first.location, first.hint, (*first.more, *more))


def _tag_of(outcome: Outcome) -> Counted:
    tag = outcome.job.tag
    assert isinstance(tag, Counted)
    return tag
