import { createHash } from 'node:crypto';
import { PortholeError } from '#base/errors.ts';
import type { SandboxClaims, Tokens } from '#core/auth/authenticator.ts';
import { formatPreviewToken } from '#core/previews/preview-token.ts';

/**
 * Tokens without a secret: the same in every process, and not secure. The first of `kids` is the
 * current one.
 */
export function plainTokens(kids: readonly [string, ...string[]] = ['key-1']): Tokens {
  return {
    currentKid: () => kids[0],
    preview(kid, runId, targetPort, generation) {
      if (!kids.includes(kid)) throw new PortholeError('internal_error', `There is no key ${kid}.`);
      const text = JSON.stringify([kid, runId, targetPort, generation]);
      return formatPreviewToken(createHash('sha256').update(text).digest());
    },
    signTicket: (kind, ticket) =>
      Buffer.from(JSON.stringify({ kid: kids[0], kind, ticket })).toString('base64url'),
    ticketKeys: [],
    signAuditHead: ({ seq, hash }) => `head ${seq} ${hash}`,
    auditKeys: [],
    pseudonym: (preview, visitor) => `visitor of ${preview}: ${visitor}`,
    linkSecret: (linkId) => `secret of ${linkId}`,
    traffic: ({ id, generation }) => `traffic of ${id} ${generation}`,
    signAgent: async (claims) =>
      Buffer.from(JSON.stringify({ kid: kids[0], ...claims, version: claims.version || undefined })).toString(
        'base64url',
      ),
    async verifyAgent(token, now) {
      try {
        const claims = JSON.parse(Buffer.from(token, 'base64url').toString()) as Record<string, string> & {
          inside?: boolean;
          version?: number;
        };
        const { kid = '', runId = '', expiresAt = '', inside = false, version } = claims;
        const end = new Date(expiresAt);
        const read = { runId, expiresAt: end, inside, ...(version !== undefined && { version }) };
        return kids.includes(kid) && end > now ? read : undefined;
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
