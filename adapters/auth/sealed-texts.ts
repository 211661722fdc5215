import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeySet } from '#protocol/guest/key-set.ts';

/** Encrypts texts for storage that others may read, such as a database and its backups. */
export interface SealedTexts {
  /**
   * @param about purpose and owner of the text, authenticated as AAD: must be the same in `open`
   */
  seal(about: string, text: string): string;
  /** Returns undefined unless the text was sealed with a known key and the same `about`. */
  open(about: string, sealed: string): string | undefined;
}

/** The only format. */
const FORM = 'a256gcm';
/**
 * Bytes of nonce and tag (NIST SP 800-38D). Nonces are random, which is safe for some billions of
 * texts per key.
 */
const NONCE = 12;
const TAG = 16;

/** Format: `a256gcm.<kid>.<nonce, text and tag, base64url>`. Uses separate keys. */
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

/** Purpose of a sealed value. A value of one kind is never accepted as the other. */
type SealKind = 'porthole-session' | 'porthole-sign-in';

/** Encrypts values for a browser, which can neither read nor change them. */
export interface Seals {
  seal(kind: SealKind, content: Readonly<Record<string, unknown>>, expiresAt: Date): Promise<string>;
  /** Returns undefined when the key is unknown, the kind differs or the value has expired. */
  open(kind: SealKind, sealed: string, now: Date): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** Longest sealed value that is decrypted. */
const MAX_SEALED = 4_096;

/** Encrypted JWTs (A256GCM, RFC 7519) with separate keys. */
export function createSeals({ current, byKid }: KeySet): Seals {
  return {
    async seal(kind, content, expiresAt) {
      const { EncryptJWT } = await import('jose');
      return new EncryptJWT({ ...content })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: kind, kid: current.kid })
        .setExpirationTime(expiresAt)
        .encrypt(current.session);
    },

    async open(kind, sealed, now) {
      if (sealed.length > MAX_SEALED) return undefined;
      const { jwtDecrypt } = await import('jose');
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
        // The caller learns only that the value is invalid, not which check failed.
        return undefined;
      }
    },
  };
}
