import type { Clock, Ids } from '#base/clock-and-ids.ts';
import { PortholeError } from '#base/errors.ts';
import { mayManage, ownerOf, type Person } from '../callers.ts';
import type { Records } from '../records.ts';
import { type ApiKeyRecord, keyDigest, type KeyScope, shownPart } from './api-key-store.ts';

/** Maximum keys of one person. */
export const MAX_KEYS = 50;

const DAY_SECONDS = 86_400;
export const DEFAULT_KEY_SECONDS = 90 * DAY_SECONDS;
export const MAX_KEY_SECONDS = 366 * DAY_SECONDS;
/** An identity provider does not say when a person leaves, so their keys end sooner. */
const MAX_VOUCHED_SECONDS = 90 * DAY_SECONDS;

interface ManageKeysDeps {
  readonly records: Pick<Records, 'apiKeys'>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'apiKey' | 'apiKeyId'>;
}

interface KeyOptions {
  readonly name: string;
  readonly scope: KeyScope;
  /** @default DEFAULT_KEY_SECONDS from now */
  readonly expiresAt?: Date | undefined;
}

export interface IssuedKey {
  readonly record: ApiKeyRecord;
  /** The key itself. It is not stored. */
  readonly key: string;
}

/**
 * Makes a key that acts as the person. An identity provider tells of admin rights only at a
 * sign-in, so a key of its people has none.
 * @throws PortholeError `forbidden` for a key, `invalid_request`, `too_many_keys`
 */
export async function createApiKey(
  { records, clock, ids }: ManageKeysDeps,
  person: Person,
  { name, scope, expiresAt }: KeyOptions,
): Promise<IssuedKey> {
  requireNoApiKey(person);
  const now = clock.now();
  const issuer = person.issuer ?? null;
  const key = ids.apiKey();
  const record: ApiKeyRecord = {
    id: ids.apiKeyId(),
    owner: ownerOf(person),
    name,
    scope,
    admin: person.admin && scope !== 'agent' && issuer === null,
    issuer,
    prefix: shownPart(key),
    digest: keyDigest(key),
    createdAt: now,
    expiresAt: checkExpiry(now, expiresAt, issuer === null ? MAX_KEY_SECONDS : MAX_VOUCHED_SECONDS),
    lastUsedAt: null,
  };
  if (!(await records.apiKeys.create(record, MAX_KEYS))) {
    throw new PortholeError('too_many_keys', `You have ${MAX_KEYS} keys, the maximum`, {
      remedy: 'revoke one.',
    });
  }
  return { record, key };
}

function checkExpiry(now: Date, asked: Date | undefined, maxSeconds: number): Date {
  const expiresAt = asked ?? new Date(now.getTime() + DEFAULT_KEY_SECONDS * 1_000);
  if (expiresAt <= now) {
    throw new PortholeError('invalid_request', `expires_at: ${expiresAt.toISOString()} is in the past`, {
      remedy: 'name a time in the future.',
    });
  }
  if (expiresAt.getTime() > now.getTime() + maxSeconds * 1_000) {
    const days = maxSeconds / DAY_SECONDS;
    throw new PortholeError(
      'invalid_request',
      `expires_at: ${expiresAt.toISOString()} is more than ${days} days ahead, the longest that a key of yours is valid`,
      { remedy: 'name an earlier time.' },
    );
  }
  return expiresAt;
}

/**
 * Revokes a key of the person; an admin may revoke anyone's.
 * @throws PortholeError `forbidden` for a key; `key_not_found`, also for another owner's key, to
 * not reveal that it exists
 */
export async function revokeApiKey(
  { records: { apiKeys } }: Pick<ManageKeysDeps, 'records'>,
  person: Person,
  id: string,
): Promise<void> {
  requireNoApiKey(person);
  const record = await apiKeys.get(id);
  if (record !== undefined && mayManage(person, record) && (await apiKeys.revoke(id))) return;
  throw new PortholeError('key_not_found', `There is no key ${JSON.stringify(id.slice(0, 80))}`, {
    remedy: 'GET /api/keys lists yours.',
  });
}

/** @throws PortholeError `forbidden`: a leaked key must not make or revoke others */
export function requireNoApiKey(person: Person): void {
  if (person.key === undefined) return;
  throw new PortholeError('forbidden', 'A key cannot manage keys', {
    remedy: 'sign in to the console, and do it there under Keys.',
  });
}
