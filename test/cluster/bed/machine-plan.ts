/** How a component tells that others can start upon it: an HTTP address that answers 200, or a unix socket that accepts. */
export type Probe =
  | { readonly kind: 'http'; readonly url: string; readonly caFile?: string }
  | { readonly kind: 'socket'; readonly path: string };

/** One process of the machine. It starts once every component of `after` is ready. */
export interface Component {
  readonly name: string;
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly after: readonly string[];
  /** A `task` must end with status 0, and is ready then; a `service` must never end. */
  readonly kind: 'task' | 'service';
  /** When a service is ready; without it, as soon as it runs. */
  readonly ready?: Probe;
}

/** A command that prepares the machine; `host: true` runs it in the host's network namespace. */
export interface SetupCommand {
  readonly argv: readonly string[];
  readonly host?: true;
}

/** Everything that the first process of a bed does, worked out beforehand. */
export interface MachinePlan {
  readonly setup: readonly SetupCommand[];
  readonly components: readonly Component[];
  readonly env: Readonly<Record<string, string>>;
  /** Folders that appear in this one are opened to every user: the volumes of non-root pods. */
  readonly openedFolder: string;
}

/**
 * Both are relative to the run folder, where the machine is started and stays: what is mounted over an absolute path
 * later never hides them.
 */
export const STATUS_FILE = 'status.json';
export const LOG_FOLDER = 'log';

/** What the status file holds. */
export interface MachineStatus {
  readonly phase: 'starting' | 'running' | 'failed';
  /** What is ready so far, in order. */
  readonly ready: readonly string[];
  /** What failed, and where its log is. */
  readonly problem?: string;
}
