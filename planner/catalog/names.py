"""Names as people write them: what two spellings of one name have in common.

A name may be written with or without its maker, its memory, blanks and hyphens. It is understood where only one
entry can be meant; where several can, all of them are given, and nothing is guessed.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

MOST_SUGGESTIONS: Final = 8
_CUTOFF: Final = 0.7
_WORD: Final = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)*")


def words(name: str) -> tuple[str, ...]:
    """A name's words in lower case; a point between digits stays.

    >>> words("Llama-3.1 70B"), words("H100 (SXM)")
    (('llama', '3.1', '70b'), ('h100', 'sxm'))
    """
    return tuple(_WORD.findall(name.casefold()))


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry as names find it: the keys that mean just it, and the words of each way to write it."""

    name: str
    keys: frozenset[str]
    words: tuple[frozenset[str], ...]


def named(key: str, asked: AbstractSet[str], entries: Iterable[Entry]) -> tuple[str, ...]:
    """The entries that a name may mean: those with just that key, else those that have all the words asked for."""
    entries = tuple(entries)
    exact = tuple(entry.name for entry in entries if key in entry.keys)
    if exact or not asked:
        return exact
    return tuple(entry.name for entry in entries if any(asked <= words for words in entry.words))


def nearest(key: str, telling: AbstractSet[str], entries: Sequence[Entry]) -> list[str]:
    """Up to eight entries that share most of the telling words, else those whose keys look most like the one given."""
    shared = {entry.name: max(len(telling & words) for words in entry.words) for entry in entries}
    best = max(shared.values(), default=0)
    if best:
        return [name for name, count in shared.items() if count == best][:MOST_SUGGESTIONS]
    keys = {known: entry.name for entry in entries for known in sorted(entry.keys)}
    close = difflib.get_close_matches(key, keys, n=2 * MOST_SUGGESTIONS, cutoff=_CUTOFF)
    return list(dict.fromkeys(keys[known] for known in close))[:MOST_SUGGESTIONS]
