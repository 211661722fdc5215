import { PortholeError } from '../../http/porthole-error.ts';
import type { Preview } from '../../resources/preview.ts';
import type { Run } from '../../resources/run.ts';
import type { ProcessExit, ServerState } from '../../resources/process-info.ts';
import type { Server, ServeOptions } from '../../resources/server.ts';
import { wait } from '../../http/wait.ts';
import type { Report } from './progress.ts';
import { LAST_LINES, lastLines, plain } from '../print.ts';

/** Poll interval in milliseconds, if no event arrives earlier. */
const LOOK_MS = 1_000;
const RETRY_MS = 250;
/**
 * How long, in milliseconds, another port may be open first: a helper may listen before the server.
 */
const OTHER_PORT_MS = 500;
/** Milliseconds after which the server's last line is read, too: it compiles, or waits. */
const LONG_MS = 4_000;
const HAS_ENDED: ReadonlySet<ServerState> = new Set(['failed', 'exited', 'stopped']);

export interface WantedServer {
  readonly name: string;
  readonly command: string;
  readonly port: number;
  readonly cwd: string;
  /** Of its command. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Whether it may run already, with files as they were before, and does not follow edits. */
  readonly isStale?: boolean;
}

/** Declares the server; replaces one with a different declaration. */
export async function declareServer(
  run: Run,
  { name, command, port, cwd, env }: WantedServer,
  signal: AbortSignal,
): Promise<Server> {
  const options: ServeOptions = { name, port, env, cwd: `/workspace/${cwd}`.replace(/\/$/, ''), signal };
  try {
    return await run.serve(command, options);
  } catch (error) {
    if (!(error instanceof PortholeError) || error.code !== 'server_exists') throw error;
    await run.servers.remove(name, { signal });
    return run.serve(command, options);
  }
}

export interface AwaitOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Takes the last line of a server that is slow to serve. */
  readonly report?: Report;
}

/**
 * The preview of a server, once it serves. If the server listens on another port, it is declared
 * again with that port.
 * @throws Error with the last lines of its log and the doctor's advice
 */
export async function awaitServer(
  run: Run,
  wanted: WantedServer,
  { timeoutMs, signal, report }: AwaitOptions,
): Promise<{ readonly server: Server; readonly preview: Preview }> {
  const began = performance.now();
  const until = began + timeoutMs;
  const done = new AbortController();
  const wakes = new Wakes(run.sandbox.events({ signal: AbortSignal.any([signal, done.signal]) }));
  let port = wanted.port;
  let elsewhereSince: number | undefined;
  try {
    let server = await declareServer(run, wanted, signal);
    if (wanted.isStale === true) await server.restart({ signal });
    const { restarts } = await server.info({ signal });
    for (;;) {
      const [info, all] = await Promise.all([server.info({ signal }), run.ports.list({ signal })]);
      const ports = all.filter((each) => each.server === wanted.name).map((each) => each.port);
      const now = performance.now();
      if (report !== undefined && now - began > LONG_MS)
        report(
          lastLines(await server.log({ tail: 1, signal }))
            .at(-1)
            ?.trim() ?? '',
        );
      if (ports.includes(port)) {
        const preview = await run.preview(port, { signal });
        if (preview.ready) return { server, preview };
        preview.letGo();
        if (now > until) throw new Error(await whyNot(run, server, port, signal));
        await wakes.next(RETRY_MS, signal);
        continue;
      }
      // `failed` also covers a server that is slow to start, which still has a pid.
      const hasEnded = HAS_ENDED.has(info.state) && info.pid === null;
      const hasFailed = hasEnded || (info.state === 'waiting' && info.restarts > restarts);
      if (hasFailed || now > until) throw new Error(await whyNot(run, server, port, signal));
      const [other] = ports;
      if (other === undefined) elsewhereSince = undefined;
      else elsewhereSince ??= now;
      if (other !== undefined && elsewhereSince !== undefined && now - elsewhereSince >= OTHER_PORT_MS) {
        port = other;
        server = await declareServer(run, { ...wanted, port }, signal);
      }
      await wakes.next(Math.min(other === undefined ? LOOK_MS : OTHER_PORT_MS, until - now + 1), signal);
    }
  } finally {
    done.abort();
  }
}

/** The events of a sandbox, as triggers for the next poll. */
class Wakes {
  readonly #events: AsyncGenerator;
  #next: Promise<unknown> | undefined;

  constructor(events: AsyncGenerator) {
    this.#events = events;
  }

  /** Resolves at the next event or after `ms`: a host in a cluster has no port events. */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    this.#next ??= this.#events.next().then(
      () => (this.#next = undefined),
      () => new Promise(() => undefined),
    );
    await Promise.race([this.#next, wait(ms, signal)]);
  }
}

async function whyNot(run: Run, server: Server, port: number, signal: AbortSignal): Promise<string> {
  const lines = lastLines(await server.log({ tail: LAST_LINES, signal }));
  const printed = lines.length === 0 ? ['It printed nothing.'] : ['Its last lines:', ...lines];
  const { pid, exit, reason } = await server.info({ signal });
  // The doctor would advise to start a server.
  if (pid === null && exit !== null) return [`The server ${howEnded(exit, reason)}.`, ...printed].join('\n');
  const { advice } = await run.doctor(port, { signal });
  return [
    `The server does not answer on port ${port}.`,
    ...printed,
    plain(advice),
    'The server still runs: give it longer with --timeout 5m, or name its port with --port.',
  ].join('\n');
}

/** With code 127 the reason names the missing program. Its next start is left out. */
function howEnded({ code, signal }: ProcessExit, reason: string | null): string {
  if (code === 127 && reason !== null) return plain(reason.replace(/; starts again.*/, ''));
  return `ended with ${code === null ? (signal ?? 'no code') : `code ${code}`}`;
}
