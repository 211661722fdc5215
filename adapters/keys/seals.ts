import { EncryptJWT, jwtDecrypt } from 'jose';
import type { KeySet } from './key-set.ts';

/** What a seal is for: one of the one kind never passes as one of the other. */
export type SealKind = 'porthole-session' | 'porthole-sign-in';

/** Keeps things with a browser that it can neither read nor change. */
export interface Seals {
  seal(kind: SealKind, content: Readonly<Record<string, unknown>>, expiresAt: Date): Promise<string>;
  /** What was sealed; undefined when it is not of ours, not of the kind, or over. */
  open(kind: SealKind, sealed: string, now: Date): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** Longer than any of ours. */
const MAX_SEALED = 4_096;

/** Encrypted JWTs (A256GCM, RFC 7519) under keys of their own. */
export function createSeals({ current, byKid }: KeySet): Seals {
  return {
    seal: (kind, content, expiresAt) =>
      new EncryptJWT({ ...content })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: kind, kid: current.kid })
        .setExpirationTime(expiresAt)
        .encrypt(current.session),

    async open(kind, sealed, now) {
      if (sealed.length > MAX_SEALED) return undefined;
      try {
        const { payload } = await jwtDecrypt(
          sealed,
          ({ kid }) => {
            const key = kid === undefined ? undefined : byKid.get(kid);
            if (key === undefined) throw new Error('unknown kid');
            return key.session;
          },
          {
            keyManagementAlgorithms: ['dir'],
            contentEncryptionAlgorithms: ['A256GCM'],
            typ: kind,
            currentDate: now,
            requiredClaims: ['exp'],
          },
        );
        return payload;
      } catch {
        // Whatever is wrong with it, it is not good.
        return undefined;
      }
    },
  };
}
