"""An existing Dask cluster as an executor; ``distributed`` is loaded only where a scheduler is named."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any, Final, Self

from planner.command import version
from planner.issues import PlannerError

if TYPE_CHECKING:
    from concurrent.futures import Executor

_PATIENCE_S: Final = 20
_ADDRESS: Final = re.compile(r"([a-z+]+://)?[^/\s]+:\d+/?")
# So that no worker waits for its next workbook.
_EACH: Final = 2


class Cluster:
    """A connection to a Dask scheduler while it is entered; without an address, none.

    Entering raises PlannerError where ``distributed`` is not installed, no scheduler answers, no worker is there, or
    one has another version of planner or none.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.executor: Executor | None = None
        # How many workbooks are at work together; 0 without a cluster.
        self.window = 0
        self._client: Any = None

    def __enter__(self) -> Self:
        if not self.address:
            return self
        if not _ADDRESS.fullmatch(self.address):
            raise PlannerError(f"The Dask scheduler is '{self.address}'; expected an address such as tcp://host:8786.")
        try:
            distributed = importlib.import_module("distributed")
        except ImportError:
            raise PlannerError(
                "--dask needs distributed; pip install 'llm-capacity-planner[dask]', here and at the workers."
            ) from None
        try:
            self._client = distributed.Client(self.address, timeout=_PATIENCE_S, set_as_default=False)
        except (OSError, ValueError) as error:
            said = " ".join(str(error).split())[:160] or "no answer"
            raise PlannerError(f"No Dask scheduler answers at {self.address} ({said}).") from None
        try:
            self._check()
        except BaseException:
            self._client.close()
            raise
        self.executor = self._client.get_executor(pure=False)
        self.window = max(_EACH * sum(self._client.ncores().values()), 1)
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

    def ask(self) -> None:
        """Raises PlannerError once the scheduler is gone, after which no work would ever end."""
        if self._client is not None and self._client.status in {"closing", "closed"}:
            raise PlannerError(f"The Dask scheduler at {self.address} is gone; run again to go on with what is left.")

    def _check(self) -> None:
        """Refuse workers that would make other results, or none."""
        if not self._client.ncores():
            raise PlannerError(f"The Dask scheduler at {self.address} has no workers; start some with `dask worker`.")
        try:
            versions = self._client.run(version)
        except Exception as error:  # whatever a worker raises that lacks planner
            raise PlannerError(
                f"The Dask workers at {self.address} cannot load planner ({error}); install it there."
            ) from error
        others = {worker: there for worker, there in versions.items() if there != version()}
        if others:
            worker, there = next(iter(others.items()))
            raise PlannerError(f"The Dask worker {worker} has planner {there}, here is {version()}; install the same.")
