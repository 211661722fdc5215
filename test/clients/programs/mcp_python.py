"""The MCP SDK for Python, versions 1 and 2."""

import asyncio
import importlib
import importlib.util
import os
from contextlib import AsyncExitStack
from typing import Any

from steps import async_step, equal, finish

stack = AsyncExitStack()
session: Any = None


async def connect() -> None:
    global session
    from mcp import ClientSession
    from mcp.client import streamable_http

    url = f"{os.environ['PORTHOLE_URL']}/mcp"
    headers = {"Authorization": f"Bearer {os.environ['PORTHOLE_AGENT_TOKEN']}"}
    opened: Any = getattr(streamable_http, "streamable_http_client", None)
    if opened is None:
        streams = await stack.enter_async_context(streamable_http.streamablehttp_client(url, headers=headers))
    else:
        # Version 2 has its own.
        library = importlib.import_module("httpx2" if importlib.util.find_spec("httpx2") else "httpx")
        http = await stack.enter_async_context(library.AsyncClient(headers=headers, timeout=60))
        streams = await stack.enter_async_context(opened(url, http_client=http))
    session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
    await session.initialize()


async def result_of(name: str, arguments: dict[str, Any]) -> tuple[bool, str]:
    result = await session.call_tool(name, arguments)
    is_error = result.is_error if hasattr(result, "is_error") else result.isError
    return is_error, "\n".join(getattr(part, "text", "") for part in result.content)


async def call(name: str, arguments: dict[str, Any]) -> str:
    is_error, text = await result_of(name, arguments)
    if is_error:
        raise AssertionError(text)
    return text


async def has(name: str, arguments: dict[str, Any], part: str) -> None:
    text = await call(name, arguments)
    if part not in text:
        raise AssertionError(f"{part} is not in {text[:200]}")


async def tools() -> None:
    equal("start_preview" in [tool.name for tool in (await session.list_tools()).tools], True)


async def resources() -> None:
    equal(len((await session.list_resources()).resources) > 0, True)


async def fails() -> None:
    equal((await result_of("read_file", {"path": "none"}))[0], True)


async def preview() -> None:
    await call("start_server", {"name": "web", "command": "python3 -m http.server 3000", "port": 3000})
    await has("start_preview", {"port": 3000, "check": False}, "-preview.localhost")


async def main() -> None:
    await async_step("connect", connect, needed=True)
    await async_step("list tools", tools)
    await async_step("list resources", resources)
    await async_step("write", lambda: call("write_file", {"path": "a.txt", "content": "hello"}))
    await async_step("read", lambda: has("read_file", {"path": "a.txt"}, "hello"))
    await async_step("list", lambda: has("list_files", {}, "a.txt"))
    await async_step("command", lambda: has("run_command", {"command": "echo $((6 * 7))"}, "42"))
    await async_step("tool that fails", fails)
    await async_step("preview", preview)
    await async_step("close", stack.aclose)


asyncio.run(main())
finish()
