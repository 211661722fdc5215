import { deriveKeySet } from '#protocol/guest/key-set.ts';
import { createSealedTexts, type SealedTexts } from '#adapters/auth/sealed-texts.ts';

/** Seals with keys of these ids, the first of which seals. */
export function sealsOf(...kids: readonly string[]): SealedTexts {
  const keys = kids.map((kid) => ({
    kty: 'oct' as const,
    kid,
    k: Buffer.alloc(32, kid).toString('base64url'),
  }));
  return createSealedTexts(deriveKeySet({ keys }));
}
