"""Garbage left where it lies for a while: large runs make many objects and hardly any to throw away."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# From so many objects on, looking through them all takes a second and more.
_MANY: Final = 1_000_000
# Whether a large run left its garbage for the next one to collect, when its own objects are gone.
_left_over: list[bool] = []


@contextlib.contextmanager
def without_gc() -> Iterator[None]:
    """No looking for garbage meanwhile, which takes as long as making a hundred thousand scenarios' objects.

    After a large run its objects count as old, or every one of them would be looked through at once; what garbage is
    among them is collected when the next one starts.
    """
    was_on = gc.isenabled()
    if was_on and _left_over:
        _left_over.clear()
        gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if gc.get_count()[0] > _MANY and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
                _left_over.append(True)
            gc.enable()
