"""What the API sends, in its own format. Times are RFC 3339."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypedDict, Union

# What to run: arguments without a shell, or a line for the sandbox's shell.
Runnable = Union[str, Sequence[str]]
Scope = Literal["fs:read", "fs:write", "exec"]
Restart = Literal["always", "on-failure", "never"]
# `keep` leaves a sandbox to its time to live.
OnExit = Literal["keep", "delete"]
# With the owner's organisation: not at all, to see the run, or also to work in its sandbox.
Sharing = Literal["private", "view", "work"]
# Who may open a preview, from the strictest to the widest.
AccessLevel = Literal["owner", "org", "signed_in", "password", "link"]
# Who may use a link; `link`: everyone who has it.
LinkLevel = Literal["org", "signed_in", "link"]
# Of a policy: its port in this run, any port in this run, or any port in all your runs.
PolicyScope = Literal["port", "run", "always"]
# `once` approves this call alone.
ApprovalScope = Union[Literal["once"], PolicyScope]
Network = Literal["off", "packages", "allowlist", "open"]
# One event of a timeline: `id` is where to resume; the other fields depend on `type`.
Event = dict[str, Any]


class RunInfo(TypedDict):
    run_id: str
    owner: str
    title: str | None
    sandbox_id: str
    auto_approve_tools: bool
    sharing: Sharing
    access: Literal["owner", "work", "view"]
    status: Literal["running", "completed"]
    created_at: str
    completed_at: str | None


UsageGroup = Literal["sandbox", "run", "owner", "org", "day"]


class UsageInfo(TypedDict):
    #: None unless grouped by it, as the four below.
    sandbox: str | None
    run: str | None
    owner: str | None
    org: str | None
    day: str | None
    vcpu_s: float
    memory_gib_s: float
    disk_gib_s: float
    egress_bytes: int
    preview_bytes: int
    look_s: float
    #: A counter was away: some usage may be missing, or on another day.
    estimated: bool


class TerminalExit(NamedTuple):
    code: int
    #: The signal that ended the shell, e.g. `SIGKILL`.
    signal: str | None = None


class _StopReason(TypedDict, total=False):
    #: Of `refresh`: why the provider stopped it, such as files above its disk; None: it did not.
    stop_reason: str | None


class SandboxInfo(_StopReason):
    id: str
    state: Literal["creating", "running", "stopped", "destroyed"]
    owner: str
    image: str | None
    name: str | None
    session_key: str | None
    tags: dict[str, str]
    created_at: str
    last_active_at: str
    stopped_at: str | None
    ttl_seconds: int | None
    timeout_at: str | None
    on_timeout: Literal["stop", "delete"]
    expires_at: str | None


class _PreviewInfo(TypedDict):
    session_id: str
    target_port: int
    local_port: int
    preview_url: str | None
    keepalive_url: str | None
    started_at: str
    expires_at: str | None
    max_until: str | None


class PreviewAccess(TypedDict):
    level: AccessLevel
    #: The widest level of the installation.
    maximum: AccessLevel
    name: str | None
    #: None without a name, and at the level `link`.
    url: str | None


class PreviewLink(TypedDict):
    id: str
    label: str
    level: LinkLevel
    has_password: bool
    may_wake: bool
    uses: int
    max_uses: int | None
    created_by: str
    created_at: str
    expires_at: str | None
    last_used_at: str | None


class CreatedPreviewLink(PreviewLink):
    url: str


class PreviewViewer(TypedDict):
    viewer: str
    link_id: str | None
    first_at: str
    last_at: str


class CheckpointServer(TypedDict):
    name: str
    port: int | None


class CodeContext(TypedDict):
    id: str
    language: str
    cwd: str


class CodeException(TypedDict):
    name: str
    value: str
    traceback: str


class _CodeResult(TypedDict):
    #: Whether it is the value of the last expression.
    is_main_result: bool


class CodeResult(_CodeResult, total=False):
    text: str
    html: str
    markdown: str
    svg: str
    #: Base64, as `jpeg` and `pdf`.
    png: str
    jpeg: str
    pdf: str
    latex: str
    json: object
    javascript: str
    #: The columns of a table.
    data: dict[str, object]
    #: What a chart shows.
    chart: dict[str, object]
    #: Other media types.
    extra: dict[str, object]


class CodeRun(TypedDict):
    execution_count: int | None
    #: Its first MiB, as `stderr`.
    stdout: str
    stderr: str
    #: At most 16 MiB together.
    results: list[CodeResult]
    #: What the code threw, or why it was ended.
    exception: CodeException | None
    #: Whether more output was dropped.
    truncated: bool


class Checkpoint(TypedDict):
    id: str
    #: The checkpoint that the sandbox was at.
    parent: str | None
    label: str | None
    cause: str
    created_at: str
    #: Whether it has processes and their memory.
    memory: bool
    files: int
    bytes: int
    #: What it added to the store.
    stored_bytes: int
    left_out: int
    #: False: files changed while they were read.
    consistent: bool
    image: str | None
    servers: list[CheckpointServer]
    variables: list[str]


class CheckpointList(TypedDict):
    checkpoints: list[Checkpoint]
    #: The one that the sandbox was at last.
    current: str | None


class ChangedFile(TypedDict):
    path: str
    change: Literal["added", "changed", "removed"]
    #: Bytes. None: it did not exist.
    before: int | None
    after: int | None


class CheckpointChanges(TypedDict):
    since: str | None
    total: int
    changes: list[ChangedFile]


class RestoredCheckpoint(TypedDict):
    checkpoint: str
    #: What the sandbox was: restore it to go back.
    before: Checkpoint
    written: int
    removed: int


class ForkPreview(TypedDict):
    id: str
    url: str | None
    port: int


class _Fork(TypedDict):
    id: str
    memory: bool
    run: str | None
    previews: list[ForkPreview]


class Fork(_Fork, total=False):
    memory_error: str


class ForkError(TypedDict):
    code: str
    error: str
    #: The fork that lacks a run or a preview. None: no fork.
    sandbox: str | None


class ForkedSandboxes(TypedDict):
    sandboxes: list[Fork]
    errors: list[ForkError]


class ServerDifference(TypedDict):
    name: str
    #: None: it is not declared.
    one: dict[str, Any] | None
    other: dict[str, Any] | None


class FileTextOf(TypedDict):
    text: str | None
    missing: Literal["no_file", "too_large", "not_text"] | None


class FileTexts(TypedDict):
    path: str
    one: FileTextOf
    other: FileTextOf


class SandboxComparison(TypedDict):
    total: int
    changes: list[ChangedFile]
    servers: list[ServerDifference]
    texts: list[FileTexts]


class PreviewStart(TypedDict, total=False):
    #: Ends the current URL of the port and opens a new one.
    rotate: bool


class PreviewInfo(_PreviewInfo, total=False):
    ready: bool
    reason: str
    problem: str
    server: str
    log: list[str]


class Approval(TypedDict):
    """A pending request of an agent."""

    request_id: str
    run_id: str
    tool: str
    # Who will be able to open the preview, if the request is about one.
    level: AccessLevel | None
    message: str
    requested_at: str
    expires_at: str


class DoctorPort(TypedDict):
    port: int
    ready: bool
    advice: str


class DoctorReport(TypedDict):
    sandbox: str
    advice: str
    ports: list[DoctorPort]


class PageCause(TypedDict):
    kind: str
    message: str
    file: str | None
    line: int | None
    column: int | None


class InboxPin(TypedDict):
    """The element of a page that a comment is about. Its texts are the page's: untrusted."""

    port: int
    path: str
    selector: str
    role: str | None
    name: str | None
    component: str | None
    file: str | None
    line: int | None
    column: int | None


