import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import type { KeySet } from './key-set.ts';

/** Keeps texts where others may read them, such as a database and its backups. */
export interface SealedTexts {
  /** @param about what it is and whose: opened as anything else, it is not good */
  seal(about: string, text: string): string;
  /** Undefined when it was not sealed by a key of ours, or as something else. */
  open(about: string, sealed: string): string | undefined;
}

/** Of the one form there is. */
const FORM = 'a256gcm';
/**
 * Bytes of nonce and tag (NIST SP 800-38D): a nonce is drawn, which is safe for some billions of
 * texts a key.
 */
const NONCE = 12;
const TAG = 16;

/** `a256gcm.<kid>.<nonce, text and tag, base64url>`, under keys of their own. */
export function createSealedTexts({ current, byKid }: KeySet): SealedTexts {
  return {
    seal(about, text) {
      const nonce = randomBytes(NONCE);
      const cipher = createCipheriv('aes-256-gcm', current.record, nonce, { authTagLength: TAG });
      cipher.setAAD(Buffer.from(about));
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${FORM}.${current.kid}.${sealed.toString('base64url')}`;
    },

    open(about, sealed) {
      const end = sealed.lastIndexOf('.');
      const key = sealed.startsWith(`${FORM}.`) ? byKid.get(sealed.slice(FORM.length + 1, end)) : undefined;
      const bytes = Buffer.from(sealed.slice(end + 1), 'base64url');
      if (key === undefined || bytes.length < NONCE + TAG) return undefined;
      try {
        const decipher = createDecipheriv('aes-256-gcm', key.record, bytes.subarray(0, NONCE), {
          authTagLength: TAG,
        });
        decipher.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(-TAG));
        return decipher.update(bytes.subarray(NONCE, -TAG), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        return undefined;
      }
    },
  };
}

/** What a seal is for: one of the one kind never passes as one of the other. */
type SealKind = 'porthole-session' | 'porthole-sign-in';

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
