"""The async client: what runs at the same time, and cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from conftest import SERVE

from porthole import AsyncPorthole, PortholeError, connect_from_config_async


@pytest_asyncio.fixture
async def porthole() -> AsyncIterator[AsyncPorthole]:
    async with AsyncPorthole() as client:
        yield client


async def test_shows_a_folder_as_a_live_preview(porthole: AsyncPorthole, app: str) -> None:
    run = await porthole.run()
    await run.upload(app)
    server = await run.serve(SERVE, port=3000)
    async with await server.preview(keep_alive=0.05) as preview:
        assert (await preview.fetch("/here?a=1")).text == "GET /here?a=1 "
        assert (await preview.fetch(method="POST", content="sent")).text == "POST / sent"
        await preview.stop()
    assert (await server.info())["state"] == "ready"
    assert "GET /here?a=1" in await server.log()


async def test_runs_commands_at_the_same_time(porthole: AsyncPorthole) -> None:
    run = await porthole.run()
    waiting = run.exec("until [ -e go ]; do sleep 0.01; done; echo went")
    await run.exec("touch go").text()
    assert await waiting.text() == "went\n"
    assert [event.type async for event in run.exec("true")] == ["exit"]


async def test_asks_the_owner_for_a_preview_of_the_agent(porthole: AsyncPorthole, app: str) -> None:
    run = await porthole.run()
    await run.upload(app)
    await run.serve(SERVE, port=3000)
    async with AsyncPorthole(api_key=run.agent_token) as agent:
        opening = asyncio.ensure_future((await agent.agent_run(run.id)).preview(3000))
        async for event in run.events():
            if event["type"] == "tool.approval_required":
                await run.approve(event["data"]["request_id"])
                break
        preview = await opening
        assert (await preview.fetch("/agent")).text == "GET /agent "
        preview.let_go()


async def test_ends_a_command_that_is_cancelled(porthole: AsyncPorthole) -> None:
    run = await porthole.run()

    async def follow() -> None:
        async for event in run.exec("echo $$ > pid; echo begun; exec sleep 600"):
            if event.type == "stdout":
                begun.set()

    begun = asyncio.Event()
    following = asyncio.ensure_future(follow())
    await begun.wait()
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    await run.exec('while kill -0 "$(cat pid)" 2>/dev/null; do sleep 0.01; done', timeout=10).text()


async def test_uses_a_delegation(porthole: AsyncPorthole) -> None:
    run = await porthole.run()
    delegation = await run.sandbox.delegate(["fs:write", "fs:read"])
    url = run.sandbox.dataplane_url.split("v1/")[0]
    delegated = connect_from_config_async(delegation.sandbox_config(), allowed_url=url)
    await delegated.files.write("a.txt", "a")
    assert await delegated.files.text("a.txt") == "a"
    await delegation.revoke()
    with pytest.raises(PortholeError) as caught:
        await delegated.files.text("a.txt")
    assert caught.value.code == "unauthorized"


async def test_opens_terminals_at_the_same_time(porthole: AsyncPorthole) -> None:
    run = await porthole.run()
    first, second = await asyncio.gather(
        run.sandbox.terminal(shell="sh"), run.sandbox.terminal(shell="sh")
    )
    async with first, second:
        await first.write("until [ -e ready ]; do sleep 0.01; done; exit 4\n")
        await second.write("touch ready; exit 5\n")
        for terminal, code in ((first, 4), (second, 5)):
            async for _ in terminal:
                pass
            assert terminal.exit is not None and terminal.exit.code == code
