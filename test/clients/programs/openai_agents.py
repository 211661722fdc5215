"""The sandbox clients of the OpenAI Agents SDK: `e2b`, and `cloudflare` for the bridge 0.12."""

import asyncio
import importlib
import io
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from steps import LISTENS, SERVE, body_at, equal, finish, step

which = sys.argv[1]
library = importlib.import_module(f"agents.extensions.sandbox.{which}")
loop = asyncio.new_event_loop()
client: Any = None
session: Any = None
archive = b""


def a_step(name: str, run: Callable[[], Coroutine[Any, Any, Any]], needed: bool = False) -> None:
    step(name, lambda: loop.run_until_complete(asyncio.wait_for(run(), 60)), needed)


def options_of(exposed_ports: tuple[int, ...]) -> Any:
    if which == "e2b":
        return library.E2BSandboxClientOptions(sandbox_type="e2b", timeout=300, exposed_ports=exposed_ports)
    return library.CloudflareSandboxClientOptions(
        worker_url=os.environ["PORTHOLE_URL"], exposed_ports=exposed_ports
    )


async def create() -> None:
    global client, session
    client = library.E2BSandboxClient() if which == "e2b" else library.CloudflareSandboxClient()
    session = await client.create(options=options_of(()))
    await session.start()


async def command() -> None:
    result = await session.exec("echo $((6 * 7)); echo no >&2")
    equal([result.stdout, result.stderr, result.exit_code], [b"42\n", b"no\n", 0])


async def exit_code() -> None:
    equal((await session.exec("exit 3")).exit_code, 3)


async def write() -> None:
    await session.write(Path("notes/it's 100%.md"), io.BytesIO(b"first\n"))


async def text() -> bytes:
    read: bytes = (await session.read(Path("notes/it's 100%.md"))).read()
    return read


async def read() -> None:
    equal(await text(), b"first\n")


async def running() -> None:
    equal(await session.running(), True)


async def listed() -> None:
    names = [str(entry.path) for entry in await session.ls(Path("notes"))]
    equal([name.endswith("it's 100%.md") for name in names], [True])


async def exposed() -> None:
    opened = await client.create(options=options_of((3000,)))
    await opened.start()
    await opened.exec(f"({SERVE}) > /dev/null 2>&1 &")
    await opened.exec(LISTENS)
    at = await opened.resolve_exposed_port(3000)
    host = at.host if at.port == 443 else f"{at.host}:{at.port}"
    # The host is for its owner: the SDK of E2B has the token.
    from e2b import Sandbox

    token = Sandbox.connect(opened.state.sandbox_id).traffic_access_token
    equal(body_at(host, {"e2b-traffic-access-token": token or ""}), "here\n")
    await client.delete(opened)


async def persist() -> None:
    global archive
    archive = (await session.persist_workspace()).read()


async def hydrate() -> None:
    await session.exec("rm -r notes")
    await session.hydrate_workspace(io.BytesIO(archive))
    equal(await text(), b"first\n")


async def resume() -> None:
    global session
    session = await client.resume(session.state)
    await session.start()
    equal(await session.running(), True)


async def delete() -> None:
    await client.delete(session)


a_step("create", create, needed=True)
a_step("running", running)
a_step("command", command)
a_step("exit code", exit_code)
a_step("write", write)
a_step("read", read)
a_step("list", listed)
# The client of the bridge has no ports.
if which == "e2b":
    a_step("exposedPorts", exposed)
a_step("persist", persist)
a_step("hydrate", hydrate)
a_step("resume", resume)
a_step("delete", delete)
finish()
