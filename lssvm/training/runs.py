"""The runs of a session: each begins somewhere, proceeds, and leaves its record."""

from collections.abc import Callable

import numpy as np

from lssvm.oracle import DataOracle
from lssvm.training import record, setup
from lssvm.training.cccp import Observer, Run
from lssvm.training.held_out import HeldOutScorer
from lssvm.training.keeper import Keeper
from lssvm.training.problem import Problem, Stage
from lssvm.training.summary import Spent


class _EarlyStopError(Exception):
    """Leaves the solver's loop: held-out scores have not become better for long enough."""


class _ObserverStopError(_EarlyStopError):
    """The same, because the observer has seen enough."""


class Runs:
    """Makes the runs on one data set, each to its end.

    oracle : of the examples, with the threads of its executor; observer : told how runs go on
    choice : a sentence for the observer once the first run has begun, if it is not empty
    keeper : saves the progress of a session with one value of C, and stops it after a signal
    stopped : whether the observer has ended training
    solver_seconds, osqp_calls : time in solvers, and the quadratic programs that OSQP solved
    """

    def __init__(
        self, problem: Problem, oracle: DataOracle, observer: Observer, choice: str = ""
    ) -> None:
        self.problem = problem
        self.oracle = oracle
        self.observer = observer
        self._choice = choice
        self.keeper = Keeper()
        self.solver_seconds, self.osqp_calls = 0.0, 0
        self.stopped = False

    def spent(self) -> Spent:
        """What the runs have taken so far."""
        return Spent(self.oracle.seconds, self.solver_seconds, self.osqp_calls)

    def restart(self, stage: Stage, restart: int, before: Run | None) -> Run:
        """One restart for one value of C, to its end; or the rest of one that was interrupted.

        before : the run for the value of C before, if there is one
        """
        progress, watching = stage.progress, self._watching(stage)

        def between() -> None:
            """Score held-out examples, and save or stop."""
            run = progress.run
            if run is not None and watching is not None and watching.look(run, stage.rules.C):
                raise _EarlyStopError
            if run is not None and not run.done and self.observer.stops():
                raise _ObserverStopError
            self.keeper.keep(progress)

        if progress.run is None:
            progress.run = self._begun(stage, restart, before, between)
        if self._choice:
            self.observer.noted(self._choice)
            self._choice = ""
        run, solver = progress.run, progress.run.solver
        carried = before is not None and before.solver is solver
        seconds, calls = (solver.seconds, solver.osqp_calls) if carried else (0.0, 0)
        cut = False
        try:
            run.proceed(self.oracle, stage.rules, self.observer, restart, between)
            if watching is not None:
                watching.score(run)
        except _EarlyStopError as stop:
            run.done, cut = True, isinstance(stop, _ObserverStopError)
            if cut and watching is not None:
                watching.score(run)
        w = solver.w if watching is None else progress.scores.w
        self.stopped |= cut
        if cut or (watching is not None and self._is_other(stage, run)):
            self._value(stage, run, w)
        if record.is_best(run, progress.finished):
            progress.best_w = w
        seed, scores = stage.config.seed, progress.scores
        progress.finished.append(record.of_restart(run, seed, restart, scores))
        progress.run = None
        self.solver_seconds += solver.seconds - seconds
        self.osqp_calls += solver.osqp_calls - calls
        between()  # a signal that came since the last pass
        return run

    def _watching(self, stage: Stage) -> HeldOutScorer | None:
        """What scores held-out examples on the way; None if nothing does."""
        held, section = self.problem.data.held, stage.config.held_out
        if held is None or not section.every:
            return None
        # Linear, or products of features: neither needs weights to prepare examples for them.
        shown, _ = self.problem.training.space.prepared(held, np.empty(0))
        application, scores = self.problem.data.application, stage.progress.scores
        return HeldOutScorer(application, shown, section, scores, self.observer)

    def _begun(
        self, stage: Stage, restart: int, before: Run | None, between: Callable[[], None]
    ) -> Run:
        """A run before its first pass; it goes on from ``before`` where that is allowed."""
        problem = self.problem
        if before is None or problem.asked.exchangeable:
            return setup.new_run(
                self.oracle,
                stage.config,
                restart,
                problem.w0,
                between,
                problem.inner_product,
            )
        before.solver.begin_problem()
        primal, inexactness = before.solver.primal(stage.rules.C), stage.config.cccp.inexactness
        return Run(
            before.solver, inexactness, before.total_cost, objective=primal, carried=before.carried
        )

    def _is_other(self, stage: Stage, run: Run) -> bool:
        """Whether the weights that were best on held-out examples are not where the run ended."""
        scores = stage.progress.scores
        return scores.stopped or not np.array_equal(scores.w, run.solver.w)

    def _value(self, stage: Stage, run: Run, w: np.ndarray) -> None:
        """Give the run the objective of other weights than those it ended with, by one more pass.

        0 is what bounds it from below where hidden values make it another convex problem's.
        """
        rules, solver = stage.rules, run.solver
        run.objective, run.concave, run.certified = solver.objective_at(self.oracle, rules.C, w)
        run.passes, run.completions = run.passes + 1, run.completions + 1
        run.lower = 0.0 if rules.hidden else solver.lower
        run.gap = (run.objective - run.lower) / run.objective if run.objective > 0.0 else 0.0
