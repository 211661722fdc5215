import { jwtVerify, SignJWT } from 'jose';
import { PortholeError } from '#core/errors.ts';
import type { AgentClaims, Tokens } from '#core/ports/tokens.ts';
import { formatPreviewToken } from '#core/rules/preview-token.ts';
import { RUN_ID } from '#core/rules/run-id.ts';
import type { KeySet } from './key-set.ts';

/** Agents that call at the same time; one more costs another check of a signature. */
const MAX_VERIFIED = 1_000;

const AGENT_TYPE = 'porthole-agent+jwt';

/** Preview tokens by HMAC and agent tokens as JWTs (HS256), both under the key set. */
export function createSignedTokens(keys: KeySet): Tokens {
  /** Signatures that were found good, the oldest first: an agent calls often, and its signature does not change. */
  const verified = new Map<string, AgentClaims>();
  return {
    currentKid: () => keys.current.kid,

    preview(kid, runId, targetPort, generation) {
      const key = keys.byKid.get(kid);
      if (key === undefined) {
        throw new PortholeError(
          'internal_error',
          `The signing key ${kid} of run ${runId} is gone: put it back into the key set.`,
        );
      }
      return formatPreviewToken(key.previewMac(`${runId}\0${targetPort}\0${generation}`));
    },

    signAgent: ({ runId, expiresAt }) =>
      new SignJWT({ run: runId })
        .setProtectedHeader({ alg: 'HS256', typ: AGENT_TYPE, kid: keys.current.kid })
        .setExpirationTime(expiresAt)
        .sign(keys.current.agent),

    async verifyAgent(token, now): Promise<AgentClaims | undefined> {
      const known = verified.get(token);
      if (known !== undefined) return known.expiresAt > now ? known : undefined;
      if (!token.split('.').every(isCanonical)) return undefined;
      try {
        const { payload } = await jwtVerify(
          token,
          ({ kid }) => {
            const key = kid === undefined ? undefined : keys.byKid.get(kid);
            if (key === undefined) throw new Error('unknown kid');
            return key.agent;
          },
          { algorithms: ['HS256'], typ: AGENT_TYPE, currentDate: now, requiredClaims: ['exp'] },
        );
        const { run, exp } = payload;
        if (typeof run !== 'string' || !RUN_ID.test(run) || exp === undefined) return undefined;
        const claims = { runId: run, expiresAt: new Date(exp * 1000) };
        verified.set(token, claims);
        const [oldest] = verified.keys();
        if (verified.size > MAX_VERIFIED && oldest !== undefined) verified.delete(oldest);
        return claims;
      } catch {
        // Whatever is wrong with it (form, signature, type, expiry), the caller learns only that it is not good.
        return undefined;
      }
    },
  };
}

/** Whether it is the one spelling of its bytes: decoders ignore spare bits and foreign characters, so one token would have many. */
function isCanonical(base64url: string): boolean {
  return Buffer.from(base64url, 'base64url').toString('base64url') === base64url;
}
