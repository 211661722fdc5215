import { PortholeError } from '../../http/porthole-error.ts';
import type { Preview } from '../../runs/preview.ts';
import type { Run } from '../../runs/run.ts';
import type { Server, ServeOptions } from '../../runs/server.ts';
import { wait } from '../../http/wait.ts';
import { plain } from '../plain.ts';

/** What stays is shown at most, of a log. */
const LAST_LINES = 20;
/** Between two looks, in milliseconds, where the API did not wait itself. */
const LOOK_MS = 250;

export interface WantedServer {
  readonly name: string;
  readonly command: string;
  readonly port: number;
  readonly cwd: string;
}

/** Declares the server; one that was declared otherwise is replaced. */
export async function declareServer(
  run: Run,
  { name, command, port, cwd }: WantedServer,
  signal: AbortSignal,
): Promise<Server> {
  const options: ServeOptions = { name, port, cwd: `/workspace/${cwd}`.replace(/\/$/, ''), signal };
  try {
    return await run.serve(command, options);
  } catch (error) {
    if (!(error instanceof PortholeError) || error.code !== 'server_exists') throw error;
    await run.servers.remove(name, { signal });
    return run.serve(command, options);
  }
}

/**
 * The preview of a server, once it serves. A server that listens on another port than was guessed is
 * declared again with that one.
 * @throws Error with the last lines of its log and the doctor's sentence
 */
export async function awaitServer(
  run: Run,
  wanted: WantedServer,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<{ readonly server: Server; readonly preview: Preview }> {
  const until = performance.now() + timeoutMs;
  let port = wanted.port;
  let server = await declareServer(run, wanted, signal);
  for (;;) {
    const preview = await run.preview(port, { signal });
    if (preview.ready) return { server, preview };
    preview.letGo();
    const { reason } = preview.info;
    const listening = (await run.ports.list({ signal })).filter((each) => each.server === wanted.name);
    const other = listening.find((each) => each.port !== port)?.port;
    if (other !== undefined && !listening.some((each) => each.port === port)) {
      await preview.stop({ signal });
      port = other;
      server = await declareServer(run, { ...wanted, port }, signal);
    } else if (reason === 'server_failed' || performance.now() > until) {
      throw new Error(await whyNot(run, wanted.name, port, signal));
    } else await wait(LOOK_MS, signal);
  }
}

async function whyNot(run: Run, name: string, port: number, signal: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const event of run.servers.logs(name, { tail: LAST_LINES, follow: false, signal })) {
    if (event.type === 'stdout' || event.type === 'stderr') chunks.push(event.data);
  }
  const log = Buffer.concat(chunks).toString().split('\n');
  const lines = log.filter((line) => line.trim() !== '').slice(-LAST_LINES);
  const { advice } = await run.doctor(port, { signal });
  return [
    `The server does not answer on port ${port}.`,
    ...(lines.length === 0 ? ['It printed nothing.'] : ['Its last lines:']),
    ...lines.map((line) => `  ${plain(line)}`),
    plain(advice),
  ].join('\n');
}
