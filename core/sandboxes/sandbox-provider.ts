import type { IncomingMessage } from 'node:http';
import type { Duplex, Readable, Writable } from 'node:stream';
import type { TerminalSize } from '#protocol/guest/exec-protocol.ts';

export interface SandboxSize {
  /** CPUs, in thousandths at the finest. */
  readonly cpu: number;
  /** In MiB. */
  readonly memoryMb: number;
  /** Of `/workspace`, in MiB. */
  readonly diskMb: number;
}

/**
 * What enforces each limit of a sandbox, in a few words; null: not enforced. `network` is what
 * keeps it from forbidden addresses: all without a network, metadata and private ones with one.
 */
export interface Enforcement {
  readonly cpu: string | null;
  readonly memoryMb: string | null;
  readonly diskMb: string | null;
  readonly network: string | null;
  /** The number of processes and threads. */
  readonly processes: string | null;
  /** Which system calls reach the kernel. */
  readonly systemCalls: string | null;
}

/** What a sandbox is made from. */
export interface SandboxSpec {
  /** `[a-z2-7]{1,128}`, chosen by the caller. */
  readonly id: string;
  /** Container image; `undefined` means the provider's default. */
  readonly image?: string | undefined;
  /** Missing fields take the provider's defaults. */
  readonly resources?: Partial<SandboxSize> | undefined;
  /** Whether it reaches the internet, without metadata and private addresses. @default false */
  readonly network?: boolean | undefined;
}

/** The observed state, as opposed to the desired state. */
export interface SandboxObservation {
  readonly state: 'absent' | 'creating' | 'running' | 'stopped';
  /** The name that previews report as `pod_name`. */
  readonly podName: string;
  /** Why it is not running, in the provider's own words. */
  readonly reason?: string | undefined;
  /** Why the provider stopped it; undefined if it was stopped by a caller. */
  readonly stoppedFor?: string | undefined;
  /** Why its last start did not continue the processes that an idle stop had ended. */
  readonly memoryLost?: string | undefined;
}

export interface ExecCommand {
  /** Executed without a shell. */
  readonly argv: readonly [string, ...string[]];
  /** Runs this script of the guest; `argv` is its shell and its arguments. @default none */
  readonly script?: 'sessions' | undefined;
  /** Absolute; default `/workspace`. */
  readonly cwd?: string | undefined;
  /** Added to the sandbox's own environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Whether `stdin` is a pipe; otherwise the command reads /dev/null. */
  readonly stdin?: boolean | undefined;
  /**
   * Run on a terminal of this size (columns and rows); everything it prints arrives on `stdout`.
   */
  readonly tty?: TerminalSize | undefined;
  /** The guest keeps the beginning and the end of its output under this id: 32 hex digits. */
  readonly detailId?: string | undefined;
}

export type ExecExit =
  | { readonly code: number; readonly signal?: undefined }
  /** Ended by a signal, e.g. `SIGKILL`. */
  | { readonly code?: undefined; readonly signal: string };

/**
 * A running command. Output must be read: a reader that stops also stops the command
 * (back-pressure), so memory is bounded. `exited` resolves once, after the last byte of output has
 * been delivered. It rejects with `exec_transport_error` when the connection to the sandbox is
 * lost, so a dropped stream is never mistaken for an exit.
 */
export interface ExecProcess {
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<ExecExit>;
  /** Sends a signal to the command's whole process group; after its exit it does nothing. */
  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGHUP'): void;
  /** New terminal size; does nothing without a terminal. */
  resize(cols: number, rows: number): void;
}

/** A request to the guest of a sandbox (`protocol/guest`). */
export interface GuestCall {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  /**
   * Asks a server of the sandbox on this port, which refuses as the guest does.
   * @default the guest
   */
  readonly port?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON, or streamed where it is a stream. */
  readonly body?: unknown;
  /** How long the answer may take once the request is sent, in ms. */
  readonly answerWithin?: number | undefined;
}

/**
 * A guest's response. Untrusted, because any code may answer in place of the guest: the reader
 * bounds and validates all of it, and reads it to its end or destroys it.
 */
export type GuestAnswer = IncomingMessage;

/** A connection to a guest, for one request. */
export interface GuestConnection {
  /** Carries HTTP/1.1. */
  readonly stream: Duplex;
  /** Sent with the request, where the guest requires them. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Memory and processes of sandboxes. */
export interface SandboxMemory {
  /**
   * An image of a running sandbox, which goes on: its connections to the host are closed. Read it
   * to its end, or destroy it.
   * @param maxBytes of the image
   * @throws PortholeError `memory_not_supported` with the reason; nothing has changed
   */
  save(id: string, maxBytes: number): Promise<Readable>;

  /**
   * Like `create`, and continues the processes of an image in it. Uses nothing of the image before
   * its end, and nothing else reaches the sandbox before.
   * @param fill writes the files of the sandbox that was saved
   * @returns undefined, or why it runs only from its files
   * @throws PortholeError as `create`, and the errors of `fill` and the image: nothing was made
   */
  create(
    spec: SandboxSpec,
    fill: (guest: Pick<GuestCalls, 'callGuest'>) => Promise<unknown>,
    image: Readable,
    signal?: AbortSignal,
  ): Promise<string | undefined>;

