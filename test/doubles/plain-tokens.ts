import { createHash } from 'node:crypto';
import { PortholeError } from '#core/errors.ts';
import type { SandboxClaims, Tokens } from '#core/auth/authenticator.ts';
import { formatPreviewToken } from '#core/previews/preview-token.ts';

/**
 * Tokens without a secret: the same in every process, and worth nothing. The first of `kids` is the
 * present one.
 */
export function plainTokens(kids: readonly [string, ...string[]] = ['key-1']): Tokens {
  return {
    currentKid: () => kids[0],
    preview(kid, runId, targetPort, generation) {
      if (!kids.includes(kid)) throw new PortholeError('internal_error', `There is no key ${kid}.`);
      const text = JSON.stringify([kid, runId, targetPort, generation]);
      return formatPreviewToken(createHash('sha256').update(text).digest());
    },
    signAgent: async ({ runId, expiresAt, inside }) =>
      Buffer.from(JSON.stringify({ kid: kids[0], runId, expiresAt, inside })).toString('base64url'),
    async verifyAgent(token, now) {
      try {
        const claims = JSON.parse(Buffer.from(token, 'base64url').toString()) as Record<string, string> & {
          inside?: boolean;
        };
        const { kid = '', runId = '', expiresAt = '', inside = false } = claims;
        const end = new Date(expiresAt);
        return kids.includes(kid) && end > now ? { runId, expiresAt: end, inside } : undefined;
      } catch {
        return undefined;
      }
    },
    signSandbox: async (claims) =>
      Buffer.from(JSON.stringify({ kid: kids[0], sandbox: claims })).toString('base64url'),
    async verifySandbox(token) {
      try {
        const { kid, sandbox } = JSON.parse(Buffer.from(token, 'base64url').toString()) as {
          kid: string;
          sandbox?: SandboxClaims;
        };
        return kids.includes(kid) ? sandbox : undefined;
      } catch {
        return undefined;
      }
    },
  };
}
