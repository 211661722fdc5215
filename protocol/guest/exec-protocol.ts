/** `GET /v1/exec`: one WebSocket connection is one attached command. */
import * as z from 'zod/mini';
import { detailId } from './details-protocol.ts';

export const noZero = z.refine<string>((text) => !text.includes('\0'), 'must not hold a zero byte');
const text = z.string().check(noZero);
const size = z.int().check(z.gte(1), z.lte(65_535));

export const terminalSize = z.object({ cols: size, rows: size });
export type TerminalSize = z.infer<typeof terminalSize>;

export const absolutePath = text.check(z.startsWith('/'), z.maxLength(4_096));

export const environment = z.record(
  text.check(z.regex(/^[^=]+$/, 'a name has no "=" and is not empty')),
  text,
);

/** What a command is started with, by any operation. */
export const execRequest = z.object({
  /** Executed directly, without a shell. */
  argv: z.tuple([text], text),
  /** Runs the guest's script of that name: `argv` is its shell and its arguments. */
  script: z.optional(z.enum(['sessions'])),
  /** @default /workspace */
  cwd: z.optional(absolutePath),
  /** Added to the sandbox's environment. */
  env: z.optional(environment),
  /** Whether stdin is a pipe; otherwise the command reads /dev/null. */
  stdin: z.optional(z.boolean()),
  tty: z.optional(terminalSize),
  /** Keeps the output under this id. */
  detail_id: z.optional(detailId),
});
export type ExecRequest = z.infer<typeof execRequest>;

/** The first byte of each binary message. The request itself is the first message, a text. */
export const EXEC = {
  /** host → guest: at most `STDIN_WINDOW` bytes that `window` has not acknowledged. */
  stdin: 0,
  stdout: 1,
  stderr: 2,
  /** guest → host: JSON `{code}` or `{signal}`; the last message, after the last byte of output. */
  exit: 3,
  /** guest → host: the command runs, or its exit says why it could not start. */
  started: 4,
  /** guest → host: this many bytes of stdin are consumed (uint32, big endian). */
  window: 5,
  /** host → guest: no more stdin. */
  stdinEnd: 6,
  /** host → guest: a signal's name. */
  signal: 7,
  /** host → guest: JSON of a terminal's new size. */
  resize: 8,
} as const;

/** Limits of a message, in bytes: with data, and of any other type. */
export const MAX_DATA_BYTES = 1024 * 1024;
export const MAX_CONTROL_BYTES = 4096;

/** Unacknowledged bytes of stdin: enough to keep a pipe full, few enough to hold in memory. */
export const STDIN_WINDOW = 256 * 1024;

export const SIGNALS = ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
export const signalName = z.enum(SIGNALS);
export type SignalName = z.infer<typeof signalName>;

/** How a command ended. */
export const commandExit = z.union([
  z.object({ code: z.int().check(z.gte(0), z.lte(255)) }),
  z.object({ signal: z.string().check(z.regex(/^SIG[A-Z0-9+]{1,12}$/)) }),
]);
export type CommandExit = z.infer<typeof commandExit>;
