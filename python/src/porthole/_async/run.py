from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import httpx

from .._io_async import AsyncKeepAlive
from .._requests import TIMEOUT, given, segment
from ..errors import PortholeError
from ..streams import OutputText
from ..types import (
    Approval,
    ApprovalScope,
    Contents,
    DoctorReport,
    Event,
    InboxMessage,
    PageCheck,
    PageLook,
    PreviewInfo,
    PreviewStart,
    Readiness,
    Restart,
    RunInfo,
    Runnable,
    RunViewer,
    ServerInfo,
    Sharing,
)
from .files import AsyncFiles
from .http import AsyncHttp
from .processes import AsyncProcesses
from .sandbox import AsyncCommand, AsyncPorts, AsyncSandbox, AsyncServers
from .sharing import AsyncPreviewSharing

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..streams import OutputEvent


class AsyncPreview:
    """A live preview. It stays alive until you release it or it ends."""

    def __init__(self, http: AsyncHttp, run_id: str, info: PreviewInfo, keep_alive: float) -> None:
        self.info = info
        #: Its access level, links and visitors, for the owner of the run.
        self.sharing = AsyncPreviewSharing(http, info["session_id"])
        self._http = http
        self._path = f"api/runs/{segment(run_id)}/sandbox"
        self._keep_alive: AsyncKeepAlive | None = None
        # Valid for ten minutes; another one is needed then, and after each change of the level.
        self._pass: str | None = None
        if info["keepalive_url"] is not None and keep_alive > 0:
            self._keep_alive = AsyncKeepAlive(self.touch, keep_alive)

    def __str__(self) -> str:
        """Its URL. Anyone with the link can see the app."""
        return self.url

    def __repr__(self) -> str:
        # Without the URL: representations go to logs.
        return f"<{type(self).__name__} port={self.port} ready={self.ready}>"

    async def __aenter__(self) -> AsyncPreview:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.let_go()

    @property
    def port(self) -> int:
        return self.info["target_port"]

    @property
    def url(self) -> str:
        """Anyone with the link can see the app."""
        port = self.info["local_port"]
        # Never a bare loopback address: cookies know no ports, so the app would get the console's.
        return self.info["preview_url"] or f"http://preview-{port}.localhost:{port}/"

    @property
    def ready(self) -> bool:
        """Whether the app answered when the preview was opened."""
        return self.info.get("ready", True)

    @property
    def error(self) -> PortholeError | None:
        """Why it ended, if a keepalive has found that."""
        return None if self._keep_alive is None else self._keep_alive.error

    async def fetch(self, path: str = "/", *, method: str = "GET", **request: Any) -> httpx.Response:
        """Requests a path of the app, also where the system does not resolve `*.localhost`.

        Takes what `httpx` takes: `headers`, `params`, `json`, `content`, `timeout` …
        Where only some may open the preview, the owner gets in by a pass.
        """
        url = httpx.URL(self.url).join(path)
        response = await self._send(method, url, request)
        is_refused = response.headers.get("x-porthole-status") == "access_required"
        # A stream can be sent once only.
        if not is_refused or not isinstance(request.get("content"), (str, bytes, type(None))):
            return response
        self._pass = await self.sharing.get_pass()
        return response if self._pass is None else await self._send(method, url, request)

    async def _send(self, method: str, url: httpx.URL, request: Mapping[str, Any]) -> httpx.Response:
        headers = httpx.Headers(request.get("headers"))
        if self._pass is not None:
            headers["x-porthole-pass"] = self._pass
        return await self._http.previews.request(method, url, **{**request, "headers": headers})

    async def touch(self) -> None:
        """Extends its expiry once."""
        await self._http.send("POST", f"{self._path}/preview/{self._id}/keepalive", idempotent=True)

    def let_go(self) -> None:
        """Stops keepalives. The preview lives on until it exceeds its idle time."""
        if self._keep_alive is not None:
            self._keep_alive.stop()

    async def stop(self) -> None:
        """Ends it. Its URL never works again."""
        self.let_go()
        await self._http.send("DELETE", f"{self._path}/port-forward/{self._id}")

    @property
    def _id(self) -> str:
        return segment(self.info["session_id"])


