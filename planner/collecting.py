"""Garbage left where it lies for a while: large runs make many objects and hardly any to throw away."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def without_gc() -> Iterator[None]:
    """No looking for garbage meanwhile, which takes as long as making a hundred thousand scenarios' objects."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                # What was made meanwhile counts as old from here on, or all of it would be looked through at once.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
