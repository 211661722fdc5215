/** Porthole's client, for browsers and Node. It needs only fetch, WebSocket and streams. */
export { Porthole, type PortholeOptions } from './porthole.ts';
export { PortholeError } from './http/porthole-error.ts';
export type { ListFilter } from './http/pages.ts';
export type { KeepAlive } from './http/keep-alive.ts';
export type { FollowedEvent, FollowOptions } from './http/follow-events.ts';
export { Command, CommandFailed } from './resources/command.ts';
export type * from './resources/audit.ts';
export type * from './resources/checkpoints.ts';
export type * from './resources/code.ts';
export type * from './resources/command.ts';
export type * from './resources/delegations.ts';
export type * from './resources/files.ts';
export type * from './resources/open-socket.ts';
export type * from './resources/output.ts';
export type * from './resources/process-info.ts';
export type * from './resources/processes.ts';
export type * from './resources/sandbox.ts';
export type * from './resources/sandbox-info.ts';
export type * from './resources/sandboxes.ts';
export type * from './resources/servers.ts';
export type * from './resources/sessions.ts';
export type * from './resources/terminal.ts';
export type * from './resources/inbox.ts';
export type * from './resources/page-check.ts';
export type * from './resources/policies.ts';
export type * from './resources/preview.ts';
export type * from './resources/preview-sharing.ts';
export type * from './resources/run.ts';
export type * from './resources/runs.ts';
export type * from './resources/server.ts';
export type * from './resources/usage.ts';
export type { SyncOptions, SyncResult } from './sync/sync-options.ts';
export type { SyncMemory } from './node/sync-memory.ts';
export {
  type ConnectedSandbox,
  connectFromConfig,
  type ConnectOptions,
  type Validation,
} from './server/connect-from-config.ts';
export {
  readSandboxConfig,
  type RunConfig,
  type SandboxConfig,
  sandboxConfigSchema,
} from './server/sandbox-config.ts';
export type { SandboxTool, ToolResult } from './server/sandbox-tools.ts';
export { tar, type TarEntry } from './archive/tar-writer.ts';
export { toStream } from './streams/byte-streams.ts';
