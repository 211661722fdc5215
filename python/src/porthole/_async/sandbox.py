from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

import httpx

from .._io_async import AsyncKeepAlive, begin
from .._requests import given, heartbeat_every, runnable, sandbox_config, segment, words
from ..errors import CommandFailed, invalid_answer
from ..streams import Collected, CommandEvent, CommandResult, read_command_event
from ..types import (
    CodeRun,
    DelegationInfo,
    Event,
    OnExit,
    PortInfo,
    PortState,
    PreviewStart,
    Readiness,
    Restart,
    Runnable,
    SandboxConfig,
    SandboxInfo,
    Scope,
    ServerInfo,
)
from .checkpoints import AsyncCheckpoints
from .code import AsyncCodeContexts
from .files import AsyncFiles
from .http import AsyncHttp
from .processes import AsyncProcesses, read_output
from .terminal import AsyncTerminal

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..streams import OutputEvent
    from .client import AsyncRuns
    from .run import AsyncPreview, AsyncRun

MOST_BYTES = 16_777_216
# Extra seconds for the response, beyond a wait itself.
ANSWER = 15.0


class AsyncCommand:
    """A running command. Read it once: iterate, or call `collect` or `text`.

    Leaving the iteration early ends the command; a slow reader makes it wait.
    """

    def __init__(self, http: AsyncHttp, program: str, response: Any) -> None:
        self._http = http
        self._program = program
        self._response = response
        self._is_read = False

    async def __aiter__(self) -> AsyncGenerator[CommandEvent, None]:
        if self._is_read:
            raise RuntimeError("The output of a command can be read once: run it again.")
        self._is_read = True
        response: httpx.Response = await self._response
        is_over = False
        async with aclosing(self._http.read_events(response)) as events:
            async for event in events:
                parsed = read_command_event(event)
                is_over = parsed.type == "exit"
                yield parsed
        if not is_over:
            raise invalid_answer("it does not say how the command ended")

    async def collect(self, max_bytes: int = MOST_BYTES) -> CommandResult:
        """All of it, whatever the exit code; at most `max_bytes` of each stream."""
        collected = Collected(max_bytes)
        async for event in self:
            collected.add(event)
        return collected.result()

    async def text(self, max_bytes: int = MOST_BYTES) -> str:
        """Its stdout. Raises CommandFailed on a nonzero exit."""
        result = await self.collect(max_bytes)
        if result.exit_code != 0:
            raise CommandFailed(self._program, result.exit_code, result.stdout, result.stderr)
        return result.stdout


class AsyncServers:
    """Servers that start again after their exit, after a resume and after a restart of Porthole."""

    def __init__(self, http: AsyncHttp, sandbox_path: str) -> None:
        self._http = http
        self._path = f"{sandbox_path}/servers"

    async def declare(
        self,
        name: str,
        command: Runnable,
        *,
        port: int | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        restart: Restart | None = None,
        readiness: Readiness | None = None,
    ) -> ServerInfo:
        """Declares and starts a server. Raises PortholeError `server_exists`."""
        fields = given(cwd=cwd, env=env, port=port, restart=restart, readiness=readiness)
        info: ServerInfo = await self._http.json("PUT", self._of(name), json={**runnable(command), **fields})
        return info

    async def list(self) -> Sequence[ServerInfo]:
        servers: Sequence[ServerInfo] = (await self._http.json("GET", self._path))["servers"]
        return servers

    async def get(self, name: str) -> ServerInfo:
        info: ServerInfo = await self._http.json("GET", self._of(name))
        return info

    async def start(self, name: str) -> ServerInfo:
        """Returns at once: the state shows the progress."""
        return await self._change(name, "start")

    async def stop(self, name: str) -> ServerInfo:
        """It stays declared, and stays stopped after a resume."""
        return await self._change(name, "stop")

    async def restart(self, name: str) -> ServerInfo:
        return await self._change(name, "restart")

    async def remove(self, name: str) -> None:
        """Stops it, and removes its declaration and its logs."""
        await self._http.send("DELETE", self._of(name))

    def logs(
        self, name: str, *, tail: int | None = None, since: int | None = None, follow: bool = True
    ) -> AsyncGenerator[OutputEvent, None]:
        """The output of all its starts. With `follow` it goes on until you leave the loop."""
        return read_output(self._http, f"{self._of(name)}/logs", {"tail": tail}, since, follow)

    def _of(self, name: str) -> str:
        return f"{self._path}/{segment(name)}"

    async def _change(self, name: str, how: str) -> ServerInfo:
        info: ServerInfo = await self._http.json("POST", f"{self._of(name)}/{how}")
        return info


