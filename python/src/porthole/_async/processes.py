from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from .._requests import given, runnable, segment
from ..errors import PortholeError
from ..streams import OutputEvent, read_output_event
from ..types import ProcessExit, ProcessInfo, Runnable, TerminalSize
from .http import AsyncHttp

# Longest wait of one call in seconds, below the timeouts of proxies, and the time for its response.
WAIT = 60.0
ANSWER = 15.0


async def read_output(
    http: AsyncHttp, path: str, query: Mapping[str, Any], since: int | None, follow: bool
) -> AsyncGenerator[OutputEvent, None]:
    """Output from a cursor on. With `follow` a lost connection is reopened at the last cursor."""
    query = {**query, "follow": follow}
    if follow:
        events = http.follow(path, query, since)
    else:
        headers = {"accept": "text/event-stream"}
        query = {**query, "since": since}
        events = http.read_events(await http.send("GET", path, query=query, headers=headers, stream=True))
    async with aclosing(events):
        async for event in events:
            yield read_output_event(event)


class AsyncProcess:
    """A process that outlives the connection that started it."""

    def __init__(self, http: AsyncHttp, processes_path: str, info: ProcessInfo) -> None:
        self.id = info["id"]
        #: The API's last response about it.
        self.info = info
        self._http = http
        self._path = f"{processes_path}/{segment(self.id)}"

    async def refresh(self) -> ProcessInfo:
        self.info = await self._http.json("GET", self._path)
        return self.info

    async def output(
        self, *, since: int | None = None, follow: bool = True
    ) -> AsyncGenerator[OutputEvent, None]:
        """Its output, until its exit. Reconnects after a lost connection."""
        async with aclosing(read_output(self._http, f"{self._path}/output", {}, since, follow)) as events:
            async for event in events:
                yield event
                if event.type == "exit":
                    return

    async def input(self, content: str | bytes, *, eof: bool = False) -> None:
        """Returns once the bytes are in its pipe. Raises PortholeError `process_exited`."""
        query = {"eof": eof or None}
        await self._http.send("POST", f"{self._path}/input", query=query, content=content, timeout=None)

    async def signal(self, name: str = "SIGTERM") -> ProcessInfo:
        """Signals its whole process group; does nothing after its exit."""
        return await self._post("signal", {"signal": name})

    async def resize(self, cols: int, rows: int) -> ProcessInfo:
        return await self._post("resize", {"cols": cols, "rows": rows})

    async def wait(self, timeout: float = math.inf) -> ProcessExit:
        """Its exit. Raises PortholeError `wait_timed_out`."""
        until = time.monotonic() + timeout
        while True:
            left = max(0.0, min(WAIT, until - time.monotonic()))
            try:
                info = await self._post("wait", {"timeout_ms": math.ceil(left * 1_000)}, left + ANSWER)
                if info["exit"] is not None:
                    return info["exit"]
            except PortholeError as error:
                if error.code != "wait_timed_out" or time.monotonic() >= until:
                    raise

    async def remove(self) -> None:
        """Kills it if it runs, and removes its output."""
        await self._http.send("DELETE", self._path)

    async def _post(self, what: str, body: Mapping[str, Any], timeout: float = 120) -> ProcessInfo:
        self.info = await self._http.json("POST", f"{self._path}/{what}", json=body, timeout=timeout)
        return self.info


class AsyncProcesses:
    """The processes of a sandbox that outlive their connections."""

    def __init__(self, http: AsyncHttp, sandbox_path: str) -> None:
        self._http = http
        self._path = f"{sandbox_path}/processes"

    async def start(
        self,
        command: Runnable,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        name: str | None = None,
        stdin: bool | None = None,
        tty: TerminalSize | None = None,
        timeout: float | None = None,
        output_bytes: int | None = None,
    ) -> AsyncProcess:
        """A program that cannot be started becomes a process that exited with 126 or 127."""
        limit = None if timeout is None else round(timeout * 1_000)
        fields = given(
            cwd=cwd, env=env, name=name, stdin=stdin, tty=tty, timeout_ms=limit, output_bytes=output_bytes
        )
        info = await self._http.json("POST", self._path, json={**runnable(command), **fields})
        return AsyncProcess(self._http, self._path, info)

    async def list(self) -> Sequence[AsyncProcess]:
        """The running ones and the last 100 that exited, newest first."""
        listed = (await self._http.json("GET", self._path))["processes"]
        return [AsyncProcess(self._http, self._path, info) for info in listed]

    async def get(self, process_id: str) -> AsyncProcess:
        info = await self._http.json("GET", f"{self._path}/{segment(process_id)}")
        return AsyncProcess(self._http, self._path, info)
