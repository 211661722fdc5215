/**
 * The requests of `porthole` to the host about previews, with the token that the run's start
 * stored.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { shortSocketPath } from '../inside-socket.ts';
import { RUNS_FOLDER } from '../prepare-workspace.ts';
import { CommandError, EXIT, readText } from './guest-calls.ts';

/** The API's URL and the credential. */
interface Access {
  readonly run: string;
  readonly token: string;
  readonly socket: string | undefined;
  readonly url: string;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** The fields of the API's `PortForwardSession` that are read. */
interface Preview {
  readonly session_id: string;
  readonly target_port: number;
  readonly local_port: number;
  readonly preview_url: string | null;
}

interface StartedPreview extends Preview {
  readonly ready: boolean;
  readonly reason?: string;
  readonly server?: string;
  readonly log?: readonly string[];
  readonly problem?: string;
}

interface Diagnosis {
  readonly advice: string;
  readonly ports: readonly { readonly ready: boolean; readonly advice: string }[];
}

export async function startPreview(env: NodeJS.ProcessEnv, port: number): Promise<number> {
  const access = readAccess(env);
  const preview = await call<StartedPreview>(access, 'POST', 'preview', { target_port: port });
  process.stdout.write(`${addressOf(preview)}\n`);
  if (preview.ready) return EXIT.done;
  const { reason, server, log, problem } = preview;
  if (reason === 'server_failed' && server !== undefined) {
    const lines = (log ?? []).map((line) => `${line}\n`).join('');
    process.stderr.write(
      `porthole: the preview is live, but server ${server} failed. It printed last:\n${lines}`,
    );
    return EXIT.done;
  }
  if (problem !== undefined) {
    process.stderr.write(
      `porthole: the preview is live, but Porthole cannot see whether it works. ${problem}\n`,
    );
    return EXIT.done;
  }
  const { status, body } = await request(access, 'GET', `doctor?port=${port}`).catch((): Answer => NO_ANSWER);
  const advice = status === 200 ? ` ${adviceOf(body as Diagnosis)}` : '';
  process.stderr.write(`porthole: the preview is live, but does not show the server yet.${advice}\n`);
  return EXIT.done;
}

export async function stopPreview(env: NodeJS.ProcessEnv, port: number): Promise<number> {
  const access = readAccess(env);
  const previews = await call<Preview[]>(access, 'GET', 'port-forward');
  const found = previews.find(({ target_port }) => target_port === port);
  if (found === undefined) {
    throw new CommandError(
      EXIT.failed,
      `port ${port} has no live preview. To stop its server, use its name: porthole ps lists it.`,
    );
  }
  await call(access, 'DELETE', `port-forward/${encodeURIComponent(found.session_id)}`);
  process.stdout.write(`The preview of port ${port} is stopped.\n`);
  return EXIT.done;
}

export async function previewStatus(env: NodeJS.ProcessEnv): Promise<number> {
  const previews = await call<Preview[]>(readAccess(env), 'GET', 'port-forward');
  for (const preview of previews) process.stdout.write(`${preview.target_port} ${addressOf(preview)}\n`);
  return EXIT.done;
}

export async function previewDoctor(env: NodeJS.ProcessEnv, port: number): Promise<number> {
  const found = await call<Diagnosis>(readAccess(env), 'GET', `doctor?port=${port}&check=true`);
  process.stdout.write(`${adviceOf(found)}\n`);
  return found.ports.some(({ ready }) => ready) ? EXIT.done : EXIT.failed;
}

/** `ports` contains only the requested port. */
function adviceOf({ advice, ports }: Diagnosis): string {
  return ports[0]?.advice ?? advice;
}

function addressOf({ preview_url, local_port }: Preview): string {
  return preview_url ?? `http://preview-${local_port}.localhost:${local_port}/`;
}

/**
 * The token is in a file that only the sandbox's user may read: never in an environment or a
 * command line.
 */
function readAccess(env: NodeJS.ProcessEnv): Access {
  try {
    const folder = join(env['HOME'] ?? '', RUNS_FOLDER);
    // Ids sort by creation time.
    const name = env['PORTHOLE_RUN'] || readdirSync(folder).toSorted().at(-1);
    const lines = readFileSync(join(folder, name ?? ''), 'utf8').split('\n');
    const field = (key: string): string | undefined =>
      lines.find((line) => line.startsWith(`${key}=`))?.slice(key.length + 1);
    const [run, token] = [field('run'), field('token')];
    if (run === undefined || token === undefined) throw new Error('not a whole file');
    return { run, token, socket: field('socket'), url: field('url') ?? 'http://porthole' };
  } catch {
    throw new CommandError(
      EXIT.unreachable,
      'no run is at work in this sandbox, or Porthole has no channel to it.',
    );
  }
}

const NO_ANSWER: Answer = { status: 0, body: undefined };

/**
 * Seconds between retries while Porthole is unreachable: a repeated call gets the same answer as
 * the first.
 */
const PAUSES = [1, 1, 2, 2, 4, 4, 4, 0];

/** @throws CommandError if it is refused, or Porthole stays unreachable */
async function call<T>(access: Access, method: string, path: string, body?: unknown): Promise<T> {
  for (const pause of PAUSES) {
    const answer = await request(access, method, path, body).catch((): Answer => NO_ANSWER);
    if (answer.status >= 200 && answer.status < 300) return answer.body as T;
    if (answer.status !== 0 && answer.status !== 503) throw refused(answer);
    await sleep(pause * 1_000);
  }
  throw new CommandError(EXIT.unreachable, 'Porthole cannot be reached. Try again later.');
}

function refused({ status, body }: Answer): CommandError {
  const { error, code } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const exit =
    code === 'approval_denied' ? EXIT.denied : code === 'approval_timed_out' ? EXIT.undecided : EXIT.failed;
  return new CommandError(exit, typeof error === 'string' ? error : `refused with status ${status}`);
}

/** An approval takes five minutes at most. */
const SILENT_MS = 400_000;

function request(
  { run, token, socket, url }: Access,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const target = new URL(`${url}/api/runs/${run}/sandbox/${path}`);
  const send = target.protocol === 'https:' ? httpsRequest : httpRequest;
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  return new Promise((resolve, reject) => {
    const short = socket === undefined ? undefined : shortSocketPath(socket);
    const connection = short && connect(short.path);
    connection?.once('connect', short?.done ?? noop).once('error', short?.done ?? noop);
    const asked = send(target, {
      method,
      headers,
      timeout: SILENT_MS,
      // Neither uses the global agent, which takes proxies from the environment.
      ...(connection === undefined ? { agent: false } : { createConnection: () => connection }),
    });
    asked.once('timeout', () => asked.destroy(new Error('no answer')));
    asked.once('error', reject);
    asked.once('response', (response) => {
      readText(response).then(
        (text) => resolve({ status: response.statusCode ?? 0, body: parsed(text) }),
        reject,
      );
    });
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function noop(): void {}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