class AsyncPorts:
    """Listening ports of a sandbox."""

    def __init__(self, http: AsyncHttp, sandbox_path: str) -> None:
        self._http = http
        self._path = f"{sandbox_path}/ports"

    async def list(self) -> Sequence[PortInfo]:
        ports: Sequence[PortInfo] = (await self._http.json("GET", self._path))["ports"]
        return ports

    async def wait(self, port: int, *, state: str | None = None, timeout: float = 30) -> PortState:
        """Returns once it is `listening` or `closed`. Raises PortholeError `wait_timed_out`."""
        found: PortState = await self._http.json(
            "POST",
            f"{self._path}/{port}/wait",
            json=given(state=state, timeout_ms=round(timeout * 1_000)),
            timeout=timeout + ANSWER,
        )
        return found


class AsyncDelegation:
    """A delegation of part of a sandbox."""

    def __init__(self, http: AsyncHttp, path: str, info: Mapping[str, str], sandbox: tuple[str, str]) -> None:
        self.id = info["delegation_id"]
        self._http = http
        self._path = f"{path}/delegations/{segment(self.id)}"
        self._sandbox = sandbox
        self._take(info)

    def _take(self, info: Mapping[str, str]) -> None:
        #: Opaque. Anyone who has it can use the delegation.
        self.token = info["token"]
        self.expires_at = datetime.fromisoformat(info["expires_at"].replace("Z", "+00:00"))

    def sandbox_config(self) -> dict[str, dict[str, SandboxConfig]]:
        """The part of a run's configuration for the server that gets it."""
        sandbox_id, url = self._sandbox
        return sandbox_config(sandbox_id, self.token, url)

    async def renew(self) -> None:
        """Restarts its lifetime. The token that was handed over remains valid."""
        self._take(await self._http.json("POST", f"{self._path}/renew", idempotent=True))

    async def revoke(self) -> None:
        """Ends it at once, everywhere."""
        await self._http.send("DELETE", self._path)


