import { z } from 'zod';
import { createAuthenticator } from '#adapters/auth/authenticators.ts';
import { deriveKeySet } from '#protocol/guest/key-set.ts';
import { createSignedTokens } from '#adapters/auth/signed-tokens.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { GuessLimit } from '#core/auth/guess-limit.ts';
import { createAdmission } from '#handlers/http/admit.ts';
import { readConfig } from '#host/config/config.ts';

/** The query of the checked arms. */
export const helloQuery = z.object({ name: z.string().max(20), times: z.coerce.number().int().min(1) });

/** The owner of the run. */
export const SERVICE_KEY = 'bench-service-key';
export const RUN = 'run_bench';

const nothing = (): void => undefined;

/** A running run in the records, the token of its agent (HS256), and what functions need. */
export async function createAgentRun() {
  const records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
  const tokens = createSignedTokens(
    deriveKeySet({ keys: [{ kty: 'oct', kid: 'bench', k: Buffer.alloc(32, 1).toString('base64url') }] }),
  );
  const now = systemClock.now();
  await records.runs.create({
    id: RUN,
    owner: { user: 'service', org: 'service' },
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
    serviceKey: SERVICE_KEY,
    apiKeys: {},
    oidc: undefined,
    tokens,
    records,
    clock: systemClock,
    unrecorded: nothing,
  });
  const { requestLimits } = readConfig({});
  const services = {
    records,
    tokens,
    authenticator,
    admission: createAdmission(requestLimits, systemClock),
    guesses: new GuessLimit(requestLimits.wrongSecretsPerMinute, systemClock),
    clock: systemClock,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  };
  const expiresAt = new Date(now.getTime() + 3_600_000);
  const token = await tokens.signAgent({ runId: RUN, expiresAt, inside: false });
  return { services, token };
}
