import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface FoundPorthole {
  readonly url: string;
  /** Stops it, if it was started for this demo. */
  readonly end?: () => Promise<void>;
}

/**
 * The Porthole at the configured address (`HOST`, `PORT`); if nothing responds, a new one for the
 * demo.
 */
export async function findPorthole(
  { HOST = '127.0.0.1', PORT = '8787' }: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<FoundPorthole> {
  const host = reachable(HOST);
  // Porthole itself rejects invalid ports when it starts, and picks a free one for 0.
  if (/^[1-9]\d{0,4}$/.test(PORT)) {
    const url = `http://${host}:${PORT}`;
    if (await answers(url, signal)) return { url };
  }
  const { child, port } = await start(signal);
  return { url: `http://${host}:${port}`, end: () => stop(child) };
}

/** A wildcard address is reached by loopback. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Whether a Porthole responds; false without a server. */
async function answers(url: string, signal: AbortSignal): Promise<boolean> {
  let text: string;
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(5_000)]);
    text = await (await fetch(`${url}/health`, { signal: limit })).text();
  } catch (error) {
    signal.throwIfAborted();
    if (isRefused(error)) return false;
    throw new Error(`${url} does not answer: ${(error as Error).message}.`, { cause: error });
  }
  if (/^\{"ok":true\b/.test(text)) return true;
  throw new Error(
    `What answers at ${url} is not Porthole. Choose another port for the demo: PORT=8788 npm run demo`,
  );
}

function isRefused(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } };
  return cause?.code === 'ECONNREFUSED';
}

const MAIN = join(import.meta.dirname, '../../host/main.js');
const MAX_OUTPUT_CHARS = 4_096;

/** Like `npm start`, in the background. Resolves once it prints its URL. */
async function start(signal: AbortSignal): Promise<{ child: ChildProcess; port: string }> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Detached from the terminal's Ctrl-C: it must respond until the demo has cleaned up.
    detached: true,
  });
  let said = '';
  const keep = (text: string): void => void (said = (said + text).slice(-MAX_OUTPUT_CHARS));
  child.stderr.on('data', (chunk: Buffer) => keep(chunk.toString()));
  const giveUp = (): void => void child.kill();
  signal.addEventListener('abort', giveUp);
  try {
    const port = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        keep(`${line}\n`);
        const [, found] = /^\s+API\s+http:\/\/.*:(\d+)$/.exec(line) ?? [];
        if (found !== undefined) resolve(found);
      });
      child.once('error', reject);
      child.once('exit', () => reject(new Error(`Porthole did not start:\n${said.trim()}`)));
    });
    return { child, port };
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill();
  await ended;
}
