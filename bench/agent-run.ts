import { z } from 'zod';
import { createAuthenticator } from '#adapters/auth/authenticators.ts';
import { deriveKeySet } from '#adapters/auth/key-set.ts';
import { createSignedTokens } from '#adapters/auth/signed-tokens.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';

/** The query of the checked arms. */
export const helloQuery = z.object({ name: z.string().max(20), times: z.coerce.number().int().min(1) });

/** A running run in the records, and the token of its agent (HS256). */
export async function createAgentRun() {
  const records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
  const tokens = createSignedTokens(
    deriveKeySet({ keys: [{ kty: 'oct', kid: 'bench', k: Buffer.alloc(32, 1).toString('base64url') }] }),
  );
  const now = systemClock.now();
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
  const expiresAt = new Date(now.getTime() + 3_600_000);
  const token = await tokens.signAgent({ runId: 'run_bench', expiresAt, inside: false });
  return { records, tokens, authenticator, token };
}
