"""Paths of a folder that an upload sends, by `.gitignore` files as git reads them."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pathspec
from pathspec.pattern import RegexPattern


class _Rules(NamedTuple):
    """The lines of one file, relative to the folder `below`, which is empty or ends with a slash."""

    below: str
    patterns: Sequence[RegexPattern]

    def excludes(self, path: str, is_folder: bool) -> bool | None:
        """None if no line matches. The last one that matches decides."""
        name = path[len(self.below) :]
        for pattern in reversed(self.patterns):
            if pattern.regex is not None and _matches(pattern.regex, name, is_folder):
                return pattern.include
        return None


def included(root: Path, excludes: Sequence[str]) -> Iterator[str]:
    """Relative, with `/`; folders before their contents. Excluded folders are not entered.

    The `.gitignore` of each folder counts, then the `.portholeignore` of the root, then `excludes`.
    A user's git settings are not read.
    """
    last = _Rules("", _patterns([*_lines(root / ".portholeignore"), *excludes]))
    folders = [("", [_Rules("", _patterns([".git"]))])]
    while folders:
        below, outer = folders.pop()
        own = _Rules(below, _patterns(_lines(root / below / ".gitignore")))
        rules = [*outer, own] if own.patterns else outer
        with os.scandir(root / below) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                path = below + entry.name
                is_folder = entry.is_dir(follow_symlinks=False)
                if _decide((last, *reversed(rules)), path, is_folder):
                    continue
                yield path
                if is_folder:
                    folders.append((f"{path}/", rules))


def _decide(rules: Iterable[_Rules], path: str, is_folder: bool) -> bool:
    decisions = (each.excludes(path, is_folder) for each in rules)
    return next((decision for decision in decisions if decision is not None), False)


def _matches(regex: re.Pattern[str], path: str, is_folder: bool) -> bool:
    """Whether a pattern matches the path itself.

    pathspec's patterns also match what is in a folder: then their only group ends at its slash.
    """
    if any(found.lastindex is None for found in regex.finditer(path)):
        return True
    folder = f"{path}/"
    return is_folder and any(
        found.lastindex is not None and found.end(found.lastindex) == len(folder)
        for found in regex.finditer(folder)
    )


def _patterns(lines: Iterable[str]) -> list[RegexPattern]:
    return [pattern for line in lines for pattern in _pattern(line)]


def _pattern(line: str) -> Iterable[RegexPattern]:
    """Like git, takes a pattern that means nothing as one that matches nothing."""
    try:
        patterns = pathspec.GitIgnoreSpec.from_lines([line]).patterns
    except (ValueError, re.error):
        return []
    return [each for each in patterns if isinstance(each, RegexPattern) and each.include is not None]


def _lines(file: Path) -> list[str]:
    """Like git, follows no link from an ignore file."""
    if file.is_symlink() or not file.is_file():
        return []
    return file.read_text("utf-8-sig", "replace").split("\n")