class AsyncSandbox:
    """A sandbox, by its id. No request is sent until an operation needs one."""

    def __init__(
        self,
        http: AsyncHttp,
        sandbox_id: str,
        runs: AsyncRuns | None = None,
        *,
        info: SandboxInfo | None = None,
        token: str | None = None,
        on_exit: OnExit = "keep",
    ) -> None:
        self.id = sandbox_id
        #: The API's last response about it.
        self.info = info
        self._http = http
        self._path = path = f"v1/sandbox/{segment(sandbox_id)}"
        # A delegate has none: it cannot make runs.
        self._runs = runs
        self._token = token
        self._on_exit = on_exit
        self._run: AsyncRun | None = None
        self._heartbeat: AsyncKeepAlive | None = None
        self._previews: list[AsyncPreview] = []
        self.files = AsyncFiles(http, path)
        self.processes = AsyncProcesses(http, path)
        self.servers = AsyncServers(http, path)
        self.ports = AsyncPorts(http, path)
        self.checkpoints = AsyncCheckpoints(http, path)
        self.code_contexts = AsyncCodeContexts(http, path)

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stops heartbeats and keepalives. With `on_exit="delete"` the sandbox is deleted."""
        self._let_go()
        if self._on_exit == "delete":
            await self.delete()

    @property
    def dataplane_url(self) -> str:
        """URL for holders of a credential of this sandbox."""
        return self._http.url + self._path

    async def refresh(self) -> SandboxInfo:
        info: SandboxInfo = await self._http.json("GET", self._path)
        self.info = info
        return info

    def exec(
        self,
        command: Runnable,
        *,
        cwd: str | None = None,
        timeout: float | None = None,
        session: str | None = None,
    ) -> AsyncCommand:
        """Begins a command: arguments without a shell, or a line for the sandbox's shell.

        After `timeout` seconds it is killed. Read its result: `.text()`, `.collect()` or a loop.
        """
        argv = words(command)
        limit = None if timeout is None else round(timeout * 1_000)
        response = self._http.send(
            "POST",
            f"{self._path}/exec",
            json=given(argv=argv, cwd=cwd, timeout_ms=limit),
            headers={"accept": "text/event-stream", "session-id": session},
            timeout=None,
            stream=True,
        )
        return AsyncCommand(self._http, argv[0] if argv else "", begin(response))

    async def run_code(
        self,
        code: str,
        *,
        language: str | None = None,
        context: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CodeRun:
        """Runs code in a context, which keeps its variables: the default one of the language.

        After `timeout` seconds (60 by default) it is interrupted. What the code throws is its
        `exception`. Raises PortholeError `code_interpreter_missing`, `context_not_found`.
        """
        limit = None if timeout is None else round(timeout * 1_000)
        body = given(code=code, language=language, context=context, env=env, timeout_ms=limit)
        headers = {"accept": "application/json"}
        answer = await self._http.json(
            "POST", f"{self._path}/code", json=body, headers=headers, timeout=None
        )
        return cast(CodeRun, answer)

    async def terminal(
        self,
        *,
        cols: int | None = None,
        rows: int | None = None,
        shell: str | None = None,
        session: str | None = None,
    ) -> AsyncTerminal:
        """Opens a terminal, 80 × 24 by default; its shell takes input when this returns."""
        query = {"cols": cols, "rows": rows, "shell": shell, "session": session}
        terminal = AsyncTerminal(await self._http.socket(f"{self._path}/pty", query))
        try:
            await terminal.wait_ready()
        except BaseException:
            await terminal.aclose()
            raise
        return terminal

    async def create_session(
        self, *, id: str | None = None, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> str:
        """A working directory and environment for later commands; returns its id."""
        session = await self._http.json("POST", f"{self._path}/session", json=given(id=id, cwd=cwd, env=env))
        return str(session["id"])

    async def delete_session(self, session: str) -> None:
        await self._http.send("DELETE", f"{self._path}/session/{segment(session)}")

    def events(self, *, after: str | None = None) -> AsyncGenerator[Event, None]:
        """Events of the sandbox, by any caller. Reconnects after a loss."""
        return self._http.timeline(f"{self._path}/events", after)

    async def stop(self) -> SandboxInfo:
        """Ends its processes and keeps its files."""
        return await self._change("stop")

    async def resume(self) -> SandboxInfo:
        return await self._change("resume")

    async def delete(self) -> None:
        """Destroys it, with its files."""
        self._let_go()
        await self._http.send("DELETE", self._path)

    async def heartbeat(self) -> None:
        await self._http.send("POST", f"{self._path}/heartbeat", idempotent=True)

    async def set_timeout(
        self, seconds: int | None, *, on_timeout: Literal["stop", "delete"] | None = None
    ) -> SandboxInfo:
        """Ends it after this time, whatever it does; None: never."""
        body = {"seconds": seconds, **given(on_timeout=on_timeout)}
        info: SandboxInfo = await self._http.json("PUT", f"{self._path}/timeout", json=body)
        self.info = info
        return info

    def keep_alive(self, ttl_seconds: float) -> AsyncKeepAlive:
        """Sends heartbeats until it is closed or gone."""
        if self._heartbeat is None:
            self._heartbeat = AsyncKeepAlive(self.heartbeat, heartbeat_every(ttl_seconds))
        return self._heartbeat

    async def delegate(
        self,
        scopes: Sequence[Scope],
        *,
        commands: Sequence[str] | None = None,
        paths: Sequence[str] | None = None,
        ttl_seconds: int | None = None,
        renewable: bool | None = None,
        label: str | None = None,
    ) -> AsyncDelegation:
        """Delegates part of it, for a limited time.

        `commands`: the only programs that may run. `paths`: the only folders that may be used;
        not together with the scope `exec`.
        """
        fields = given(
            commands=commands, paths=paths, ttl_seconds=ttl_seconds, renewable=renewable, label=label
        )
        body = {"scopes": list(scopes), **fields}
        info = await self._http.json("POST", f"{self._path}/delegate", json=body)
        return AsyncDelegation(self._http, self._path, info, (self.id, self.dataplane_url))

    async def delegations(self) -> Sequence[DelegationInfo]:
        listed: Sequence[DelegationInfo] = (await self._http.json("GET", f"{self._path}/delegations"))[
            "delegations"
        ]
        return listed

    async def rotate_token(self) -> str:
        """A new token with all scopes; the previous one becomes invalid."""
        answer = await self._http.json("POST", f"{self._path}/token")
        self._token = str(answer["sandbox_token"])
        return self._token

    def sandbox_config(self) -> dict[str, dict[str, SandboxConfig]]:
        """The part of a run's configuration for a server, with the sandbox's token."""
        if self._token is None:
            raise ValueError("No token to hand over: call delegate() or rotate_token() first.")
        return sandbox_config(self.id, self._token, self.dataplane_url)

    async def preview(
        self, port: int, *, keep_alive: float = 60, **start: Unpack[PreviewStart]
    ) -> AsyncPreview:
        """Opens a preview of a port, on a run made for it, and keeps it alive."""
        if self._runs is None:
            raise ValueError("A delegate cannot open previews: ask the owner.")
        if self._run is None:
            self._run = await self._runs.create(sandbox_id=self.id)
        preview = await self._run.preview(port, keep_alive=keep_alive, **start)
        self._previews.append(preview)
        return preview

    def _let_go(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop()
        self._heartbeat = None
        for preview in self._previews:
            preview.let_go()
        self._previews.clear()

    async def _change(self, how: str) -> SandboxInfo:
        info: SandboxInfo = await self._http.json("POST", f"{self._path}/{how}", idempotent=True)
        self.info = info
        return info
