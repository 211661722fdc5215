"""Uploads of a folder of this machine."""

from __future__ import annotations

import hashlib
import io
import json
import os
import posixpath
import stat
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ._ignore import included

# Bytes of an archive of several files, which is held: less the end of the archive and its padding.
MOST_ARCHIVE = 33_554_432 - tarfile.RECORDSIZE
# The form of the memory of uploads.
VERSION = 1
# A timestamp of a file may be this coarse, in nanoseconds.
YOUNG_NS = 2_000_000_000


@dataclass
class Entry:
    """What is known of a path: `digest` is the SHA-256 of a file, or the target of a link."""

    kind: str
    size: int
    mode: int
    mtime_ns: int
    digest: str
    #: Of the last change of content or attributes: no program can set it.
    ctime_ns: int = 0
    inode: int = 0

    @property
    def stamp(self) -> tuple[int, ...]:
        """What git compares before it reads a file again."""
        return (self.size, self.mtime_ns, self.ctime_ns, self.inode)

    def is_like(self, other: Entry | None) -> bool:
        """Whether the content and the permissions are the same."""
        return other is not None and (self.kind, self.mode, self.digest) == (
            other.kind,
            other.mode,
            other.digest,
        )


class Uploaded(NamedTuple):
    #: Files, links and folders that were sent.
    sent: int
    #: Those that an earlier upload sent, and that are gone here.
    removed: int
    unchanged: int


class FolderUpload:
    """What an upload of a folder has to send: all of it the first time, then what has changed.

    What was sent is remembered in a file of the user's cache. After an interruption, what was
    under way is sent again.
    """

    def __init__(self, folder: str, to: str, excludes: Sequence[str], sandbox: tuple[str, str], full: bool):
        self._root = Path(folder)
        if not self._root.is_dir():
            raise ValueError(f"{folder} is no folder: give one to upload.")
        self._below = _below_workspace(to)
        self._sandbox = sandbox
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        name = hashlib.sha256(json.dumps([sandbox[0], str(self._root.resolve()), self._below]).encode())
        self._memory = Path(cache, "porthole", "upload", f"{name.hexdigest()[:32]}.json")
        self._read_at = time.time_ns()
        self._sent = self._recall()
        self._now = self._scan(excludes)
        known = {} if full else self._sent
        self._changed = [path for path, entry in self._now.items() if not entry.is_like(known.get(path))]
        #: Paths to remove in the sandbox, relative to /workspace; inner ones first.
        self.removals = [
            posixpath.join(self._below, path)
            for path, entry in sorted(self._sent.items(), reverse=True)
            if path not in self._now or (entry.kind == "folder") != (self._now[path].kind == "folder")
        ]

    @property
    def uploaded(self) -> Uploaded:
        changed = len(self._changed)
        return Uploaded(changed, len(self.removals), len(self._now) - changed)

    def begin(self) -> None:
        """Forgets what is about to be sent."""
        doubtful = {path: replace(self._now[path], digest="") for path in self._changed}
        self._remember({**self._sent, **doubtful})

    def end(self) -> None:
        """Remembers what the sandbox has now."""
        self._remember(self._now)

    def archives(self) -> Iterator[bytes]:
        """Plain tars for /workspace, of 32 MiB or of one larger file."""
        buffer = io.BytesIO()
        archive = tarfile.open(fileobj=buffer, mode="w")
        for path in self._changed:
            info = archive.gettarinfo(str(self._root / path), posixpath.join(self._below, path))
            # A hard link would need its target in the same archive.
            if info.islnk():
                info.type, info.size = tarfile.REGTYPE, (self._root / path).stat().st_size
            # Names and owners of this machine mean nothing there.
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            if archive.offset > 0 and archive.offset + info.size + 4 * tarfile.BLOCKSIZE > MOST_ARCHIVE:
                archive.close()
                yield buffer.getvalue()
                buffer = io.BytesIO()
                archive = tarfile.open(fileobj=buffer, mode="w")
            if info.isreg():
                with open(self._root / path, "rb") as file:
                    archive.addfile(info, file)
            else:
                archive.addfile(info)
        archive.close()
        if self._changed:
            yield buffer.getvalue()

    def _scan(self, excludes: Sequence[str]) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for path in included(self._root, excludes):
            file = self._root / path
            facts = os.lstat(file)
            mode = stat.S_IMODE(facts.st_mode)
            if stat.S_ISDIR(facts.st_mode):
                found[path] = Entry("folder", 0, mode, 0, "")
            elif stat.S_ISLNK(facts.st_mode):
                target = os.readlink(file)
                if _stays_inside(path, target):
                    found[path] = Entry("link", 0, mode, 0, target)
            elif stat.S_ISREG(facts.st_mode):
                found[path] = Entry(
                    "file", facts.st_size, mode, facts.st_mtime_ns, "", facts.st_ctime_ns, facts.st_ino
                )
                found[path].digest = self._digest_of(path, found[path])
        return found

    def _digest_of(self, path: str, entry: Entry) -> str:
        before = self._sent.get(path)
        # A file that changed just before it was read may have changed again within its timestamp.
        if (
            before is not None
            and before.digest
            and before.stamp == entry.stamp
            and entry.ctime_ns < self._sent_at - YOUNG_NS
        ):
            return before.digest
        with open(self._root / path, "rb") as file:
            digest = hashlib.sha256()
            while chunk := file.read(1_048_576):
                digest.update(chunk)
        return digest.hexdigest()

    def _recall(self) -> dict[str, Entry]:
        self._sent_at = 0
        try:
            known = json.loads(self._memory.read_text("utf-8"))
            if known["version"] != VERSION or known["created_at"] != self._sandbox[1]:
                return {}
            self._sent_at = int(known["read_at"])
            return {path: Entry(*facts) for path, facts in known["entries"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}  # Everything is sent again.

    def _remember(self, entries: Mapping[str, Entry]) -> None:
        known = {
            "version": VERSION,
            "created_at": self._sandbox[1],
            "read_at": self._read_at,
            "entries": {path: astuple(entry) for path, entry in entries.items()},
        }
        self._memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=self._memory.parent, delete=False
        ) as file:
            json.dump(known, file)
        os.replace(file.name, self._memory)


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
