"""Sandboxes, and live previews of what runs in them.

import porthole

run = porthole.run()
run.upload("./app")
server = run.serve("npm run dev", port=3000)
print(server.preview())
"""

from __future__ import annotations

from . import types
from ._async.checkpoints import AsyncCheckpoints
from ._async.code import AsyncCodeContexts
from ._async.client import AsyncPorthole
from ._async.client import connect_from_config as connect_from_config_async
from ._async.files import AsyncFiles
from ._async.processes import AsyncProcess
from ._async.run import AsyncPreview, AsyncRun, AsyncServer
from ._async.sandbox import AsyncCommand, AsyncDelegation, AsyncSandbox
from ._async.sharing import AsyncPreviewSharing
from ._async.terminal import AsyncTerminal
from ._sync.checkpoints import Checkpoints
from ._sync.code import CodeContexts
from ._sync.client import Porthole, connect_from_config
from ._sync.files import Files
from ._sync.processes import Process
from ._sync.run import Preview, Run, Server
from ._sync.sandbox import Command, Delegation, Sandbox
from ._sync.sharing import PreviewSharing
from ._sync.terminal import Terminal
from .errors import CommandFailed, PortholeError
from .streams import CommandEvent, CommandResult, OutputEvent

__version__ = "0.2.0"


def run(
    run_id: str | None = None,
    *,
    title: str | None = None,
    sandbox_id: str | None = None,
    image: str | None = None,
    auto_approve_tools: bool | None = None,
) -> Run:
    """A run of the Porthole that `PORTHOLE_URL` and `PORTHOLE_API_KEY` name; see `Porthole.run`."""
    return Porthole().run(
        run_id, title=title, sandbox_id=sandbox_id, image=image, auto_approve_tools=auto_approve_tools
    )


def agent_run(run_id: str) -> Run:
    """The run of the agent token in `PORTHOLE_API_KEY`; see `Porthole.agent_run`."""
    return Porthole().agent_run(run_id)


__all__ = [
    "AsyncCheckpoints",
    "AsyncCodeContexts",
    "AsyncCommand",
    "AsyncDelegation",
    "AsyncFiles",
    "AsyncPorthole",
    "AsyncPreview",
    "AsyncPreviewSharing",
    "AsyncProcess",
    "AsyncRun",
    "AsyncSandbox",
    "AsyncServer",
    "AsyncTerminal",
    "Checkpoints",
    "CodeContexts",
    "Command",
    "CommandEvent",
    "CommandFailed",
    "CommandResult",
    "Delegation",
    "Files",
    "OutputEvent",
    "Porthole",
    "PortholeError",
    "Preview",
    "PreviewSharing",
    "Process",
    "Run",
    "Sandbox",
    "Server",
    "Terminal",
    "agent_run",
    "connect_from_config",
    "connect_from_config_async",
    "run",
    "types",
]
