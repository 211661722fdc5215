/** Porthole's client, for browsers and Node. It needs only fetch, WebSocket and streams. */
export { Porthole, type PortholeOptions } from './porthole.ts';
export { PortholeError } from './http/porthole-error.ts';
export type { ListFilter } from './http/pages.ts';
export type { KeepAlive } from './http/keep-alive.ts';
export type { FollowedEvent, FollowOptions } from './http/follow-events.ts';
export { Command, CommandFailed } from './sandboxes/command.ts';
export type * from './sandboxes/command.ts';
export type * from './sandboxes/delegations.ts';
export type * from './sandboxes/files.ts';
export type * from './sandboxes/open-socket.ts';
export type * from './sandboxes/output.ts';
export type * from './sandboxes/process-info.ts';
export type * from './sandboxes/processes.ts';
export type * from './sandboxes/sandbox.ts';
export type * from './sandboxes/sandbox-info.ts';
export type * from './sandboxes/sandboxes.ts';
export type * from './sandboxes/servers.ts';
export type * from './sandboxes/sessions.ts';
export type * from './sandboxes/terminal.ts';
export type * from './runs/inbox.ts';
export type * from './runs/page-check.ts';
export type * from './runs/policies.ts';
export type * from './runs/preview.ts';
export type * from './runs/run.ts';
export type * from './runs/runs.ts';
export type * from './runs/server.ts';
export type { SyncOptions, SyncResult } from './node/sync-folder.ts';
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
