/** Porthole's client, for browsers and Node. It needs only fetch, WebSocket and streams. */
export { Porthole, type PortholeOptions } from './porthole.ts';
export { PortholeError } from './http/porthole-error.ts';
export type { ListFilter } from './http/pages.ts';
export type { KeepAlive } from './http/keep-alive.ts';
export type { FollowedEvent, FollowOptions } from './http/follow-events.ts';
export {
  Command,
  type CommandEvent,
  CommandFailed,
  type CommandResult,
  type ExecOptions,
} from './sandboxes/command.ts';
export type {
  DelegatedCredential,
  Delegation,
  DelegateOptions,
  DelegationInfo,
  Delegations,
  Scope,
} from './sandboxes/delegations.ts';
export type {
  CallOptions,
  FileChange,
  FileContent,
  FileEntry,
  FileListing,
  SearchFilesOptions,
  TextMatch,
  TextMatches,
  Files,
  WatchOptions,
} from './sandboxes/files.ts';
export type { OpenSocket, Socket } from './sandboxes/open-socket.ts';
export type { OutputEvent, OutputOptions } from './sandboxes/output.ts';
export type { Prewarmed } from './sandboxes/prewarmed.ts';
export type {
  ExitReason,
  PortInfo,
  PortState,
  ProcessExit,
  ProcessInfo,
  Readiness,
  Restart,
  ServerInfo,
  ServerState,
  StartedBy,
} from './sandboxes/process-info.ts';
export type { Process, Processes, Runnable, StartOptions, WaitOptions } from './sandboxes/processes.ts';
export type { Sandbox } from './sandboxes/sandbox.ts';
export type {
  CreateSandboxOptions,
  NetworkAttempt,
  NetworkOptions,
  NetworkPolicy,
  NetworkRule,
  OnExit,
  Resources,
  SandboxInfo,
  Secret,
} from './sandboxes/sandbox-info.ts';
export type { ListSandboxesOptions, Sandboxes } from './sandboxes/sandboxes.ts';
export type { DeclareOptions, LogsOptions, Ports, Servers } from './sandboxes/servers.ts';
export type { CreateSessionOptions, Sessions } from './sandboxes/sessions.ts';
export type { Terminal, TerminalExit, TerminalOptions } from './sandboxes/terminal.ts';
export type { ApprovalScope, Policies, PolicyInfo } from './runs/policies.ts';
export type {
  CommentOptions,
  Inbox,
  InboxMessage,
  InboxPin,
  PageElement,
  PagePicture,
} from './runs/inbox.ts';
export type {
  CheckOptions,
  LookOptions,
  PageCause,
  PageCheck,
  PageDifference,
  PageLook,
  AccessibilityFinding,
  PageStep,
} from './runs/page-check.ts';
export type { Preview, PreviewInfo, PreviewOptions } from './runs/preview.ts';
export type {
  ApproveOptions,
  DoctorReport,
  Run,
  RunInfo,
  RunViewer,
  Sharing,
  WaitingApproval,
} from './runs/run.ts';
export type { CreateRunOptions, ListRunsOptions, Runs } from './runs/runs.ts';
export type { Server, ServeOptions } from './runs/server.ts';
export type { SyncOptions, SyncResult } from './node/sync-folder.ts';
export type { SyncMemory } from './node/sync-memory.ts';
export {
  type ConnectedSandbox,
  connectFromConfig,
  type ConnectOptions,
  type Validation,
} from './server/connect-from-config.ts';
export { readSandboxConfig, type RunConfig, type SandboxConfig } from './server/sandbox-config.ts';
export { sandboxConfigSchema } from './server/sandbox-config-schema.ts';
export type { SandboxTool, ToolResult } from './server/sandbox-tool.ts';
export { tar, type TarEntry } from './archive/tar-writer.ts';
export { toStream } from './streams/to-stream.ts';