  /** Like `stop`, and the next `resume` continues the processes, if their memory can be saved. */
  suspend(id: string): Promise<void>;
}

/** CPU time in seconds since the start of a counter: one that starts again has another name. */
export interface CpuTime {
  readonly counter: string;
  readonly seconds: number;
}

/** Objects of one kind in a quota. */
export interface QuotaCount {
  /** Such as `pods`. */
  readonly what: string;
  readonly used: number;
  readonly most: number;
}

/**
 * Where sandboxes live. Every method is idempotent, and safe to repeat after a crash in the middle.
 * A sandbox keeps what it was made from: `resume` takes nothing but its id.
 *
 * Failure codes (PortholeError): `sandbox_not_found` where there is no such sandbox,
 * `sandbox_not_running` where it is stopped or still being created, `exec_transport_error` where
 * the provider cannot be reached.
 */
export interface SandboxProvider {
  /** E.g. `docker`. */
  readonly name: string;

  /** The size of a sandbox that requests none. */
  readonly defaultSize: SandboxSize;

  /**
   * What enforces the limits of a sandbox with or without a network. Never rejects: unknown values
   * are null.
   */
  enforcement(network: boolean): Promise<Enforcement>;

  /**
   * How much of the cluster's quota for all sandboxes is used.
   * @default no quota
   */
  quota?(signal: AbortSignal): Promise<readonly QuotaCount[]>;

  /**
   * Whether the cluster enforces its network policies; undefined where that cannot be seen from
   * here.
   * @param ids of running sandboxes, all of which are tried
   * @default there are none
   */
  enforcesPolicies?(ids: readonly string[], signal: AbortSignal): Promise<boolean | undefined>;

  /** Whether a sandbox can be made from the image, as far as is known in advance. */
  runsImage(reference: string, signal?: AbortSignal): Promise<boolean>;

  /**
   * Makes and starts the sandbox; resolves once commands can run in it. Existing and running: does
   * nothing.
   * @throws PortholeError `image_not_supported`, `resources_not_supported`,
   * `network_not_supported`: nothing was made
   */
  create(spec: SandboxSpec, signal?: AbortSignal): Promise<void>;

  inspect(id: string, signal?: AbortSignal): Promise<SandboxObservation>;

  /** Ends every process in the sandbox; `/workspace` stays. */
  stop(id: string, signal?: AbortSignal): Promise<void>;

  /** Starts a stopped sandbox on its `/workspace`; resolves once commands can run in it. */
  resume(id: string, signal?: AbortSignal): Promise<void>;

  /** Ends every process and removes `/workspace`. Absent: does nothing. */
  destroy(id: string, signal?: AbortSignal): Promise<void>;

  /**
   * A connection to the sandbox's guest, for one request. Everything that happens inside a sandbox
   * goes through its guest (`GuestCalls`).
   * @param operation the method and path of the request, as in `GET /v1/health`
   */
  connect(id: string, operation: string, signal?: AbortSignal): Promise<GuestConnection>;

  /**
   * The CPU time of a running sandbox, where it is counted outside; undefined where it is not.
   * @default only the guest counts
   */
  cpuTime?(id: string): Promise<CpuTime | undefined>;

  /** @default memory cannot be saved */
  readonly memory?: SandboxMemory | undefined;

  /** The ids of all sandboxes with our mark, running or not; used to find orphans. */
  list(signal?: AbortSignal): AsyncIterable<string>;

  /** Closes connections. Sandboxes keep their state: the next start of the host adopts them. */
  close(): Promise<void>;
}

/** What happens inside running sandboxes, through their guests. Same failure codes. */
export interface GuestCalls {
  /**
   * Starts a command in its own process group. Aborting `signal` kills the group with SIGKILL. What
   * the command left in the background after its own exit runs on until the sandbox stops, its
   * output read and discarded. A program that cannot be started (not found, not executable) is an
   * exit with code 127 or 126 and the reason on stderr.
   */
  exec(id: string, command: ExecCommand, signal?: AbortSignal): Promise<ExecProcess>;

  /**
   * A byte stream to a TCP port inside the sandbox, tried on 127.0.0.1 and then on ::1, so that a
   * server bound to loopback still shows. Do not end it right after writing: many servers drop the
   * answer when the client half-closes.
   * @throws PortholeError `nothing_listens` when both refuse
   */
  dial(id: string, port: number, signal?: AbortSignal): Promise<Duplex>;

  /**
   * Asks the sandbox's guest, and resolves when its answer begins.
   * @throws PortholeError as the guest refuses (any status from 400 on), `exec_transport_error`
   * where the connection is lost, `nothing_listens` on the port of the call
   */
  callGuest(id: string, call: GuestCall, signal?: AbortSignal): Promise<GuestAnswer>;
}

/** The sandboxes of an installation, as handlers, use cases and controllers see them. */
export interface Sandboxes extends Omit<SandboxProvider, 'connect'>, GuestCalls {
  /** Stops an unused sandbox, with its memory where that can be saved. @default `stop` */
  suspend?(id: string): Promise<void>;
}
