"""Where a figure turns from fine to worth a word: one place for checks, sheets and report."""

from __future__ import annotations

from typing import Final

READING_PACE_TOKENS_PER_SEC: Final = 10.0
BATCH_NOTED_FROM: Final = 16
BATCH_WARNED_ABOVE: Final = 32
# What engines fill of a device's memory unless told otherwise.
USABLE_MEMORY_SHARE: Final = 0.9
# People take an assistant that is silent for longer to be stuck.
LONG_TTFT_S: Final = 2.0
