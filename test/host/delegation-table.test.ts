import { beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROUTES } from '#handlers/features.ts';
import { SCOPES, type Scope, WHOLE_GRANT } from '#core/delegations/delegation-store.ts';
import { ALICE, BOB } from './support/people.ts';
import { type Probe, routeProbes, statusOf } from './support/route-probes.ts';
import { type MadeRun, makeRun } from './support/runs.ts';
import {
  asOwner,
  type Credential,
  delegate,
  type Made,
  make,
  porthole,
  useDelegationHost,
} from './support/delegations.ts';

const TABLE = join(import.meta.dirname, 'support/delegate-statuses.txt');
const CALLERS = [
  'owner',
  'sandbox token',
  'fs:read',
  'fs:write',
  'exec',
  'expired',
  'revoked',
  'rotated',
  'wrong sandbox',
  'wrong org',
  'tampered',
  'alg none',
] as const;

/** They end the sandbox. */
const ENDS: ReadonlySet<string> = new Set([
  'deleteSandbox',
  'bridgeDeleteSandbox',
  'e2bKillSandbox',
  'e2bPauseSandbox',
]);

useDelegationHost();

describe('the table of statuses', () => {
  const lines = readFileSync(TABLE, 'utf8')
    .split('\n')
    .filter((line) => /^\| (route|`)/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
  const [head = [], ...body] = lines;
  const rows = new Map(body.map(([route = '', ...cells]) => [route, cells.map(Number)]));
  const routes = ROUTES.filter(({ path }) => /^\/((bridge\/1\.0\/)?v1\/sandbox|e2b\/)/.test(path));

  test('has a column for each kind of caller, and a row for each route of a sandbox', () => {
    expect(head.slice(1)).toEqual([...CALLERS]);
    expect([...rows.keys()]).toEqual(routes.map(({ method, path }) => `${method} ${path}`));
  });

  let shared: MadeRun;
  let other: Made;
  beforeAll(async () => {
    shared = await makeRun(porthole, ALICE);
    other = await make();
    await asOwner('PUT', `/v1/sandbox/${shared.sandboxId}/file/workspace/a.txt`, 'a');
  });

  /** The number of delegations is limited. */
  async function takeBack(sandboxId: string): Promise<void> {
    const url = `/v1/sandbox/${sandboxId}/delegations`;
    const { delegations = [] } = (await asOwner('GET', url)).json<{ delegations?: Credential[] }>();
    for (const { delegation_id } of delegations) await asOwner('DELETE', `${url}/${delegation_id}`);
  }

  async function credentialsFor(sandboxId: string): Promise<Readonly<Record<string, string>>> {
    const { records, tokens, ids } = porthole.host.services;
    const { generation = 0 } = (await records.sandboxes.get(sandboxId)) ?? {};
    const key = { id: sandboxId, generation };
    await records.delegations.rotateToken(key);
    const version = await records.delegations.tokenVersion(key);
    const past = new Date(Date.now() - 1_000);
    const expired = ids.delegation();
    await records.delegations.create(
      {
        id: expired,
        sandbox: key,
        grant: WHOLE_GRANT,
        label: null,
        renewable: true,
        ttl: 1_000,
        createdAt: past,
        expiresAt: past,
      },
      100,
    );
    const sign = (by: { version: number } | { delegationId: string }) =>
      tokens.signSandbox({ sandboxId, generation, by });
    const scoped = async (scope: Scope) => (await delegate({ scopes: [scope] }, sandboxId)).token;
    const revoked = await delegate({ scopes: SCOPES }, sandboxId);
    await asOwner('DELETE', `/v1/sandbox/${sandboxId}/delegations/${revoked.delegation_id}`);
    const whole = (await delegate({ scopes: SCOPES }, sandboxId)).token;
    const [, payload = '', signature = ''] = whole.split('.');
    return {
      owner: ALICE,
      'sandbox token': await sign({ version }),
      'fs:read': await scoped('fs:read'),
      'fs:write': await scoped('fs:write'),
      exec: await scoped('exec'),
      expired: await sign({ delegationId: expired }),
      revoked: revoked.token,
      rotated: await sign({ version: version - 1 }),
      'wrong sandbox': (await delegate({ scopes: SCOPES }, other.id)).token,
      'wrong org': BOB,
      tampered: whole.replace(signature, (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)),
      'alg none': `${Buffer.from(JSON.stringify({ alg: 'none', typ: 'porthole-sandbox+jwt' })).toString('base64url')}.${payload}.`,
    };
  }

  test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'holds for %s',
    async (name, route) => {
      const run = ENDS.has(route.id) ? await makeRun(porthole, ALICE) : shared;
      const credentials = await credentialsFor(run.sandboxId);
      const probeOf = async (): Promise<Probe> => ({
        params: { id: run.sandboxId },
        ...(route.method === 'POST' ? { body: {} } : {}),
        ...(await routeProbes(porthole)[route.id]?.(run)),
      });
      const statuses: Record<string, number> = {};
      // The owner comes last, because it may end the target of the others' calls.
      let probe = await probeOf();
      let isChanged = false;
      for (const caller of CALLERS.toReversed()) {
        if (isChanged) probe = await probeOf();
        const path = route.path.replace(/\{(\w+)\}/g, (_all, param: string) => probe.params?.[param] ?? '');
        const url = `${path}${probe.query ?? ''}`;
        const status = await statusOf(porthole, route.method, url, credentials[caller], probe);
        statuses[caller] = status;
        // Reads and refusals change nothing.
        isChanged = route.method !== 'GET' && status < 400;
      }
      expect(statuses).toEqual(
        Object.fromEntries(CALLERS.map((caller, at) => [caller, rows.get(name)?.[at]])),
      );
      for (const id of [run.sandboxId, other.id]) await takeBack(id);
    },
  );
});
