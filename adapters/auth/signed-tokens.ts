import { LRUCache } from 'lru-cache';
import type { JWTPayload, KeyObject } from 'jose';
import { PortholeError } from '#base/errors.ts';
import type { AgentClaims, SandboxClaims, Tokens } from '#core/auth/authenticator.ts';
import { base32, formatPreviewToken } from '#core/previews/preview-token.ts';
import { RUN_ID } from '#core/runs/find-run.ts';
import { SANDBOX_ID } from '#core/sandboxes/sandbox-owner.ts';
import { publicKeyText, signJwt } from '#protocol/guest/guest-pod.ts';
import { signTicket } from '#protocol/guest/visit-tickets.ts';
import type { KeySet, SigningKey } from '#protocol/guest/key-set.ts';

/** Verified tokens cached per kind. A miss costs one signature check. */
const MAX_VERIFIED = 1_000;

/** Maximum length of a token that is verified. */
const MAX_TOKEN = 2_048;

/**
 * Preview tokens by HMAC; agent tokens and sandbox credentials as JWTs (HS256). Each kind has
 * separate keys.
 */
export function createSignedTokens(keys: KeySet): Tokens {
  const agents = signedKind<AgentClaims>(keys, {
    type: 'porthole-agent+jwt',
    keyOf: ({ agent }) => agent,
    read({ run, exp, inside, ver }) {
      if (typeof run !== 'string' || !RUN_ID.test(run) || exp === undefined) return undefined;
      const version = isCount(ver) && { version: ver };
      return { runId: run, expiresAt: new Date(exp * 1000), inside: inside === true, ...version };
    },
  });
  const sandboxes = signedKind<SandboxClaims>(keys, {
    type: 'porthole-sandbox+jwt',
    keyOf: ({ sandbox }) => sandbox,
    read({ sub, gen, jti, ver }) {
      if (sub === undefined || !SANDBOX_ID.test(sub) || !isCount(gen)) return undefined;
      if (jti !== undefined) return { sandboxId: sub, generation: gen, by: { delegationId: jti } };
      return isCount(ver) ? { sandboxId: sub, generation: gen, by: { version: ver } } : undefined;
    },
  });
  return {
    currentKid: () => keys.current.kid,

    preview(kid, runId, targetPort, generation) {
      const key = keys.byKid.get(kid);
      if (key === undefined) {
        throw new PortholeError('internal_error', `The signing key ${kid} of run ${runId} is gone`, {
          remedy: 'put it back into the key set.',
        });
      }
      return formatPreviewToken(key.previewMac(`${runId}\0${targetPort}\0${generation}`));
    },

    signTicket: (kind, ticket) => signTicket(keys.current.visit, kind, ticket),
    ticketKeys: [...keys.byKid.values()].map(({ visit }) => publicKeyText(visit)),
    signAuditHead: ({ seq, hash, at }) =>
      signJwt(keys.current.audit, 'porthole-audit-head+jwt', {
        seq,
        hash,
        iat: Math.floor(at.getTime() / 1_000),
      }),
    auditKeys: [...keys.byKid.values()].map(({ audit }) => publicKeyText(audit)),
    pseudonym: (preview, visitor) =>
      `visitor-${base32(keys.current.previewMac(`visitor\0${preview}\0${visitor}`)).slice(0, 12)}`,
    linkSecret: (linkId) => base32(keys.current.previewMac(`link\0${linkId}`)).slice(0, 32),

    traffic: ({ id, generation }) =>
      base32(keys.current.previewMac(`traffic\0${id}\0${generation}`)).slice(0, 32),

    signAgent: ({ runId, expiresAt, inside, version = 0 }) => {
      const exp = Math.floor(expiresAt.getTime() / 1_000);
      return agents.sign({
        run: runId,
        ...(inside && { inside }),
        ...(version > 0 && { ver: version }),
        exp,
      });
    },

    verifyAgent(token, now) {
      const lasting = (claims: AgentClaims | undefined) =>
        claims !== undefined && claims.expiresAt > now ? claims : undefined;
      const claims = agents.verify(token);
      return claims instanceof Promise ? claims.then(lasting) : lasting(claims);
    },

    signSandbox: ({ sandboxId, generation, by: { delegationId, version } }) =>
      sandboxes.sign({
        gen: generation,
        ...(version !== undefined && { ver: version }),
        sub: sandboxId,
        ...(delegationId !== undefined && { jti: delegationId }),
      }),

    verifySandbox: (token) => sandboxes.verify(token),
  };
}

interface Kind<Claims> {
  /** `typ` of the JWT header: a token of one kind is never accepted as another. */
  readonly type: string;
  readonly keyOf: (key: SigningKey) => KeyObject;
  /** Returns undefined when a claim is missing or malformed. */
  readonly read: (payload: JWTPayload) => Claims | undefined;
}

function signedKind<Claims extends object>(keys: KeySet, { type, keyOf, read }: Kind<Claims>) {
  /** Tokens with a valid signature. Callers send the same token often. */
  const verified = new LRUCache<string, Claims>({ max: MAX_VERIFIED });
  const verifySignature = async (token: string): Promise<Claims | undefined> => {
    if (token.length > MAX_TOKEN || !token.split('.').every(isCanonical)) return undefined;
    const { decodeProtectedHeader, jwtVerify } = await import('jose');
    try {
      if (decodeProtectedHeader(token).typ !== type) return undefined;
      const { payload } = await jwtVerify(
        token,
        ({ kid }) => {
          const key = kid === undefined ? undefined : keys.byKid.get(kid);
          if (key === undefined) throw new Error('unknown kid');
          return keyOf(key);
        },
        // The epoch disables the expiry check: results are cached, and callers check expiry on
        // each use.
        { algorithms: ['HS256'], typ: type, currentDate: new Date(0) },
      );
      const claims = read(payload);
      if (claims === undefined) return undefined;
      verified.set(token, claims);
      return claims;
    } catch {
      // The caller learns only that the token is invalid, not which check failed.
      return undefined;
    }
  };
  return {
    async sign(claims: JWTPayload): Promise<string> {
      const { SignJWT } = await import('jose');
      const { current } = keys;
      return new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', typ: type, kid: current.kid })
        .sign(keyOf(current));
    },

    /** Does not check expiry: the caller does. A promise only for a token that is not cached. */
    verify: (token: string): Claims | undefined | Promise<Claims | undefined> =>
      verified.get(token) ?? verifySignature(token),
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * Whether the text is the canonical base64url of its bytes. Decoders ignore spare bits and foreign
 * characters, so one token would have many spellings.
 */
function isCanonical(base64url: string): boolean {
  return Buffer.from(base64url, 'base64url').toString('base64url') === base64url;
}
