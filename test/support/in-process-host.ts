import { type ClientRequest, type IncomingHttpHeaders, request, type RequestOptions } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WakingClock } from '#base/clock-and-ids.ts';
import { readConfig, secretsOf } from '#host/config/config.ts';
import { createLogger } from '#host/telemetry/logger.ts';
import { type Host, startHost } from '#host/start-host.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; throws on invalid JSON. */
  json<T = Record<string, unknown>>(): T;
}

export interface Call {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The Host header; the connection still goes to the host. */
  readonly host?: string;
  readonly token?: string;
}

export interface TestHost {
  readonly host: Host;
  readonly dataDir: string;
  /** All log lines, one JSON object each. */
  readonly logged: string[];
  call(method: string, path: string, call?: Call): Promise<Answer>;
  /** Stops the host and its sandboxes, and removes the folder. */
  end(): Promise<void>;
  /** Stops only the host, gracefully. */
  close(): Promise<void>;
}

/** Begins a request to some server. */
export type Connect = (options: RequestOptions) => ClientRequest;

/** One HTTP request to a port of 127.0.0.1, with any Host. */
export function call(port: number, method: string, path: string, options?: Call): Promise<Answer> {
  return callBy((to) => request({ host: '127.0.0.1', port, ...to }), method, path, options);
}

export function callBy(
  connect: Connect,
  method: string,
  path: string,
  { body, headers = {}, host, token }: Call = {},
): Promise<Answer> {
  const payload =
    body === undefined
      ? undefined
      : typeof body === 'string' || body instanceof Buffer
        ? body
        : JSON.stringify(body);
  const isJson = payload !== undefined && typeof body !== 'string' && !(body instanceof Buffer);
  return new Promise((resolve, reject) => {
    const outgoing = connect({
      method,
      path,
      agent: false,
      headers: {
        ...(host === undefined ? {} : { host }),
        ...(isJson ? { 'content-type': 'application/json' } : {}),
        ...(payload === undefined ? {} : { 'content-length': Buffer.byteLength(payload) }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
    });
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: <T>() => JSON.parse(text) as T,
        });
      });
    });
    outgoing.once('error', reject);
    outgoing.end(payload);
  });
}

/** Suites create more sandboxes than the default quota. */
const NO_QUOTAS = JSON.stringify({ default: { sandboxes: null, runs: null, previews: null } });

/** A real host in this process, on a free port and a temporary folder. */
export async function startTestHost(
  environment: Readonly<Record<string, string>> = {},
  { dataDir, clock }: { readonly dataDir?: string; readonly clock?: WakingClock } = {},
): Promise<TestHost> {
  const folder = dataDir ?? (await mkdtemp(join(tmpdir(), 'porthole-test-')));
  const logged: string[] = [];
  const config = readConfig({
    PORT: '0',
    PORTHOLE_DATA_DIR: folder,
    LOG_LEVEL: 'debug',
    PORTHOLE_QUOTAS: NO_QUOTAS,
    PORTHOLE_REQUEST_LIMITS: JSON.stringify({ wrong_secrets_per_minute: 100_000 }),
    ...environment,
  });
  const log = await createLogger({
    level: config.logLevel,
    secrets: secretsOf(config),
    hasTraces: config.telemetry !== undefined,
    destination: { write: (line) => void logged.push(line) },
  });
  const host = await startHost(config, log, clock);
  return {
    host,
    dataDir: folder,
    logged,
    call: (method, path, options) => call(host.port, method, path, options),
    close: () => host.close(),
    async end() {
      await host.recovered;
      for await (const id of host.services.sandboxes.list()) await host.services.sandboxes.destroy(id);
      await host.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
