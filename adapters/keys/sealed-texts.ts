import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
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
/** Bytes of nonce and tag (NIST SP 800-38D): a nonce is drawn, which is safe for some billions of texts a key. */
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
