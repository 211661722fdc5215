"""The unmodified OpenAI Agents SDK with a sandbox of the bridge; a script replaces the model.

Prints what the tools returned, as JSON.
"""

import asyncio
import io
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agents import Model, ModelResponse, RunConfig, Runner, Usage
from agents.extensions.sandbox.cloudflare import CloudflareSandboxClient, CloudflareSandboxClientOptions
from agents.sandbox import SandboxAgent, SandboxRunConfig
from openai.types.responses import (
    ResponseCustomToolCall,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

PATCH = """*** Begin Patch
*** Add File: notes/it's 100%.md
+first
+second
*** End Patch
"""


class ScriptedModel(Model):
    """Answers with one turn after the other, and keeps what the tools returned."""

    def __init__(self, turns: list[Any]) -> None:
        self.turns = turns
        self.outputs: list[str] = []

    async def get_response(self, *_: Any, input: Any, **_options: Any) -> ModelResponse:
        if not isinstance(input, str):
            self.outputs = [str(item["output"]) for item in input if "output" in item]
        return ModelResponse(output=[self.turns.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **_options: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def shell(call: str, cmd: str) -> ResponseFunctionToolCall:
    arguments = json.dumps({"cmd": cmd, "yield_time_ms": 2_000})
    return ResponseFunctionToolCall(
        type="function_call", call_id=call, name="exec_command", arguments=arguments
    )


async def main() -> None:
    model = ScriptedModel(
        [
            shell("one", "echo $((6 * 7)) > answer.txt && cat answer.txt"),
            ResponseCustomToolCall(type="custom_tool_call", call_id="two", name="apply_patch", input=PATCH),
            shell("three", "cat notes/*"),
            ResponseOutputMessage(
                id="last",
                type="message",
                role="assistant",
                status="completed",
                content=[ResponseOutputText(type="output_text", text="Done.", annotations=[])],
            ),
        ]
    )
    client = CloudflareSandboxClient()
    # It reads the key from CLOUDFLARE_SANDBOX_API_KEY, also to resume.
    options = CloudflareSandboxClientOptions(worker_url=os.environ["PORTHOLE_URL"])
    session = await client.create(options=options)
    await session.start()
    agent = SandboxAgent(name="scripted", model=model, instructions="Work.")
    sandbox = SandboxRunConfig(client=client, session=session)
    config = RunConfig(tracing_disabled=True, sandbox=sandbox)
    result = await Runner.run(agent, "Begin.", run_config=config)

    failed = await session.exec("echo out; echo err >&2; exit 3")
    await session.write(Path("bytes.bin"), io.BytesIO(bytes(range(256))))
    # Beyond the bridge's limit of an archive: it must come back after the workspace is cleared.
    await session.exec("seq 100000000 200000000 | head -c 44000000 > large.bin")
    before = (await session.exec("cksum large.bin")).stdout
    archive = (await session.persist_workspace()).read()
    same = (await session.read(Path("bytes.bin"))).read() == bytes(range(256))
    await session.exec("rm -r notes bytes.bin large.bin")
    await session.hydrate_workspace(io.BytesIO(archive))
    large = (await session.exec("cksum large.bin")).stdout == before
    # The client gives up 5 s after its time limit, whatever the command and its children do.
    stubborn = "trap '' TERM; setsid sleep 60 & echo out; sleep 60; sleep 60"
    timed = await session.exec(stubborn, timeout=1)
    restored = (await session.read(Path("notes/it's 100%.md"))).read().decode()
    running = await session.running()
    await session.aclose()
    # A session that is over left its sandbox: the next one begins with the archive of its files.
    resumed = await client.resume(session.state)
    await resumed.hydrate_workspace(io.BytesIO(archive))
    answer = (await resumed.read(Path("answer.txt"))).read().decode()
    await resumed.aclose()
    await client.delete(resumed)
    print(
        json.dumps(
            {
                "final": result.final_output,
                "outputs": model.outputs,
                "failed": [failed.exit_code, failed.stdout.decode(), failed.stderr.decode()],
                "same": same,
                "large": large,
                "timed": [timed.exit_code, timed.stdout.decode(), timed.stderr.decode()],
                "restored": restored,
                "running": running,
                "answer": answer,
            }
        )
    )


asyncio.run(main())
