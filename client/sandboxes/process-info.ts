/** Processes, servers and ports in the API's format. Times are RFC 3339. */

/** `server`: a declared server; `sandbox`: a command inside, e.g. `porthole serve`. */
export interface StartedBy {
  readonly kind: 'person' | 'agent' | 'delegate' | 'sandbox' | 'server';
  readonly id: string | null;
}

export type ExitReason = 'exited' | 'killed' | 'timed_out' | 'out_of_memory' | 'sandbox_stopped' | 'expired';

export interface ProcessExit {
  /** One of code and signal is set, except with `sandbox_stopped` and `expired`. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly reason: ExitReason;
  readonly at: string;
  readonly duration_ms: number;
  readonly cpu_ms: number | null;
  readonly peak_memory_bytes: number | null;
}

export interface ProcessInfo {
  readonly id: string;
  readonly name: string | null;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly state: 'running' | 'exited';
  /** Inside the sandbox. */
  readonly pid: number | null;
  readonly stdin: boolean;
  readonly tty: TerminalSize | null;
  readonly timeout_ms: number | null;
  readonly started_by: StartedBy;
  readonly started_at: string;
  readonly exit: ProcessExit | null;
  /** Cursors: the first available byte, and the position after the last. */
  readonly output: { readonly first: number; readonly next: number };
}

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

export type Restart = 'always' | 'on-failure' | 'never';

/** When a server counts as ready: without `http` and `log`, once its port listens. */
export interface Readiness {
  /** A path on its port that responds with a status below 400. */
  readonly http?: string | undefined;
  /** A line of its output contains this. */
  readonly log?: string | undefined;
  readonly timeout_ms?: number | undefined;
}

/** `waiting`: it has exited and restarts after a delay. */
export type ServerState = 'starting' | 'ready' | 'waiting' | 'failed' | 'exited' | 'stopped';

export interface ServerInfo {
  readonly name: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly port: number | null;
  readonly restart: Restart;
  readonly readiness: Readiness | null;
  readonly state: ServerState;
  /** Why it waits or failed. */
  readonly reason: string | null;
  readonly process_id: string | null;
  readonly pid: number | null;
  readonly restarts: number;
  readonly started_by: StartedBy;
  readonly declared_at: string;
  readonly started_at: string | null;
  readonly ready_at: string | null;
  /** The most recent exit. */
  readonly exit: ProcessExit | null;
}

/** A port on which something listens. */
export interface PortInfo {
  readonly port: number;
  readonly address: string;
  readonly pid: number | null;
  readonly program: string | null;
  /** Its command line, cut at 400 characters. */
  readonly command: string | null;
  readonly process_id: string | null;
  readonly server: string | null;
  readonly since: string;
}

export interface PortState {
  readonly port: number;
  readonly state: 'listening' | 'closed';
  /** Null when it is closed. */
  readonly listener: PortInfo | null;
}