class AsyncServer:
    """A declared server of a run. It starts again after a failure, and with its sandbox."""

    def __init__(self, run: AsyncRun, info: ServerInfo) -> None:
        self.name = info["name"]
        self.port = info["port"]
        self._run = run

    async def info(self) -> ServerInfo:
        return await self._run.servers.get(self.name)

    async def preview(self, *, keep_alive: float = 60, **start: Unpack[PreviewStart]) -> AsyncPreview:
        """Opens its preview; returns once it serves, or after ten seconds (`ready` says which).

        Raises PortholeError `server_failed`, with its last lines.
        """
        if self.port is None:
            raise ValueError("The server has no port: declare it with port=3000, for instance.")
        preview = await self._run.preview(self.port, keep_alive=keep_alive, **start)
        if preview.info.get("reason") != "server_failed":
            return preview
        preview.let_go()
        lines = "".join(f"\n  {line}" for line in preview.info.get("log", [])) or " none."
        message = f"Server {self.name} failed. Its last lines:{lines}"
        raise PortholeError(message, code="server_failed", status=200, retryable=False)

    def logs(
        self, *, tail: int | None = None, since: int | None = None, follow: bool = True
    ) -> AsyncGenerator[OutputEvent, None]:
        """The output of all its starts. With `follow` it goes on until you leave the loop."""
        return self._run.servers.logs(self.name, tail=tail, since=since, follow=follow)

    async def log(self, *, tail: int | None = None) -> str:
        """The output of all its starts so far, as text."""
        output = OutputText()
        async for event in self.logs(tail=tail, follow=False):
            output.add(event)
        return output.text()

    async def restart(self) -> ServerInfo:
        return await self._run.servers.restart(self.name)

    async def stop(self) -> ServerInfo:
        """It stays declared."""
        return await self._run.servers.stop(self.name)

    async def remove(self) -> None:
        """Stops it, and removes its declaration and its logs."""
        await self._run.servers.remove(self.name)


