/**
 * A hello-world function on the function host, through the strict front and the whole chain. With
 * the argument `checked` it requires an agent token (HS256, and its run) and has a path and a query
 * that zod parses.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { createAuthenticator } from '#adapters/auth/authenticators.ts';
import { createStrictServer } from '#proxy/front/strict-server.ts';
import { deriveKeySet } from '#adapters/auth/key-set.ts';
import { createSignedTokens } from '#adapters/auth/signed-tokens.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { randomIds, systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { GuessLimit } from '#core/auth/guess-limit.ts';
import { createAdmission } from '#handlers/http/admit.ts';
import { defineRoute, json } from '#handlers/route.ts';
import type { Services } from '#handlers/services.ts';
import { readConfig } from '#host/config/config.ts';
import { createFunctionHost } from '#host/function-host.ts';
import { createMetrics } from '#host/telemetry/metrics.ts';

const checked = process.argv[2] === 'checked';
const hello = defineRoute({
  id: 'hello',
  method: 'GET',
  path: '/',
  tag: 'Bench',
  summary: 'Hello',
  access: checked ? 'caller' : 'anyone',
  agents: true,
  ...(checked
    ? { query: z.object({ name: z.string().max(20), times: z.coerce.number().int().min(1) }) }
    : {}),
  responses: { 200: { description: 'Hello' } },
  handle: () => Promise.resolve(json(200, { hello: 'world' })),
});

const { requestLimits } = readConfig({});
const nothing = (): void => undefined;
const records = openSqliteRecords({ file: ':memory:' });
await records.migrate();
const tokens = createSignedTokens(
  deriveKeySet({ keys: [{ kty: 'oct', kid: 'bench', k: Buffer.alloc(32, 1).toString('base64url') }] }),
);
const now = new Date();
await records.runs.create({
  id: 'run_bench',
  owner: { user: 'bench', org: 'bench' },
  title: null,
  sandboxId: 'bench',
  autoApproveTools: false,
  status: 'running',
  tokenKid: 'bench',
  sharing: 'private',
  tokenVersion: 0,
  createdAt: now,
  completedAt: null,
});
const authenticator = createAuthenticator({
  serviceKey: 'bench-service-key',
  apiKeys: {},
  oidc: undefined,
  tokens,
  records,
  clock: systemClock,
});
const services = {
  records,
  tokens,
  authenticator,
  admission: createAdmission(requestLimits),
  guesses: new GuessLimit(requestLimits.wrongSecretsPerMinute, systemClock),
  ids: randomIds,
  clock: systemClock,
  log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
} as unknown as Services;

const server = createStrictServer({
  request: createFunctionHost({ routes: [hello], services, metrics: createMetrics() }),
  upgrade: (_req, socket) => socket.destroy(),
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const token = checked
  ? await tokens.signAgent({
      runId: 'run_bench',
      expiresAt: new Date(now.getTime() + 3_600_000),
      inside: false,
    })
  : undefined;
process.send?.({ port, token });
