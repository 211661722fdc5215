from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from .._requests import given, segment
from ..types import (
    Checkpoint,
    CheckpointChanges,
    CheckpointList,
    ForkedSandboxes,
    RestoredCheckpoint,
    SandboxComparison,
)
from .http import AsyncHttp


class AsyncCheckpoints:
    """What a sandbox can go back to."""

    def __init__(self, http: AsyncHttp, sandbox_path: str) -> None:
        self._http = http
        self._sandbox = sandbox_path
        self._path = f"{sandbox_path}/checkpoints"

    async def create(self, label: str | None = None, *, memory: bool | None = None) -> Checkpoint:
        """Stores its files and declared servers. A stopped sandbox is resumed.

        With `memory` also its processes, or PortholeError `memory_not_supported`. By default they
        are stored where the sandbox can do that.
        """
        return cast(Checkpoint, await self._post(self._path, **given(label=label, memory=memory)))

    async def list(self) -> CheckpointList:
        """Oldest first, and the one that the sandbox is at."""
        return cast(CheckpointList, await self._http.json("GET", self._path))

    async def get(self, checkpoint: str) -> Checkpoint:
        """Raises PortholeError `checkpoint_not_found`."""
        return cast(Checkpoint, await self._http.json("GET", self._of(checkpoint)))

    async def delete(self, checkpoint: str) -> None:
        await self._http.send("DELETE", self._of(checkpoint))

    async def changes(self, checkpoint: str, *, since: str | None = None) -> CheckpointChanges:
        """Files that differ from another checkpoint, or from its parent."""
        query = given(since=since)
        return cast(
            CheckpointChanges,
            await self._http.json("GET", f"{self._of(checkpoint)}/changes", query=query),
        )

    async def restore(self, checkpoint: str) -> RestoredCheckpoint:
        """Makes the files and servers those of the checkpoint, after a checkpoint of the present."""
        return cast(RestoredCheckpoint, await self._post(f"{self._of(checkpoint)}/restore"))

    async def fork(
        self,
        checkpoint: str,
        *,
        count: int = 1,
        previews: bool = False,
        variables: Sequence[str] = (),
        memory: bool | None = None,
    ) -> ForkedSandboxes:
        """New sandboxes with its files and servers, and why some could not be made.

        With `previews` each gets a run with the previews of the original, at new URLs. `variables`
        are names of variables and secrets that they get, too.
        """
        fields = given(count=count, previews=previews, variables=list(variables), memory=memory)
        return cast(ForkedSandboxes, await self._post(f"{self._of(checkpoint)}/fork", **fields))

    async def keep(self, fork: str, *, delete: bool = False) -> RestoredCheckpoint:
        """Makes the files and servers those of a fork, after a checkpoint of the present.

        Previews keep their URLs. With `delete` the fork ends.
        """
        fields = {"fork": fork, "delete": delete}
        return cast(RestoredCheckpoint, await self._post(f"{self._sandbox}/keep", **fields))

    async def compare(self, other: str, *, texts: Sequence[str] = ()) -> SandboxComparison:
        """What differs from this sandbox to a fork of it, or between two forks, at present.

        `texts` are at most 20 files of which both texts are returned.
        """
        fields = {"with": other, "texts": list(texts)}
        return cast(SandboxComparison, await self._post(f"{self._sandbox}/compare", **fields))

    async def _post(self, path: str, **fields: object) -> object:
        """All files may be read or written, so it takes as long as they need."""
        return await self._http.json("POST", path, json=fields, timeout=None)

    def _of(self, checkpoint: str) -> str:
        return f"{self._path}/{segment(checkpoint)}"
