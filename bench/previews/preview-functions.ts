import { createAuthenticator } from '#adapters/auth/authenticators.ts';
import { deriveKeySet } from '#adapters/auth/key-set.ts';
import { createSignedTokens } from '#adapters/auth/signed-tokens.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import { readConfig } from '#host/config/config.ts';
import { GuessLimit } from '#core/auth/guess-limit.ts';
import type { HttpEvent } from '#handlers/http/http-event.ts';
import { createAdmission } from '#handlers/http/admit.ts';
import { makeFunction, type PortholeFunction } from '#handlers/make-function.ts';
import {
  keepPreviewAliveRoute,
  startPortForwardRoute,
  stopPortForwardRoute,
} from '#handlers/previews/port-forward-routes.ts';
import type { Services } from '#handlers/services.ts';
import { type FixturePlane, SANDBOX } from './preview-fixture.ts';

/** Start, keepalive and stop, complete: credential, input, run, cluster, response. */
export interface PreviewFunctions {
  /** @returns the preview's token */
  start(): Promise<string>;
  keepAlive(token: string): Promise<void>;
  stop(token: string): Promise<void>;
  close(): Promise<void>;
}

const KEY = 'bench-service-key';
/** The run that owns the previews. */
export const RUN = 'run_bench';
const PORT = 3000;
const CONTEXT = {};

export async function previewFunctions({
  plane,
  preview,
  provider,
}: FixturePlane): Promise<PreviewFunctions> {
  const records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
  const tokens = createSignedTokens(
    deriveKeySet({ keys: [{ kty: 'oct', kid: 'bench', k: Buffer.alloc(32, 1).toString('base64url') }] }),
  );
  await records.runs.create({
    id: RUN,
    owner: { user: 'service', org: 'service' },
    title: null,
    sandboxId: SANDBOX,
    autoApproveTools: false,
    status: 'running',
    tokenKid: 'bench',
    sharing: 'private',
    tokenVersion: 0,
    createdAt: systemClock.now(),
    completedAt: null,
  });
  const authenticator = createAuthenticator({
    serviceKey: KEY,
    apiKeys: {},
    oidc: undefined,
    tokens,
    records,
    clock: systemClock,
  });
  const nothing = (): void => undefined;
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const services = {
    records,
    plane,
    preview,
    quotas: NO_QUOTAS,
    guesses: new GuessLimit(30, systemClock),
    admission: createAdmission(readConfig({}).requestLimits, systemClock),
    provider,
    tokens,
    authenticator,
    clock: systemClock,
    log,
  } as unknown as Services;
  const start = makeFunction(startPortForwardRoute, services);
  const keepAlive = makeFunction(keepPreviewAliveRoute, services);
  const stop = makeFunction(stopPortForwardRoute, services);
  return {
    async start() {
      const answer = await invoke(start, 'POST', {}, JSON.stringify({ target_port: PORT }));
      return (JSON.parse(answer) as { session_id: string }).session_id;
    },
    async keepAlive(token) {
      await invoke(keepAlive, 'POST', { token });
    },
    async stop(token) {
      await invoke(stop, 'DELETE', { sessionId: token });
    },
    close: () => records.close(),
  };
}

async function invoke(
  fn: PortholeFunction,
  method: string,
  params: Readonly<Record<string, string>>,
  body?: string,
): Promise<string> {
  const event: HttpEvent = {
    rawPath: '/',
    rawQueryString: '',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', host: 'bench' },
    pathParameters: { id: RUN, ...params },
    requestContext: { http: { method } },
    body,
  };
  const answer = await fn(event, CONTEXT);
  const text = typeof answer.body === 'string' ? answer.body : '';
  if (answer.statusCode !== 200) throw new Error(`${method}: ${answer.statusCode} ${text}`);
  return text;
}
