/** `process.Process` of E2B's data plane. */
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';
import {
  followOutput,
  listProcesses,
  type OutputEvent,
  resizeProcess,
  sendInput,
  signalProcess,
  type StartedRef,
  startProcess,
} from '#core/processes/sandbox-processes.ts';
import {
  OUTPUT_BYTES,
  processExit,
  type ProcessExit,
  type ProcessInfo,
} from '#protocol/guest/processes-protocol.ts';
import { readFields } from '../http/read-input.ts';
import { checkRunnable } from '../processes/process-routes.ts';
import type { Services } from '../services.ts';
import { E2B_HOME, readE2bPath } from './home-path.ts';

/** One call: who makes it, and in which sandbox. */
export interface EnvdCall {
  readonly caller: Caller;
  readonly sandboxId: string;
  readonly signal: AbortSignal | undefined;
  /** The client's limit for the call, in ms. */
  readonly timeoutMs: number | undefined;
}

const Nothing = z.strictObject({});
const Size = z.strictObject({ cols: z.int().min(1).max(65_535), rows: z.int().min(1).max(65_535) });
const Pty = z.strictObject({ size: Size.optional() });
const Base64 = z.base64();

/** A process by its pid, or by the tag that its start gave it. */
const Selector = z
  .strictObject({ pid: z.int().min(0).optional(), tag: z.string().max(64).optional() })
  .refine(({ pid, tag }) => (pid === undefined) !== (tag === undefined), 'takes either pid or tag');
const Chosen = z.strictObject({ process: Selector });

const Start = z.strictObject({
  process: z.strictObject({
    cmd: z.string().min(1),
    args: z.array(z.string()).default([]),
    envs: z.record(z.string(), z.string()).default({}),
    cwd: z.string().optional(),
  }),
  pty: Pty.optional(),
  tag: z.string().max(64).optional(),
  stdin: z.boolean().optional(),
});
const Update = Chosen.extend({ pty: Pty.optional() });
const SIGNAL = { SIGNAL_SIGTERM: 'SIGTERM', SIGNAL_SIGKILL: 'SIGKILL' } as const;
const Signal = Chosen.extend({ signal: z.enum(['SIGNAL_SIGTERM', 'SIGNAL_SIGKILL']) });
const Input = Chosen.extend({
  input: z
    .strictObject({ stdin: Base64.optional(), pty: Base64.optional() })
    .refine(({ stdin, pty }) => (stdin === undefined) !== (pty === undefined), 'takes either stdin or pty'),
});

/** What a client may read of a process: the environment may have secrets. */
function toConfig({ argv, cwd }: ProcessInfo) {
  const isWrapped = argv[2] === IN_FOLDER;
  const [cmd = '', ...args] = isWrapped ? argv.slice(4) : argv;
  return { cmd, args, envs: {}, cwd: isWrapped ? (argv[3] ?? cwd) : cwd };
}

/** A tag is the name of the process. */
async function find(services: Services, call: EnvdCall, { pid, tag }: z.infer<typeof Selector>) {
  const all = await listProcesses(services, call);
  const found = all.find((each) =>
    pid === undefined ? each.name === tag : each.state === 'running' && each.pid === pid,
  );
  if (found !== undefined) return found;
  const what = pid === undefined ? `with the tag ${JSON.stringify(tag)}` : `with the pid ${pid}`;
  throw new PortholeError('process_not_found', `Sandbox ${call.sandboxId} has no running process ${what}`);
}

const refOf = (call: EnvdCall, { id }: ProcessInfo): StartedRef<'processes'> => ({
  ...call,
  kind: 'processes',
  id,
});

/** Calls with one answer. */
export const PROCESS_CALLS = {
  async List(services: Services, call: EnvdCall, message: unknown) {
    readFields(Nothing, message, 'body');
    const processes = (await listProcesses(services, call)).filter(({ state }) => state === 'running');
    return {
      processes: processes.map((each) => ({
        config: toConfig(each),
        pid: each.pid ?? 0,
        ...(each.name !== null && { tag: each.name }),
      })),
    };
  },

  async SendInput(services: Services, call: EnvdCall, message: unknown) {
    const { process, input } = readFields(Input, message, 'body');
    const found = await find(services, call, process);
    const body = Readable.from([Buffer.from(input.stdin ?? input.pty ?? '', 'base64')]);
    await sendInput(services, refOf(call, found), { body, eof: false });
    return {};
  },

  async CloseStdin(services: Services, call: EnvdCall, message: unknown) {
    const found = await find(services, call, readFields(Chosen, message, 'body').process);
    await sendInput(services, refOf(call, found), { body: Readable.from([]), eof: true });
    return {};
  },

  async SendSignal(services: Services, call: EnvdCall, message: unknown) {
    const { process, signal } = readFields(Signal, message, 'body');
    await signalProcess(services, refOf(call, await find(services, call, process)), SIGNAL[signal]);
    return {};
  },

  async Update(services: Services, call: EnvdCall, message: unknown) {
    const { process, pty } = readFields(Update, message, 'body');
    const found = await find(services, call, process);
    if (pty?.size !== undefined) await resizeProcess(services, refOf(call, found), pty.size);
    return {};
  },
} as const;

