from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal

from .._requests import base_url, credential, filter_query, given, read_sandbox_config, segment
from ..types import Network, OnExit, PolicyInfo, Resources, RunInfo, SandboxInfo, Secret, UsageGroup, UsageInfo
from .http import AsyncHttp
from .run import AsyncRun
from .sandbox import AsyncSandbox
from .sharing import AsyncPreviewSharing


class AsyncSandboxes:
    """Your sandboxes."""

    def __init__(self, http: AsyncHttp, runs: AsyncRuns) -> None:
        self._http = http
        self._runs = runs

    async def create(
        self,
        *,
        image: str | None = None,
        name: str | None = None,
        session_key: str | None = None,
        tags: Mapping[str, str] | None = None,
        ttl_seconds: int | None = None,
        resources: Resources | None = None,
        network: bool | Network | None = None,
        allow: Sequence[str] | None = None,
        deny: Sequence[str] | None = None,
        ask: bool | None = None,
        secrets: Sequence[Secret] | None = None,
        env: Mapping[str, str] | None = None,
        timeout_seconds: int | None = None,
        on_timeout: Literal["stop", "delete"] | None = None,
        delete_with_thread: bool | None = None,
        skills: Sequence[str] | None = None,
        on_exit: OnExit = "keep",
    ) -> AsyncSandbox:
        """Creates a sandbox, or returns the one with the `session_key`; it runs on return.

        Raises PortholeError `sandbox_exists`, `quota_exceeded`.
        """
        body = given(
            image=image,
            name=name,
            session_key=session_key,
            tags=tags,
            ttl_seconds=ttl_seconds,
            resources=resources,
            network=network,
            allow=allow,
            deny=deny,
            ask=ask,
            secrets=secrets,
            env=env,
            timeout_seconds=timeout_seconds,
            on_timeout=on_timeout,
            delete_with_thread=delete_with_thread,
            skills=skills,
        )
        # A second call with the same key returns the sandbox of the first.
        made = await self._http.json(
            "POST", "v1/sandbox", json=body, idempotent=session_key is not None, timeout=None
        )
        sandbox = self._sandbox(made["id"], token=made.get("sandbox_token"), on_exit=on_exit)
        if ttl_seconds is not None:
            sandbox.keep_alive(ttl_seconds)
        return sandbox

    async def get(self, sandbox_id: str, *, on_exit: OnExit = "keep") -> AsyncSandbox:
        """An existing sandbox. Raises PortholeError `sandbox_not_found`."""
        info: SandboxInfo = await self._http.json("GET", f"v1/sandbox/{segment(sandbox_id)}")
        return self._sandbox(info["id"], info=info, on_exit=on_exit)

    async def list(
        self,
        *,
        tags: Mapping[str, str] | None = None,
        state: Literal["creating", "running", "stopped"] | None = None,
        name: str | None = None,
        session_key: str | None = None,
        search: str | None = None,
        owner: str | None = None,
        image: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        sort: Literal["newest", "oldest", "active", "name"] | None = None,
        on_exit: OnExit = "keep",
    ) -> AsyncGenerator[AsyncSandbox, None]:
        """Matching sandboxes; pages are fetched on demand.

        `search` is a text that a name or id contains.
        """
        wanted = [*(tags or {}).items()]
        # The API filters by one tag.
        tag = ":".join(wanted[0]) if wanted else None
        query = {
            "state": state,
            "name": name,
            "session_key": session_key,
            "tag": tag,
            "sort": sort,
            **filter_query(search, owner, image, created_after, created_before),
        }
        async for info in self._http.pages("v1/sandbox", "sandboxes", query):
            if all(info["tags"].get(key) == value for key, value in wanted):
                yield self._sandbox(info["id"], info=info, on_exit=on_exit)

    def at(self, sandbox_id: str, *, on_exit: OnExit = "keep") -> AsyncSandbox:
        """A handle by id, without a request. The first operation creates a missing sandbox."""
        return self._sandbox(sandbox_id, on_exit=on_exit)

    async def delete_by_tag(self, key: str, value: str, *, force: bool = False) -> Sequence[str]:
        """Deletes all your sandboxes with the tag; returns their ids.

        Raises PortholeError `sandboxes_kept` if one was made without `delete_with_thread`.
        """
        query = {"tag": f"{key}:{value}", "force": force or None}
        ids: Sequence[str] = (await self._http.json("DELETE", "v1/sandbox", query=query))["ids"]
        return ids

    def _sandbox(self, sandbox_id: str, **parts: Any) -> AsyncSandbox:
        return AsyncSandbox(self._http, sandbox_id, self._runs, **parts)