class RunViewer(TypedDict):
    """A person who has a shared run open."""

    user: str
    is_you: bool


class InboxMessage(TypedDict):
    """A comment of a person for the run's agent, or a reply to one."""

    message_id: str
    reply_to: str | None
    by: Literal["owner", "admin", "member", "agent"]
    at: str
    read_at: str | None
    text: str
    pin: InboxPin | None
    has_picture: bool


class _Changed(TypedDict, total=False):
    #: Of `check`: whether something changed in the time of `wait_for_change`; None without it.
    changed: bool | None


class PageCheck(_Changed):
    """Whether a page works for a person. Its texts are the page's: untrusted."""

    result: Literal["works", "broken", "unclear"]
    summary: str
    causes: list[PageCause]
    #: What failed without harm.
    notes: list[str]
    status: int | None
    url: str
    title: str | None


class Screenshot(TypedDict):
    media_type: Literal["image/png", "image/jpeg"]
    width: int
    height: int
    #: Base64.
    data: str


class AccessibilityFinding(TypedDict):
    """A rule of accessibility that elements of a page violate."""

    rule: str
    impact: Literal["serious", "critical"]
    help: str
    count: int
    elements: list[str]


class PageLook(PageCheck):
    outline: str | None
    #: Serious and critical findings of axe-core; None for very large pages.
    accessibility: list[AccessibilityFinding] | None
    screenshot: Screenshot | None
    #: To the last look at the same page: `is_same`, `pixels`, `outline`, `console`.
    difference: dict[str, Any] | None


