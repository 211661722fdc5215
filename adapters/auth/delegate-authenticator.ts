import type { Delegate } from '#core/callers.ts';
import type { Authenticator } from '#core/ports/authenticator.ts';
import type { Clock } from '#core/ports/clock.ts';
import type { Records } from '#core/ports/records.ts';
import type { Tokens } from '#core/ports/tokens.ts';
import { WHOLE_GRANT } from '#core/rules/grant.ts';

export interface DelegateAuthenticatorOptions {
  readonly tokens: Tokens;
  readonly records: Pick<Records, 'delegations'>;
  readonly clock: Clock;
}

/** Knows whoever was lent a sandbox, or holds its token, by the credential, and nobody else. */
export interface DelegateAuthenticator extends Authenticator {
  readonly withoutCredential: undefined;
  authenticate(credential: string): Promise<Delegate | undefined>;
}

/** The records are asked each time: what was revoked on another instance is good nowhere. */
export function createDelegateAuthenticator({
  tokens,
  records: { delegations },
  clock,
}: DelegateAuthenticatorOptions): DelegateAuthenticator {
  return {
    withoutCredential: undefined,
    async authenticate(credential) {
      const claims = await tokens.verifySandbox(credential);
      if (claims === undefined) return undefined;
      const { sandboxId, generation, by } = claims;
      if (by.delegationId === undefined) {
        const version = await delegations.tokenVersion({ id: sandboxId, generation });
        if (version !== by.version) return undefined;
        return {
          kind: 'delegate',
          sandboxId,
          generation,
          grant: WHOLE_GRANT,
          delegationId: null,
          tokenVersion: version,
          expiresAt: null,
        };
      }
      const delegation = await delegations.get(by.delegationId);
      if (delegation === undefined || delegation.expiresAt <= clock.now()) return undefined;
      const { sandbox, grant, id, expiresAt } = delegation;
      if (sandbox.id !== sandboxId || sandbox.generation !== generation) return undefined;
      return {
        kind: 'delegate',
        sandboxId,
        generation,
        grant,
        delegationId: id,
        tokenVersion: null,
        expiresAt,
      };
    },
  };
}