class AsyncRuns:
    """Your runs."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def create(
        self,
        *,
        title: str | None = None,
        sandbox_id: str | None = None,
        image: str | None = None,
        auto_approve_tools: bool | None = None,
    ) -> AsyncRun:
        body = given(title=title, sandbox_id=sandbox_id, image=image, auto_approve_tools=auto_approve_tools)
        info = await self._http.json("POST", "api/runs", json=body, timeout=None)
        token = info.pop("agent_token")
        return self._run(info, agent_token=token)

    async def get(self, run_id: str, *, as_agent: bool = False) -> AsyncRun:
        """Raises PortholeError `run_not_found`."""
        return self._run(await self._http.json("GET", f"api/runs/{segment(run_id)}"), is_agent=as_agent)

    async def list(
        self,
        *,
        search: str | None = None,
        status: Literal["running", "completed"] | None = None,
        sandbox_id: str | None = None,
        tag: tuple[str, str] | None = None,
        owner: str | None = None,
        image: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        shared: bool = False,
        sort: Literal["newest", "oldest", "title"] | None = None,
    ) -> AsyncGenerator[AsyncRun, None]:
        """Matching runs; pages are fetched on demand.

        `search` is a text that a title or id contains. `tag` and `image` are those of the sandbox.
        `shared`: only those of others that are shared with your organisation.
        """
        query = {
            "status": status,
            "sandbox_id": sandbox_id,
            "shared": "true" if shared else None,
            "tag": ":".join(tag) if tag else None,
            "sort": sort,
            **filter_query(search, owner, image, created_after, created_before),
        }
        async for info in self._http.pages("api/runs", "runs", query):
            yield self._run(info)

    def _run(self, info: RunInfo, **parts: Any) -> AsyncRun:
        sandbox = AsyncSandbox(self._http, info["sandbox_id"], self)
        return AsyncRun(self._http, info, sandbox, **parts)


class AsyncPolicies:
    """Your approval policies."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self) -> AsyncGenerator[PolicyInfo, None]:
        return self._http.pages("api/approval-policies", "policies", {})

    async def delete(self, policy_id: str) -> None:
        await self._http.send("DELETE", f"api/approval-policies/{segment(policy_id)}")


class AsyncUsage:
    """What sandboxes have used: yours, or for admins that of everyone."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(
        self,
        *,
        by: Sequence[UsageGroup] = ("day",),
        sandbox: str | None = None,
        run: str | None = None,
        owner: str | None = None,
        org: str | None = None,
        from_day: date | None = None,
        to_day: date | None = None,
    ) -> AsyncGenerator[UsageInfo, None]:
        """Sums, ordered by what they are grouped by; pages are fetched on demand.

        Days are in UTC. Default: the last 30.
        """
        query = {
            "by": ",".join(by),
            "sandbox": sandbox,
            "run": run,
            "owner": owner,
            "org": org,
            "from": from_day.isoformat() if from_day else None,
            "to": to_day.isoformat() if to_day else None,
        }
        return self._http.pages("v1/usage", "usage", query)


class AsyncPorthole:
    """Porthole, as one caller sees it.

    `url` and `api_key` default to the environment's `PORTHOLE_URL` and `PORTHOLE_API_KEY`.

        porthole = AsyncPorthole()
        run = await porthole.run()
        await run.upload("./app")
        server = await run.serve("npm run dev", port=3000)
        print(await server.preview())
    """

    def __init__(self, url: str | None = None, api_key: str | None = None) -> None:
        self._http = AsyncHttp(base_url(url), credential(api_key))
        self.runs = AsyncRuns(self._http)
        self.sandboxes = AsyncSandboxes(self._http, self.runs)
        self.policies = AsyncPolicies(self._http)
        self.usage = AsyncUsage(self._http)

    async def __aenter__(self) -> AsyncPorthole:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def url(self) -> str:
        return self._http.url

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._http.aclose()

    async def run(
        self,
        run_id: str | None = None,
        *,
        title: str | None = None,
        sandbox_id: str | None = None,
        image: str | None = None,
        auto_approve_tools: bool | None = None,
    ) -> AsyncRun:
        """For owners: makes a run with a sandbox, or returns the run with that id.

        Its previews open at once.
        """
        if run_id is not None:
            return await self.runs.get(run_id)
        return await self.runs.create(
            title=title, sandbox_id=sandbox_id, image=image, auto_approve_tools=auto_approve_tools
        )

    def sharing(self, preview: str) -> AsyncPreviewSharing:
        """Who may open a preview, by its `session_id`, also while it is stopped."""
        return AsyncPreviewSharing(self._http, preview)

    async def agent_run(self, run_id: str) -> AsyncRun:
        """For agents: a run by its id, with its agent token as `api_key`.

        Its previews wait for the owner's approval.
        """
        return await self.runs.get(run_id, as_agent=True)


def connect_from_config(config: Mapping[str, Any], *, allowed_url: str) -> AsyncSandbox:
    """For servers that got a delegation: the sandbox of a run's configuration.

    The configuration comes from a stranger: one that leads elsewhere than to `allowed_url` is never
    called. Raises ValueError.
    """
    sandbox = read_sandbox_config(config)
    base = base_url(allowed_url)
    if sandbox["dataplane_url"] != f"{base}v1/sandbox/{sandbox['sandbox_id']}":
        raise ValueError("configurable.sandbox.dataplane_url is not that of allowed_url: it was not called.")
    return AsyncSandbox(AsyncHttp(base, sandbox["credential"]), sandbox["sandbox_id"])
