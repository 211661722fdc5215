"""A context is a kernel that keeps its variables from one run of code to the next."""

import asyncio
import os
import tempfile
import uuid
from pathlib import Path

from jupyter_client import AsyncKernelManager

from .kernels import (
    kernel_environment,
    kernel_spec,
    opening,
    reset_variables,
    set_variables,
    settles_within,
    transport,
)
from .output import encode, error_line, lines_of

# Seconds until a kernel has started, and until an interrupt has an effect.
STARTS_WITHIN = 60
STOPS_WITHIN = 5
# Bytes that wait for a client, and runs that wait for a context.
MAX_PENDING = 32 * 1024 * 1024
MAX_WAITING = 20


class KernelEnded(Exception):
    """The process of the kernel is gone."""


class Run:
    """One run of code, and the lines that a client has not read yet."""

    def __init__(self, code: str, variables: dict[str, str]):
        self.code = code
        self.variables = variables
        self.message_id: str | None = None
        # The client does not read it any more.
        self.abandoned = asyncio.Event()
        self.idle = asyncio.Event()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._pending = 0
        self._dropped = 0

    def put(self, line: bytes) -> None:
        if self._pending + len(line) > MAX_PENDING:
            self._dropped += len(line)
            return
        self._pending += len(line)
        self._lines.put_nowait(line)

    def finish(self) -> None:
        if self._dropped > 0:
            note = f"[{self._dropped} bytes of output came faster than they were read, and are left out]\n"
            self._lines.put_nowait(encode({"type": "stderr", "text": note, "timestamp": 0}))
        self._lines.put_nowait(encode({"type": "end_of_execution"}))
        self._lines.put_nowait(None)

    async def next(self) -> bytes | None:
        line = await self._lines.get()
        self._pending -= len(line or b"")
        return line


class Context:
    def __init__(self, language: str, cwd: str, context_id: str | None = None):
        self.id = context_id or str(uuid.uuid4())
        self.language = language
        self.cwd = cwd
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._run: Run | None = None
        self._manager: AsyncKernelManager | None = None
        self._client = None
        self._pump: asyncio.Task | None = None
        self._tasks: set[asyncio.Task] = set()

    def describe(self) -> dict:
        return {"id": self.id, "language": self.language, "cwd": self.cwd}

    @property
    def is_full(self) -> bool:
        return self._waiting > MAX_WAITING

    def submit(self, run: Run) -> None:
        """Runs it after those that came before."""
        self._waiting += 1
        task = asyncio.create_task(self._perform(run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def start(self) -> None:
        """Raises RuntimeError for a kernel that does not start."""
        manager = AsyncKernelManager(transport=transport(self.language))
        # A run of its own, in which only this user can write.
        folder = tempfile.mkdtemp(prefix="code-")
        manager.connection_file = os.path.join(folder, "kernel.json")
        if manager.transport == "ipc":
            manager.ip = os.path.join(folder, "socket")
        manager._kernel_spec = kernel_spec(self.language)
        try:
            await manager.start_kernel(cwd=self.cwd, env=kernel_environment(self.cwd))
            client = manager.client()
            client.start_channels()
            await client.wait_for_ready(timeout=STARTS_WITHIN)
            if (code := opening(self.language)) is not None:
                client.execute(code, silent=True, store_history=False)
        except BaseException:
            await _end(manager)
            raise
        self._manager, self._client = manager, client
        self._pump = asyncio.create_task(self._take_messages())

    async def stop(self) -> None:
        manager, self._manager = self._manager, None
        if self._pump is not None:
            self._pump.cancel()
        if self._client is not None:
            self._client.stop_channels()
        if manager is not None:
            await _end(manager)

    async def restart(self) -> None:
        run = self._run
        await self.stop()
        if run is not None:
            run.put(error_line("ContextRestarted", "The context was restarted while the code ran."))
            run.idle.set()
        async with self._lock:
            await self._ensure_started()

    async def interrupt(self) -> None:
        if self._manager is not None and self._run is not None:
            await self._manager.interrupt_kernel()

    async def close(self) -> None:
        """Ends it, and what runs in it."""
        run = self._run
        for task in self._tasks:
            task.cancel()
        if run is not None:
            run.put(error_line("ContextRemoved", "The context was removed while the code ran."))
        await self.stop()

    async def _ensure_started(self) -> None:
        if self._manager is not None and not await self._manager.is_alive():
            await self.stop()
        if self._manager is None:
            await self.start()

    async def _perform(self, run: Run) -> None:
        try:
            async with self._lock:
                if run.abandoned.is_set():
                    return
                await self._ensure_started()
                await self._follow(run)
        except KernelEnded as error:
            run.put(error_line("KernelDied", str(error)))
        except RuntimeError as error:
            run.put(error_line("KernelNotStarted", f"The kernel does not start: {error}"))
        finally:
            self._waiting -= 1
            run.finish()

    async def _follow(self, run: Run) -> None:
        names = list(run.variables)
        if names:
            await self._silently(set_variables(self.language, run.variables))
        self._run = run
        try:
            run.message_id = self._client.execute(run.code, allow_stdin=False)
            await self._until_idle(run)
            await asyncio.sleep(settles_within(self.language))
        finally:
            self._run = None
        if names and self._manager is not None:
            await self._silently(reset_variables(self.language, names))

    async def _silently(self, code: str) -> None:
        quiet = Run(code, {})
        self._run = quiet
        try:
            quiet.message_id = self._client.execute(code, silent=True, store_history=False)
            await self._until_idle(quiet)
        finally:
            self._run = None

    async def _until_idle(self, run: Run) -> None:
        """Interrupts code that no client reads. A kernel that does not stop then is started again."""
        died = asyncio.create_task(self._manager.provisioner.wait())
        idle = asyncio.create_task(run.idle.wait())
        abandoned = asyncio.create_task(run.abandoned.wait())
        try:
            await asyncio.wait({idle, died, abandoned}, return_when=asyncio.FIRST_COMPLETED)
            if not idle.done() and not died.done():
                await self._manager.interrupt_kernel()
                await asyncio.wait({idle, died}, timeout=STOPS_WITHIN, return_when=asyncio.FIRST_COMPLETED)
                if not idle.done():
                    await self.stop()
            elif not idle.done():
                await self.stop()
                raise KernelEnded(_why(died.result()))
        finally:
            for task in (died, idle, abandoned):
                task.cancel()

    async def _take_messages(self) -> None:
        while True:
            try:
                message = await self._client.get_iopub_msg()
                run = self._run
                if run is None or message["parent_header"].get("msg_id") != run.message_id:
                    continue
                for line in lines_of(message):
                    run.put(line)
                if message["header"]["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                    run.idle.set()
            except (KeyError, TypeError, ValueError):
                continue  # It breaks the protocol: code in the kernel can send anything.


async def _end(manager: AsyncKernelManager) -> None:
    folder = Path(manager.connection_file).parent
    try:
        await manager.shutdown_kernel(now=True)
    except Exception:
        pass  # It has not started, or is gone.
    for file in folder.glob("*"):
        file.unlink(missing_ok=True)
    if folder.exists():
        folder.rmdir()


def _why(code: int | None) -> str:
    how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
    return f"The kernel ended {how}, and its variables are lost. The next code runs in a new one."