/** Calls with a stream of answers. A client that leaves does not end its process. */
export const PROCESS_STREAMS = {
  async Start(services: Services, call: EnvdCall, message: unknown) {
    const { process, pty, tag, stdin } = readFields(Start, message, 'body');
    const argv: [string, ...string[]] = [process.cmd, ...process.args];
    checkRunnable(call.caller, { argv, env: process.envs });
    const started = await startProcess(services, call, {
      ...startedIn(process.cwd ?? '', argv),
      // A shell takes the name of its folder from PWD, if that leads there.
      env: { HOME: E2B_HOME, PWD: posix.resolve(E2B_HOME, process.cwd ?? ''), ...process.envs },
      output_bytes: OUTPUT_BYTES.largest,
      ...(tag !== undefined && { name: tag }),
      ...(pty !== undefined && { tty: pty.size ?? { cols: 80, rows: 24 } }),
      ...(stdin !== undefined && { stdin }),
      ...(call.timeoutMs !== undefined && { timeout_ms: call.timeoutMs }),
    });
    return follow(services, call, started, 0);
  },

  async Connect(services: Services, call: EnvdCall, message: unknown) {
    const found = await find(services, call, readFields(Chosen, message, 'body').process);
    return follow(services, call, found, found.output.next);
  },
} as const;

const WORKSPACE = '/workspace';
const IN_FOLDER = 'cd -- "$0" && exec "$@"';

/** A command in any folder: Porthole's own start in the workspace. */
function startedIn(given: string, argv: [string, ...string[]]) {
  const { path, isTemporary } = readE2bPath(given);
  if (!isTemporary && (path === WORKSPACE || path.startsWith(`${WORKSPACE}/`))) {
    return { argv, cwd: resolveWorkspacePath(path, 'cwd') };
  }
  const folder = posix.resolve(E2B_HOME, given);
  const wrapped: [string, ...string[]] = ['/bin/sh', '-c', IN_FOLDER, folder, ...argv];
  return { argv: wrapped, cwd: WORKSPACE };
}

async function follow(
  services: Services,
  call: EnvdCall,
  process: ProcessInfo,
  since: number,
): Promise<AsyncIterable<object>> {
  const output = await followOutput(services, refOf(call, process), { since, follow: true });
  async function* events(): AsyncGenerator<object, void, undefined> {
    yield { event: { start: { pid: process.pid ?? 0 } } };
    for await (const event of output) {
      if (event === undefined) yield { event: { keepalive: {} } };
      else yield* toEvents(event, process);
    }
  }
  return events();
}

function* toEvents({ event, data }: OutputEvent, { tty }: ProcessInfo): Generator<object> {
  if (event === 'exit') {
    const exit = processExit.parse(JSON.parse(data));
    if (exit.reason === 'timed_out') {
      throw new PortholeError('request_timeout', 'The command ran longer than the timeout of the call', {
        remedy: 'ask for a longer one, or for none (0).',
      });
    }
    yield { event: { end: toEnd(exit) } };
  } else if (event === 'cut') {
    throw new PortholeError('payload_too_large', 'The command has written more than this client has read', {
      remedy: 'write its output to a file, and read that.',
    });
  } else {
    yield { event: { data: { [tty === null ? event : 'pty']: data } } };
  }
}

/** Codes of signals, as a shell reports them. */
const BY_SIGNAL = 128;
const NUMBERS: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };

function toEnd({ code, signal, reason }: ProcessExit): object {
  if (code !== null) return { exitCode: code, exited: true, status: `exit status ${code}` };
  const exitCode = signal === null ? -1 : BY_SIGNAL + (NUMBERS[signal] ?? 0);
  const status = signal === null ? reason : `signal: ${signal}`;
  return { exitCode, exited: false, status, error: status };
}