class AsyncRun:
    """The work of one agent in a sandbox."""

    def __init__(
        self,
        http: AsyncHttp,
        info: RunInfo,
        sandbox: AsyncSandbox,
        *,
        agent_token: str | None = None,
        is_agent: bool = False,
    ) -> None:
        self.id = info["run_id"]
        self.info = info
        self.sandbox = sandbox
        #: The credential of the run's agent, for the caller that made the run.
        self.agent_token = agent_token
        self._http = http
        self._path = f"api/runs/{segment(self.id)}"
        self._is_agent = is_agent

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    @property
    def files(self) -> AsyncFiles:
        return self.sandbox.files

    @property
    def processes(self) -> AsyncProcesses:
        return self.sandbox.processes

    @property
    def servers(self) -> AsyncServers:
        return self.sandbox.servers

    @property
    def ports(self) -> AsyncPorts:
        return self.sandbox.ports

    def exec(
        self,
        command: Runnable,
        *,
        cwd: str | None = None,
        timeout: float | None = None,
        session: str | None = None,
    ) -> AsyncCommand:
        """Begins a command in the sandbox; read it with `.text()`, `.collect()` or a loop."""
        return self.sandbox.exec(command, cwd=cwd, timeout=timeout, session=session)

    async def upload(
        self, what: str | Contents, *, to: str | None = None, excludes: Sequence[str] = ()
    ) -> None:
        """Sends a folder, without what its `.gitignore` names, or files by their names."""
        if isinstance(what, str):
            await self.files.upload_folder(what, to=to or "/workspace", excludes=excludes)
        else:
            await self.files.upload(what, to=to)

    async def serve(
        self,
        command: Runnable,
        *,
        port: int | None = None,
        name: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        restart: Restart | None = None,
        readiness: Readiness | None = None,
    ) -> AsyncServer:
        """Declares and starts a server, which starts again after a failure.

        Raises PortholeError `server_exists`.
        """
        called = name or ("web" if port is None else f"web-{port}")
        info = await self.servers.declare(
            called, command, port=port, cwd=cwd, env=env, restart=restart, readiness=readiness
        )
        return AsyncServer(self, info)

    async def preview(
        self, port: int, *, keep_alive: float = 60, **start: Unpack[PreviewStart]
    ) -> AsyncPreview:
        """Opens the preview of a port, or returns the live one, and keeps it alive.

        With the agent's credential it waits for the owner's approval. Raises PortholeError
        `approval_denied`, `approval_timed_out`.
        """
        info = await self._http.json(
            "POST",
            f"{self._path}/sandbox/{'preview' if self._is_agent else 'port-forward'}",
            json={"target_port": port, **start},
            # A repeated start returns the live preview; a rotation would rotate again.
            idempotent=not start.get("rotate"),
            timeout=None if self._is_agent else 120,
            waits=self._is_agent,
        )
        return AsyncPreview(self._http, self.id, info, keep_alive)

    async def previews(self) -> Sequence[AsyncPreview]:
        """The live previews. Listing does not keep them alive."""
        listed = await self._http.json("GET", f"{self._path}/sandbox/port-forward")
        return [AsyncPreview(self._http, self.id, info, 0) for info in listed]

    async def doctor(self, port: int | None = None) -> DoctorReport:
        """Why a preview does not show the app, and what to do."""
        report = await self._http.json("GET", f"{self._path}/sandbox/doctor", query={"port": port})
        return cast(DoctorReport, report)

    async def check(self, port: int, **page: Any) -> PageCheck:
        """Opens a page of a live preview in a browser, and says whether it works.

        `page`: `path`, `device`, `viewport`, `wait_for`, `steps`, and `wait_for_change`: seconds to
        wait first until a file or a server changes.
        """
        timeout = TIMEOUT + page.get("wait_for_change", 0)
        path = f"{self._path}/previews/{port}/check"
        return cast(PageCheck, await self._http.json("POST", path, json=page, timeout=timeout))

    async def look(self, port: int, **page: Any) -> PageLook:
        """Like `check`, with a screenshot and an outline; `full_page` captures the full page."""
        return cast(PageLook, await self._http.json("POST", f"{self._path}/previews/{port}/look", json=page))

    async def inbox(self, *, unread: bool = False) -> Sequence[InboxMessage]:
        """Comments of people and replies, oldest first.

        `unread`: only what the other side sent and this side has not read.
        """
        query = {"unread": "true" if unread else None}
        listed = await self._http.json("GET", f"{self._path}/inbox", query=query)
        return cast("Sequence[InboxMessage]", listed["messages"])

    async def comment(self, text: str, **more: Any) -> InboxMessage:
        """Sends a comment to the agent; for people. `more`: `pin` and `picture`."""
        sent = await self._http.json("POST", f"{self._path}/inbox", json={"text": text, **more})
        return cast(InboxMessage, sent)

    async def reply(self, message_id: str, text: str) -> InboxMessage:
        path = f"{self._path}/inbox/{segment(message_id)}/replies"
        return cast(InboxMessage, await self._http.json("POST", path, json={"text": text}))

    async def mark_read(self, message_ids: Sequence[str]) -> None:
        """Marks messages of the other side as read."""
        body = {"messages": list(message_ids)}
        await self._http.send("POST", f"{self._path}/inbox/read", json=body, idempotent=True)

    def events(self, *, after: str | None = None) -> AsyncGenerator[Event, None]:
        """The run's timeline from its beginning or after an event, then live.

        `tool.approval_required` is a request that waits for you.
        """
        return self._http.timeline(f"{self._path}/events", after)

    async def approvals(self) -> Sequence[Approval]:
        """Requests that wait for the owner's decision, oldest first."""
        listed = await self._http.json("GET", "api/approvals")
        return [each for each in listed["approvals"] if each["run_id"] == self.id]

    async def approve(self, request_id: str, *, scope: ApprovalScope | None = None) -> None:
        """`scope`: how far the approval reaches; by default this call alone."""
        await self._decide(request_id=request_id, decision="approve", scope=scope)

    async def deny(self, request_id: str, reason: str | None = None) -> None:
        """`reason` is shown to the agent."""
        await self._decide(request_id=request_id, decision="deny", reason=reason)

    async def share(self, sharing: Sharing) -> RunInfo:
        """Shares the run with the people of its owner's organisation, or no longer."""
        body = given(sharing=sharing)
        return cast(RunInfo, await self._http.json("PATCH", self._path, json=body, idempotent=True))

    async def viewers(self) -> Sequence[RunViewer]:
        """Who has the run open now, if it is shared: people of its owner's organisation."""
        listed = await self._http.json("GET", f"{self._path}/viewers")
        return cast("Sequence[RunViewer]", listed["viewers"])

    async def complete(self) -> None:
        await self._http.send("POST", f"{self._path}/complete", idempotent=True)

    async def _decide(self, **decision: str | None) -> None:
        await self._http.send("POST", f"{self._path}/tool-approvals", json=given(**decision))
