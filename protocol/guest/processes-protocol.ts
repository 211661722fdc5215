/** Processes of the guest: `/v1/processes`. They outlive every connection. */
import * as z from 'zod/mini';
import { absolutePath, environment, noZero, signalName, terminalSize } from './exec-protocol.ts';

const text = z.string().check(noZero, z.maxLength(2 * 1024 * 1024));
const count = z.int().check(z.gte(0));
/** RFC 3339, in UTC. */
export const instant = z.string().check(z.maxLength(40), z.regex(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/));

/** Chosen by the guest; never a pid, because the kernel reuses pids. */
export const processId = z.string().check(z.regex(/^[A-Za-z0-9_-]{1,64}$/));

/** For people; not unique. */
export const processName = z
  .string()
  .check(z.regex(/^[\w.:@/ -]{1,64}$/, 'at most 64 letters, digits or .:@/_-'));

/**
 * Set by the host, which authenticates the caller; `sandbox`: a command inside; `server`: a
 * declared server.
 */
export const startedBy = z.object({
  kind: z.enum(['person', 'agent', 'delegate', 'sandbox', 'server']),
  /** The user, the run, the delegation or the server. */
  id: z.nullable(z.string().check(z.maxLength(256))),
});
export type StartedBy = z.infer<typeof startedBy>;

/** Bytes of both streams together that a ring keeps, unless the request sets another number. */
export const OUTPUT_BYTES = {
  smallest: 64 * 1024,
  usual: 4 * 1024 * 1024,
  largest: 64 * 1024 * 1024,
} as const;

/** Milliseconds of a wait without `timeout_ms`, and the maximum. */
export const WAIT_MS = { usual: 30_000, longest: 600_000 } as const;

/** `argv` runs directly; `command` is a line for the sandbox's shell. Exactly one of the two. */
export const runnable = {
  argv: z.optional(z.tuple([text.check(z.minLength(1))], text)),
  command: z.optional(text.check(z.minLength(1))),
  /** @default /workspace */
  cwd: z.optional(absolutePath),
  /** Added to the sandbox's environment. */
  env: z.optional(environment),
  /**
   * The sandbox's environment, stored by the host. `env` overrides it. It is never written into the
   * workspace.
   */
  sandbox_env: z.optional(environment),
};
export const oneRunnable = z.refine<{ argv?: unknown; command?: unknown }>(
  ({ argv, command }) => (argv === undefined) !== (command === undefined),
  'takes exactly one of argv and command',
);

/**
 * `POST /v1/processes` → 201 with `processInfo`; a program that cannot start has exited with 126 or
 * 127.
 */
export const processRequest = z
  .object({
    ...runnable,
    name: z.optional(processName),
    /** Whether stdin is a pipe; a terminal always has one. */
    stdin: z.optional(z.boolean()),
    tty: z.optional(terminalSize),
    /** SIGTERM to its group after this time, SIGKILL 4 s later. */
    timeout_ms: z.optional(z.int().check(z.gte(1), z.lte(2_147_483_647))),
    output_bytes: z.optional(z.int().check(z.gte(OUTPUT_BYTES.smallest), z.lte(OUTPUT_BYTES.largest))),
    started_by: z.optional(startedBy),
  })
  .check(oneRunnable);
export type ProcessRequest = z.infer<typeof processRequest>;

/**
 * `sandbox_stopped`: the guest ended before it saw an exit. `expired`: the sandbox reached its end
 * of life.
 */
export const EXIT_REASONS = [
  'exited',
  'killed',
  'timed_out',
  'out_of_memory',
  'sandbox_stopped',
  'expired',
] as const;

export const processExit = z.object({
  /**
   * Exactly one of the two is set, except for `sandbox_stopped` and `expired`, where both may be
   * null.
   */
  code: z.nullable(z.int().check(z.gte(0), z.lte(255))),
  signal: z.nullable(z.string().check(z.regex(/^SIG[A-Z0-9+]{1,12}$/))),
  reason: z.enum(EXIT_REASONS),
  at: instant,
  duration_ms: count,
  /** User and system time of the process and the children it waited for; null: unknown. */
  cpu_ms: z.nullable(count),
  peak_memory_bytes: z.nullable(count),
});
export type ProcessExit = z.infer<typeof processExit>;

/** `GET /v1/processes/{id}`. The environment is never part of it: it may contain secrets. */
export const processInfo = z.object({
  id: processId,
  name: z.nullable(processName),
  /** With `command`: the shell and its arguments. */
  argv: z.array(text),
  cwd: z.string().check(z.maxLength(4_096)),
  state: z.enum(['running', 'exited']),
  /** Inside the sandbox; null once it has exited. */
  pid: z.nullable(count),
  /** The same, also after the exit; null if it never started. An older guest does not have it. */
  last_pid: z._default(z.nullable(count), null),
  stdin: z.boolean(),
  tty: z.nullable(terminalSize),
  timeout_ms: z.nullable(count),
  started_by: startedBy,
  started_at: instant,
  exit: z.nullable(processExit),
  /** Cursors: the first byte that is kept, and the position after the last byte. */
  output: z.object({ first: count, next: count }),
});
export type ProcessInfo = z.infer<typeof processInfo>;

/** `GET /v1/processes`: running processes, and the last 100 that exited; the newest first. */
export const processList = z.object({ processes: z.array(processInfo).check(z.maxLength(2_000)) });

/** `GET …/output?since=&follow=`: without `follow` it ends after the existing output. */
export const outputQuery = z.object({
  /** A cursor. @default 0 */
  since: z._default(z.coerce.number().check(z.int(), z.gte(0)), 0),
  follow: z._default(z.stringbool(), false),
});

/** The events of output. Their `id` is the cursor after them; `data` of the streams is base64. */
export const OUTPUT_EVENTS = ['stdout', 'stderr', 'cut', 'exit'] as const;
export type OutputEventName = (typeof OUTPUT_EVENTS)[number];

/** `POST …/signal`, to the process's whole group; does nothing after the exit. */
export const signalRequest = z.object({ signal: z._default(signalName, 'SIGTERM') });

/**
 * `POST …/wait` → 200 with `processInfo` at the exit, or 408 `timed_out`. `POST …/resize` takes
 * `terminalSize`.
 */
export const waitRequest = z.object({
  timeout_ms: z._default(z.int().check(z.gte(0), z.lte(WAIT_MS.longest)), WAIT_MS.usual),
});
