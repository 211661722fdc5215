import { deriveKeySet } from '#protocol/guest/key-set.ts';
import { createSignedTokens } from '#adapters/auth/signed-tokens.ts';
import { tokensContract } from '#test/contracts/tokens.contract.ts';

tokensContract('signed tokens', (kids) =>
  createSignedTokens(
    deriveKeySet({
      keys: kids.map((kid) => ({
        kty: 'oct' as const,
        kid,
        k: Buffer.alloc(32, kid).toString('base64url'),
      })),
    }),
  ),
);
