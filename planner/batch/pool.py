"""Sharing workbooks out over workers: a process each by default, or any executor; a worker lost costs a retry."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter, deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from concurrent.futures.process import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for_any
from typing import TYPE_CHECKING, Any, Final, Self

from planner.batch.work import failed, overdue, work
from planner.issues import PlannerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from planner.batch.ledger import Done
    from planner.batch.work import Task

# A worker ends a workbook by itself once its time is up; this much later it is ended from outside.
GRACE_S: Final = 5.0
_POLL_S: Final = 0.1


class Stop:
    """How urgently a run is asked to end: not, once what is at hand is done, or at once.

    While it is entered it takes the system's signals; a run in a thread other than the main one gets none.
    """

    def __init__(self, on_asked: Callable[[Stop], None] = lambda _: None) -> None:
        self.asked = 0
        self._on_asked = on_asked
        # Where the work is done in this very thread, a signal must break into it.
        self.breaks_in = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _take(self, number: int, _: object) -> None:
        self.asked += 1 if number == signal.SIGINT else 2
        if self.breaks_in:
            self.breaks_in = False
            raise KeyboardInterrupt
        self._on_asked(self)

    @property
    def soon(self) -> bool:
        """Whether nothing new is to be begun."""
        return self.asked > 0

    @property
    def now(self) -> bool:
        """Whether what is at hand is to be abandoned."""
        return self.asked > 1


class Here(Executor):
    """No pool: the work is done in this process and thread, when it is asked for."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it, and give it done."""
        future: Future[Any] = Future()
        try:
            self._stop.breaks_in = True
            done = fn(*args, **kwargs)
            self._stop.breaks_in = False
        except KeyboardInterrupt:
            self._stop.asked = 2
            future.cancel()
        else:
            future.set_result(done)
        return future


class Lanes(Executor):
    """A process pool in which each worker stands alone: what kills one costs no neighbour its work.

    Each lane is a pool of one worker, made anew once it is lost. ``memory_bytes`` bounds each worker's memory, where
    the system can.
    """

    def __init__(self, count: int, memory_bytes: int | None = None) -> None:
        self.count = count
        self._memory_bytes = memory_bytes
        self._lanes: list[_Lane | None] = [None] * count
        self._of: dict[Future[Any], _Lane] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a worker do it that has least to do."""
        self._of = {future: lane for future, lane in self._of.items() if not future.done()}
        busy = Counter(id(lane) for lane in self._of.values())
        at = min(range(self.count), key=lambda index: busy[id(self._lanes[index])] if self._lanes[index] else 0)
        lane = self._lanes[at]
        if lane is not None:
            with contextlib.suppress(BrokenExecutor):
                return self._remember(lane.pool.submit(fn, *args, **kwargs), lane)
            lane.pool.shutdown(wait=False)
        lane = self._lanes[at] = _Lane(self._memory_bytes)
        return self._remember(lane.pool.submit(fn, *args, **kwargs), lane)

    def _remember(self, future: Future[Any], lane: _Lane) -> Future[Any]:
        self._of[future] = lane
        return future

    def end(self, future: Future[Any]) -> None:
        """End the worker that is at this work."""
        if future in self._of:
            self._of[future].kill()

    def kill(self) -> None:
        """End every worker at once."""
        for lane in self._lanes:
            if lane is not None:
                lane.kill()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the workers go once they are through."""
        for lane in self._lanes:
            if lane is not None:
                lane.pool.shutdown(wait, cancel_futures=cancel_futures)


class _Lane:
    """A pool of one worker, and how to end it."""

    def __init__(self, memory_bytes: int | None) -> None:
        # Not forked: a copy of a process that has threads may hang, and would hold its files.
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=(memory_bytes,))
        with _BEGINNING, _without_interrupts():
            before = set(multiprocessing.active_children())
            # A pool begins its worker when it is first asked for work.
            self.pool.submit(os.getpid)
            self._workers = set(multiprocessing.active_children()) - before

    def kill(self) -> None:
        """End the worker at once, whatever it is at."""
        for worker in self._workers:
            # One that has ended and was forgotten raises ValueError.
            with contextlib.suppress(OSError, ValueError):
                worker.kill()


