/** Processes, servers and ports in the API's format. Times are RFC 3339. */
import type { Process, Server } from '../api.ts';

export type {
  Port as PortInfo,
  PortState,
  Process as ProcessInfo,
  Readiness,
  Server as ServerInfo,
  TerminalSize,
} from '../api.ts';

export type StartedBy = Process['started_by'];
export type ProcessExit = NonNullable<Process['exit']>;
export type ExitReason = ProcessExit['reason'];
export type Restart = Server['restart'];
export type ServerState = Server['state'];
