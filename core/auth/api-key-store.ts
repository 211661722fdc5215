import { hash } from 'node:crypto';
import type { Owner } from '#base/clock-and-ids.ts';

/**
 * What a program may do with a key. `full`: what its maker may do, except manage keys. `agent`:
 * read, and what the agent of a run may do, in every run of its maker; never decide an approval.
 * `read`: only safe methods (RFC 9110 §9.2.1).
 */
export const KEY_SCOPES = ['full', 'agent', 'read'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** A form that redaction and secret scanners recognize. Keep in sync with `Ids.apiKey`. */
export const API_KEY_PATTERN = 'porthole_[0-9a-f]{48}';
const WHOLE_KEY = new RegExp(`^${API_KEY_PATTERN}$`);

/** Characters of a key that lists show: its form, and 32 of 192 random bits. */
const SHOWN_CHARS = 'porthole_'.length + 8;

export function isApiKey(credential: string): boolean {
  return WHOLE_KEY.test(credential);
}

export function shownPart(key: string): string {
  return key.slice(0, SHOWN_CHARS);
}

/** SHA-256 of an API key, in base64, for places where the key itself must not be stored. */
export function keyDigest(key: string): string {
  return hash('sha256', key, 'base64');
}

/** A key that a person made for a program. */
export interface ApiKeyRecord {
  readonly id: string;
  /** Its maker: it acts as this person. */
  readonly owner: Owner;
  /** What it is for, in the maker's words. */
  readonly name: string;
  readonly scope: KeyScope;
  /** Whether it may have admin rights while its maker has them. */
  readonly admin: boolean;
  /** The identity provider that vouched for the maker; null: the configuration does. */
  readonly issuer: string | null;
  /** The first characters of the key, by which people recognize it. */
  readonly prefix: string;
  /** `keyDigest` of the key. The key itself is not stored. */
  readonly digest: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Exact to the minute; null: never. */
  readonly lastUsedAt: Date | null;
}

/** Keys that people made. A revoked key does not exist. */
export interface ApiKeyRecords {
  /** Returns false, without a change, if the owner has `most` keys, expired ones included. */
  create(key: ApiKeyRecord, most: number): Promise<boolean>;
  /** Also returns an expired one until it is deleted. */
  get(id: string): Promise<ApiKeyRecord | undefined>;
  findByDigest(digest: string): Promise<ApiKeyRecord | undefined>;
  /** Those of an owner, or of everyone (undefined); newest first, 1,000 at most. */
  list(owner: Owner | undefined): Promise<readonly ApiKeyRecord[]>;
  /** Sets `lastUsedAt` to `at`, unless it is after `notSince`. */
  markUsed(id: string, at: Date, notSince: Date): Promise<void>;
  /**
   * Ends it at once, for every instance: no look-up that begins afterwards finds it. Returns false
   * if it does not exist.
   */
  revoke(id: string): Promise<boolean>;
  /** Deletes those that expired before; returns how many. */
  forget(before: Date): Promise<number>;
  /**
   * Calls `wake` after the revocation of the key, by any instance, and whenever it may have been
   * missed. Calls can be spurious or late. Returns a function that unsubscribes.
   */
  watch(id: string, wake: () => void): () => void;
}
