from __future__ import annotations

import posixpath
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import IO, Any, Literal, cast

from .._folder import FolderUpload, Uploaded
from .._requests import file_path
from ..errors import PortholeError, parse_object
from ..types import Contents, FileChange, FileListing, TextMatches
from .http import AsyncHttp

# `bytes` is a method below.
Data = bytes
# Bytes of the body of a PUT: the API's limit. Larger files are sent as a form, which has none.
MOST_PUT = 33_554_432


class AsyncFiles:
    """The files of a sandbox. Paths are absolute, or relative to /workspace."""

    def __init__(self, http: AsyncHttp, sandbox_path: str) -> None:
        self._http = http
        self._path = sandbox_path

    def stream(self, path: str) -> AsyncGenerator[Data, None]:
        return self._http.stream("GET", self._of(path))

    async def bytes(self, path: str) -> Data:
        """Raises PortholeError `workspace_read_not_found`."""
        return (await self._http.send("GET", self._of(path))).content

    async def text(self, path: str) -> str:
        """As UTF-8."""
        return (await self.bytes(path)).decode("utf-8", "replace")

    async def write(self, path: str, content: str | Data | IO[Data]) -> None:
        """Atomic; makes missing folders. An open binary file is sent as it is read."""
        address = self._of(path)
        data = content.encode() if isinstance(content, str) else content
        if isinstance(data, Data) and len(data) <= MOST_PUT:
            await self._http.send("PUT", address, content=data, timeout=None)
            return
        folder, name = posixpath.split(posixpath.join("/workspace", path))
        await self._http.send(
            "POST",
            f"{self._path}/files",
            query={"path": folder},
            files=[("files", (name, data))],
            # What was read of a file cannot be sent again.
            idempotent=isinstance(data, Data),
            timeout=None,
        )

    async def delete(self, path: str, *, recursive: bool = False) -> None:
        """Deletes a file, a link itself, or a folder; a nonempty one needs `recursive`."""
        await self._http.send("DELETE", self._of(path), query={"recursive": recursive or None})

    async def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Raises PortholeError `file_exists`, `workspace_read_not_found`."""
        body = {"from": source, "to": target, "overwrite": overwrite}
        await self._http.send("POST", f"{self._path}/move", json=body)

    async def make_folder(self, path: str) -> None:
        """With the missing folders above it. One that exists stays as it is."""
        await self._http.send("POST", f"{self._path}/folder", json={"path": path}, idempotent=True)

    async def search(
        self, text: str, path: str = "/workspace", *, skip: Sequence[str] | None = None
    ) -> TextMatches:
        """Lines of text files that contain a text, in upper or lower case; at most 500.

        `skip`: names of folders to leave out; without it node_modules, .git, .venv and __pycache__.
        """
        query = {"text": text, "path": path, "skip": None if skip is None else ",".join(skip)}
        return cast(TextMatches, await self._http.json("GET", f"{self._path}/search", query=query))

    async def list(
        self, path: str = "/workspace", *, depth: int | None = None, skip: Sequence[str] = ()
    ) -> FileListing:
        """`skip`: names of folders to leave out, at any depth."""
        query = {"path": path, "depth": depth, "skip": ",".join(skip) or None}
        return cast(FileListing, await self._http.json("GET", f"{self._path}/files", query=query))

    async def watch(
        self, path: str = "/workspace", *, recursive: bool = True
    ) -> AsyncGenerator[FileChange, None]:
        """Changes below a folder, as they come."""
        response = await self._http.send(
            "GET",
            f"{self._path}/watch",
            query={"path": path, "recursive": recursive},
            headers={"accept": "text/event-stream"},
            stream=True,
        )
        async with aclosing(self._http.read_events(response)) as events:
            async for event in events:
                yield cast(FileChange, parse_object(event.data))

    async def upload(self, files: Contents, *, to: str | None = None) -> None:
        """Writes up to 1,000 files of any size, all or none."""
        form: list[tuple[str, Any]] = [("files", (name, content)) for name, content in files.items()]
        # Writing the same again changes nothing.
        await self._http.send(
            "POST", f"{self._path}/files", query={"path": to}, files=form, idempotent=True, timeout=None
        )

    async def upload_folder(
        self, folder: str, *, to: str = "/workspace", excludes: Sequence[str] = (), full: bool = False
    ) -> Uploaded:
        """Sends a folder of this machine, without what `.gitignore` and `.portholeignore` files name.

        The first time all of it, then what has changed; `full` sends everything again. Files that an
        earlier upload sent and that are gone here are removed; others that are only there stay.
        """
        info = await self._http.json("GET", self._path)
        upload = FolderUpload(folder, to, excludes, (self._http.url + self._path, info["created_at"]), full)
        upload.begin()
        for path in upload.removals:
            try:
                await self.delete(path)
            except PortholeError as error:
                # A folder may have files that no upload sent (400), and a path may be gone (404).
                if error.status not in (400, 404):
                    raise
        for archive in upload.archives():
            await self.hydrate(archive)
        upload.end()
        return upload.uploaded

    def download(
        self, path: str = "/workspace", *, format: Literal["tar", "zip"] = "tar"
    ) -> AsyncGenerator[Data, None]:
        """A folder as an archive; its members are named `./…`."""
        return self._http.stream("GET", f"{self._path}/archive", query={"path": path, "format": format})

    def persist(self, *, excludes: Sequence[str] = ()) -> AsyncGenerator[Data, None]:
        """/workspace as a plain tar, without the paths in `excludes`."""
        query = {"excludes": ",".join(excludes) or None}
        return self._http.stream("POST", f"{self._path}/persist", query=query, idempotent=True)

    async def hydrate(self, archive: Data) -> None:
        """Unpacks a plain tar over /workspace; the rest of it stays."""
        # Unpacking it again changes nothing.
        await self._http.send("POST", f"{self._path}/hydrate", content=archive, idempotent=True, timeout=None)

    def _of(self, path: str) -> str:
        return f"{self._path}/file/{file_path(path)}"
