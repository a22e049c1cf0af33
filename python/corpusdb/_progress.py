"""Progress of long calls: a line on a terminal, a bar in a notebook, or a function of the caller."""

from __future__ import annotations

import html
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from corpusdb._native import one_line

__all__ = ["Progress", "ProgressOption", "listening", "safe_lines"]

logger = logging.getLogger("corpusdb")


class Progress(NamedTuple):
    """The progress of a long call."""

    #: The present stage.
    stage: str
    #: How much of the stage is done, in its unit.
    done: int
    #: How much there is in total; None if unknown.
    total: int | None
    #: In an ingest: bytes of input read, bytes of text, records, documents kept, duplicates. None in other calls.
    tally: tuple[int, int, int, int, int] | None


#: `None` draws on a terminal and in a notebook, `True` draws always, `False` never. A function is called with each
#: `Progress`.
ProgressOption: TypeAlias = bool | Callable[[Progress], object] | None

_Listener: TypeAlias = Callable[[str, int, int | None, tuple[int, int, int, int, int] | None, list[str]], None]


@contextmanager
def listening(progress: ProgressOption) -> Iterator[_Listener]:
    """The listener of one long call. Notes of the library go to the logger `corpusdb`."""
    drawing: _Bar | None = None
    tell: Callable[[Progress], object] | None = None
    if callable(progress):
        tell = progress
    elif progress is not None and not isinstance(progress, bool):
        raise TypeError(f"progress: expected True, False, None or a function, got {type(progress).__name__}")
    elif progress is not False:
        drawing = _bar(always=progress is True)
        tell = None if drawing is None else drawing.draw

    def listener(
        stage: str, done: int, total: int | None, tally: tuple[int, int, int, int, int] | None, notes: list[str]
    ) -> None:
        for note in notes:
            if drawing is not None:
                drawing.clear()
            logger.warning(safe_lines(note))
        if tell is not None:
            tell(Progress(stage, done, total, tally))

    try:
        yield listener
    finally:
        if drawing is not None:
            drawing.clear()


class _Bar:
    """One line with the newest progress. Subclasses write it to a terminal or a notebook."""

    #: Seconds between two drawings.
    _pause = 0.125

    def __init__(self) -> None:
        self._stage = ""
        self._begun = self._drawn = 0.0

    def draw(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.stage != self._stage:
            self._stage, self._begun = progress.stage, now
        elif now - self._drawn < self._pause:
            return
        self._drawn = now
        self._show(progress, _words(progress, now - self._begun))

    def _show(self, progress: Progress, words: str) -> None:
        raise NotImplementedError

    def clear(self) -> None:
        raise NotImplementedError


class _Line(_Bar):
    """On a terminal: one line of standard error, overwritten each time and erased at the end."""

    _is_drawn = False

    def _show(self, progress: Progress, words: str) -> None:
        line = _with_share(progress, words)[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r\x1b[2K{line}")
        sys.stderr.flush()
        self._is_drawn = True

    def clear(self) -> None:
        if self._is_drawn:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._is_drawn = False


class _Display(_Bar):
    """In a notebook: one output of the cell, replaced each time and erased at the end."""

    _pause = 0.25

    def __init__(self, show: Any) -> None:
        super().__init__()
        self._display = show
        self._handle: Any = None

    def _show(self, progress: Progress, words: str) -> None:
        share = "" if not progress.total else f' value="{progress.done}" max="{progress.total}"'
        stage = html.escape(progress.stage)
        self._write({
            # For front ends that show only text.
            "text/plain": _with_share(progress, words),
            "text/html": f"{stage} <progress{share}></progress> <small>{html.escape(words)}</small>",
        })

    def _write(self, bundle: dict[str, str]) -> None:
        if self._handle is None:
            self._handle = self._display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def clear(self) -> None:
        if self._handle is not None:
            self._write({"text/plain": "", "text/html": ""})


def _bar(always: bool) -> _Bar | None:
    # If nobody has imported IPython, no notebook kernel runs.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        return _Display(display)
    # A dumb terminal cannot overwrite a line.
    is_terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return _Line() if is_terminal or (always and sys.stderr is not None) else None


def _with_share(progress: Progress, words: str) -> str:
    share = progress.done / progress.total if progress.total else None
    head = progress.stage if share is None else f"{progress.stage} {min(share, 1):4.0%}"
    return f"{head} {words}"


def _words(progress: Progress, seconds: float) -> str:
    seconds = max(seconds, 0.001)
    words = []
    if progress.total and 0 < progress.done < progress.total:
        left = seconds * (progress.total - progress.done) / progress.done
        words.append(f"{_duration(left)} left")
    if progress.tally is not None:
        _, text, records, kept, duplicates = progress.tally
        words.append(f"{text / seconds / 1e6:.1f} MB/s of text")
        words.append(f"{records / seconds:,.0f} documents/s")
        words.append(f"{kept:,} kept, {duplicates:,} duplicates")
    elif progress.done:
        total = "" if progress.total is None else f" of {progress.total:,}"
        words.append(f"{progress.done / seconds:,.0f}/s, {progress.done:,}{total}")
    return ", ".join(words)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def safe_lines(text: str) -> str:
    """A text without control characters, safe to print on a terminal. Line breaks stay."""
    return "\n".join(one_line(line) for line in text.split("\n"))