# Which process is new is seen from those before.
_BEGINNING: Final = threading.Lock()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Keep Ctrl-C back meanwhile, and from processes that are begun here, which a terminal sends it to as well."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(memory_bytes: int | None) -> None:
    """A worker's first act: leave Ctrl-C to the one who asked, end with that one, and bound its own memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    if memory_bytes is not None:
        with contextlib.suppress(ImportError, AttributeError, ValueError, OSError):
            import resource  # noqa: PLC0415  not on Windows

            resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _end_with(sentinel: int) -> None:
    """End this process once the one is gone that asked for it, which else would leave it waiting for ever."""
    wait_for_any([sentinel])
    os._exit(1)


@dataclass(slots=True)
class _Flight:
    """A workbook at work, and since when."""

    task: Task
    began: float
    ended: bool = False


class Dispatch:
    """Workbooks on their way through an executor.

    ``window`` is how many are at work together. What an executor loses is tried again: at once where each worker stands
    alone, else alone and last, since it may be the one that took its worker down with it. After ``retries`` more tries
    it is given up with its reason. An executor that is broken for good is replaced by ``spare``; ``ask`` raises where
    one is gone without a word of it.
    """

    def __init__(
        self,
        executor: Executor,
        window: int,
        *,
        retries: int,
        stop: Stop,
        spare: Callable[[], Lanes] | None = None,
        ask: Callable[[], None] = lambda: None,
    ) -> None:
        self.executor, self.window, self.retries, self.stop = executor, window, retries, stop
        self.spare = spare
        self._ask = ask
        self.waiting: deque[Task] = deque()
        self.suspects: deque[Task] = deque()
        self.flights: dict[Future[Done], _Flight] = {}
        self.lost: Counter[str] = Counter()

    def results(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """What comes of each workbook, in the order in which they end; ends early where it is asked to."""
        self.waiting.extend(tasks)
        while not self.stop.now:
            self._fill()
            if not self.flights:
                if self.stop.soon or not (self.waiting or self.suspects):
                    return
                continue
            ended, _ = wait(self.flights, timeout=_POLL_S, return_when=FIRST_COMPLETED)
            for future in ended:
                done = self._landed(future, self.flights.pop(future))
                if done is not None:
                    yield done
            self._ask()
            self._end_overdue()
        self.abandon()

    def abandon(self) -> None:
        """End what is at work, where that can be."""
        for future in self.flights:
            future.cancel()
        if isinstance(self.executor, Lanes):
            self.executor.kill()

    def _fill(self) -> None:
        while not self.stop.soon and self.waiting and len(self.flights) < self.window:
            self._submit(self.waiting.popleft())
        if not self.stop.soon and not self.waiting and not self.flights and self.suspects:
            self._submit(self.suspects.popleft())

    def _submit(self, task: Task) -> None:
        try:
            future = self.executor.submit(work, task)
        except BrokenExecutor:
            if self.spare is None:
                raise PlannerError("The workers are gone; run again to go on with what is left.") from None
            lanes, self.spare = self.spare(), None
            self.executor, self.window = lanes, lanes.count
            self.waiting.extend(self.suspects)
            self.suspects.clear()
            future = self.executor.submit(work, task)
        except RuntimeError as error:
            raise PlannerError(f"The workers take no more work ({error}); run again to go on with the rest.") from None
        self.flights[future] = _Flight(task, time.monotonic())

    def _landed(self, future: Future[Done], flight: _Flight) -> Done | None:
        """What came of it, or None where it is to be tried again."""
        task = flight.task
        try:
            done = future.result()
            return dataclasses.replace(done, tries=self.lost[task.name] + 1)
        except CancelledError:
            if self.stop.now:
                return None
            error: BaseException = CancelledError("the executor dropped it")
        except Exception as raised:  # noqa: BLE001  the work itself raises nothing, so its worker is lost
            error = raised
        if flight.ended:
            return overdue(task)
        if not isinstance(self.executor, Lanes) and self.window > 1 and task.name not in self.lost:
            # One of several at work together: nothing says yet that it was this one.
            self.lost[task.name] = 0
            self.suspects.append(task)
            return None
        self.lost[task.name] += 1
        if self.lost[task.name] > self.retries:
            return failed(task, _lost(task, error, self.lost[task.name]), tries=self.lost[task.name])
        (self.waiting if isinstance(self.executor, Lanes) else self.suspects).append(task)
        return None

    def _end_overdue(self) -> None:
        if not isinstance(self.executor, Lanes):
            return
        for future, flight in self.flights.items():
            bound = flight.task.timeout_s
            # The first task of a worker waits for it to start, which takes a second or two.
            if bound is not None and not flight.ended and time.monotonic() - flight.began > bound + GRACE_S:
                flight.ended = True
                self.executor.end(future)


def _lost(task: Task, error: BaseException, times: int) -> str:
    often = "once" if times == 1 else "twice" if times == 2 else f"{times} times"  # noqa: PLR2004  as one says it
    died = isinstance(error, BrokenExecutor)
    why = "killed, perhaps for want of memory" if died else " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return f"{task.source} lost its worker {often} ({why})."
