/** The requests of `porthole` to the host, with the token that the run's start stored. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { retry } from '../../base/retry.ts';
import { RUNS_FOLDER } from '../prepare-workspace.ts';
import { CommandError, EXIT, sendJson } from './guest-calls.ts';

export interface Access {
  readonly run: string;
  readonly token: string;
  readonly socket: string | undefined;
  readonly url: string;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * The token is in a file that only the sandbox's user may read: never in an environment or a
 * command line.
 */
export function readAccess(env: NodeJS.ProcessEnv): Access {
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

export const NO_ANSWER: Answer = { status: 0, body: undefined };

/**
 * Seconds between retries while Porthole is unreachable: a repeated call gets the same answer as
 * the first.
 */
const PAUSES = [1, 1, 2, 2, 4, 4, 4];

/** No answer, or one of a proxy between: the call may be repeated. */
const TRANSIENT = new Set([0, 502, 503, 504]);
/** API Gateway ends a call after 29 seconds; one that fails sooner was not held. */
const HELD_MS = 5_000;

/**
 * @param pauses none for a call that must not be repeated
 * @throws CommandError if it is refused, or Porthole stays unreachable
 */
export async function call<T>(
  access: Access,
  method: string,
  path: string,
  body?: unknown,
  pauses: readonly number[] = PAUSES,
): Promise<T> {
  const began = performance.now();
  let called = began;
  let failures = 0;
  const once = async (): Promise<T> => {
    called = performance.now();
    const answer = await request(access, method, path, body).catch((): Answer => NO_ANSWER);
    if (answer.status >= 200 && answer.status < 300) return answer.body as T;
    throw TRANSIENT.has(answer.status) ? UNREACHABLE : refused(answer);
  };
  const delay = (error: unknown): number | undefined => {
    if (error !== UNREACHABLE) return undefined;
    const now = performance.now();
    // It reached Porthole, and something between ended it while a person was asked.
    failures = now - called >= HELD_MS && now - began < SILENT_MS ? 0 : failures + 1;
    const pause = pauses[Math.max(failures - 1, 0)];
    return pause === undefined ? undefined : pause * 1_000;
  };
  return retry(once, { delay });
}

const UNREACHABLE = new CommandError(EXIT.unreachable, 'Porthole cannot be reached. Try again later.');

function refused({ status, body }: Answer): CommandError {
  const { error, code } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const exit =
    code === 'approval_denied' ? EXIT.denied : code === 'approval_timed_out' ? EXIT.undecided : EXIT.failed;
  return new CommandError(exit, typeof error === 'string' ? error : `refused with status ${status}`);
}

/** An approval takes five minutes at most. */
const SILENT_MS = 400_000;

export async function request(
  { run, token, socket, url }: Access,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const target = new URL(`${url}/api/runs/${run}/${path}`);
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const response = await sendJson(target, socket, { method, headers, timeout: SILENT_MS }, body);
  return { status: response.statusCode ?? 0, body: parsed(await text(response)) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
