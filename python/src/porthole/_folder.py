"""A folder of this machine as archives."""

from __future__ import annotations

import io
import os
import posixpath
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pathspec

# The API's limit of an archive, in bytes, less the end of the archive and its padding.
MOST_ARCHIVE = 33_554_432 - tarfile.RECORDSIZE
IGNORE_FILES = (".gitignore", ".portholeignore")


def archives(folder: str, to: str, excludes: Sequence[str]) -> Iterator[bytes]:
    """Plain tars for /workspace, each within the API's limit. Raises ValueError."""
    root = Path(folder)
    if not root.is_dir():
        raise ValueError(f"{folder} is no folder: give one to upload.")
    below = _below_workspace(to)
    buffer = io.BytesIO()
    archive = tarfile.open(fileobj=buffer, mode="w")
    for path in _paths(root, _rules(root, excludes)):
        info = archive.gettarinfo(str(root / path), posixpath.join(below, path))
        if info is None or (info.issym() and not _stays_inside(path, info.linkname)):
            continue
        # A hard link would need its target in the same archive.
        if info.islnk():
            info.type, info.size = tarfile.REGTYPE, (root / path).stat().st_size
        if not (info.isreg() or info.isdir() or info.issym()):
            continue
        # Names and owners of this machine mean nothing there.
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        size = info.size + 4 * tarfile.BLOCKSIZE
        if size > MOST_ARCHIVE:
            raise ValueError(
                f"{path} has {info.size} bytes, more than 32 MiB: exclude it, and bring it another way."
            )
        if archive.offset + size > MOST_ARCHIVE:
            archive.close()
            yield buffer.getvalue()
            buffer = io.BytesIO()
            archive = tarfile.open(fileobj=buffer, mode="w")
        if info.isreg():
            with open(root / path, "rb") as file:
                archive.addfile(info, file)
        else:
            archive.addfile(info)
    archive.close()
    yield buffer.getvalue()


def _rules(root: Path, excludes: Sequence[str]) -> pathspec.GitIgnoreSpec:
    lines = [".git/"]
    for name in IGNORE_FILES:
        if (root / name).is_file():
            lines += (root / name).read_text("utf-8", "replace").splitlines()
    return pathspec.GitIgnoreSpec.from_lines([*lines, *excludes])


def _paths(root: Path, rules: pathspec.GitIgnoreSpec) -> Iterator[str]:
    """Relative, with `/`; folders before their contents. Excluded folders are not entered."""
    folders = [""]
    while folders:
        below = folders.pop()
        with os.scandir(root / below) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                path = posixpath.join(below, entry.name)
                is_folder = entry.is_dir(follow_symlinks=False)
                if rules.match_file(f"{path}/" if is_folder else path):
                    continue
                yield path
                if is_folder:
                    folders.append(path)


def _below_workspace(to: str) -> str:
    parts = [part for part in posixpath.join("/workspace", to).split("/") if part not in ("", ".")]
    if parts[:1] != ["workspace"] or ".." in parts:
        raise ValueError(f"to must be /workspace or below it, got {to[:200]!r}.")
    return "/".join(parts[1:])


def _stays_inside(path: str, target: str) -> bool:
    """Whether a link stays in the folder, by its text: each `..` must precede every name."""
    parts = [part for part in target.split("/") if part not in ("", ".")]
    names = [part for part in parts if part != ".."]
    if target.startswith("/") or not parts or parts[len(parts) - len(names) :] != names:
        return False
    resolved = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return resolved != ".." and not resolved.startswith("../")