class FileEntry(TypedDict):
    path: str
    name: str
    type: Literal["file", "directory", "symlink", "other"]
    size: int | None
    mtime: str | None
    mode: str


class FileListing(TypedDict):
    entries: list[FileEntry]
    #: Whether entries are missing: list a subfolder.
    truncated: bool


class TextMatch(TypedDict):
    """A line of a file that contains a text."""

    path: str
    line: int
    #: At most 400 characters of the line, with the first match.
    text: str


class TextMatches(TypedDict):
    matches: list[TextMatch]
    #: Whether there may be more: search a subfolder.
    truncated: bool


class _FileChange(TypedDict):
    type: Literal["ready", "changed", "deleted", "limited", "overflow"]
    path: str


class FileChange(_FileChange, total=False):
    """`limited`: not all subfolders can be watched; `overflow`: list the folder again."""

    file: dict[str, Any]


class ProcessExit(TypedDict):
    code: int | None
    signal: str | None
    reason: Literal["exited", "killed", "timed_out", "out_of_memory", "sandbox_stopped", "expired"]
    at: str
    duration_ms: int
    cpu_ms: int | None
    peak_memory_bytes: int | None


class TerminalSize(TypedDict):
    cols: int
    rows: int


class StartedBy(TypedDict):
    kind: Literal["person", "agent", "delegate", "sandbox", "server"]
    id: str | None


class OutputRange(TypedDict):
    """Cursors: the first available byte, and the position after the last."""

    first: int
    next: int


class ProcessInfo(TypedDict):
    id: str
    name: str | None
    argv: list[str]
    cwd: str
    state: Literal["running", "exited"]
    pid: int | None
    stdin: bool
    tty: TerminalSize | None
    timeout_ms: int | None
    started_by: StartedBy
    started_at: str
    exit: ProcessExit | None
    output: OutputRange


class Readiness(TypedDict, total=False):
    """When a server counts as ready; by default once its port listens."""

    http: str
    log: str
    timeout_ms: int


class ServerInfo(TypedDict):
    name: str
    argv: list[str]
    cwd: str
    port: int | None
    restart: Restart
    readiness: Readiness | None
    state: Literal["starting", "ready", "waiting", "failed", "exited", "stopped"]
    reason: str | None
    process_id: str | None
    pid: int | None
    restarts: int
    started_by: StartedBy
    declared_at: str
    started_at: str | None
    ready_at: str | None
    exit: ProcessExit | None


class PortInfo(TypedDict):
    port: int
    address: str
    pid: int | None
    program: str | None
    command: str | None
    process_id: str | None
    server: str | None
    since: str


class PortState(TypedDict):
    port: int
    state: Literal["listening", "closed"]
    listener: PortInfo | None


class _SecretOptions(TypedDict, total=False):
    methods: Sequence[str]


class Secret(_SecretOptions):
    # The variable has a placeholder in the sandbox; requests to `host` over TLS get the value.
    name: str
    host: str
    inject: Literal["header", "query", "basic"]
    value: str


class Resources(TypedDict, total=False):
    cpu: float
    memory_mb: int
    disk_mb: int


class DelegationInfo(TypedDict):
    delegation_id: str
    scopes: list[Scope]
    commands: list[str] | None
    paths: list[str] | None
    label: str | None
    renewable: bool
    created_at: str
    expires_at: str


class PolicyInfo(TypedDict):
    policy_id: str
    tool: str
    scope: PolicyScope


class SandboxConfig(TypedDict):
    """A sandbox that a client hands to a server."""

    sandbox_id: str
    credential: str
    dataplane_url: str


# Contents of files by their names.
Contents = Mapping[str, str | bytes]
