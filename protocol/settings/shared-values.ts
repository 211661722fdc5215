/** Values that settings share with the API and the stores. */
import { z } from 'zod';

/** A key that can be tried over a network has at least this many characters. */
export const MIN_KEY_LENGTH = 16;

/**
 * What the people of the owner's organisation may do in a run: nothing; read it, its previews,
 * files and output; or also work in its sandbox. Approvals, sharing, ending and deleting stay the
 * owner's.
 */
export const SHARING = ['private', 'view', 'work'] as const;
export type Sharing = (typeof SHARING)[number];

export const NETWORK_MODES = ['off', 'packages', 'allowlist', 'open'] as const;

/**
 * `off`: nothing. `packages`: package registries and `allow`. `allowlist`: `allow` only. `open`:
 * everything except private networks and `deny`.
 */
export type NetworkMode = (typeof NETWORK_MODES)[number];

/**
 * Timeout for archiving one workspace, in milliseconds: a server that hangs must not block all
 * others.
 */
export const ARCHIVED_WITHIN_MS = 30 * 60_000;

/** A JSON Web Key Set (RFC 7517) of symmetric keys; the first one signs, all of them verify. */
export const JwksSchema = z.strictObject({
  keys: z
    .array(
      z.object({
        kty: z.literal('oct', { error: 'only symmetric keys ("kty": "oct") are accepted' }),
        kid: z
          .string()
          .regex(/^[A-Za-z0-9._-]{1,64}$/, 'kid must be 1 to 64 letters, digits, ".", "_" or "-"'),
        k: z
          .string()
          .refine(
            (k) => Buffer.from(k, 'base64url').length >= 32,
            'k must hold at least 32 bytes, base64url-encoded',
          ),
      }),
    )
    .min(1, 'at least one key is needed')
    .refine((keys) => new Set(keys.map((key) => key.kid)).size === keys.length, 'every kid must be unique'),
});
export type Jwks = z.infer<typeof JwksSchema>;
