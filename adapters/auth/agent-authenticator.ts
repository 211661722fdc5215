import type { Agent } from '#core/callers.ts';
import type { Authenticator } from '#core/ports/authenticator.ts';
import type { Clock } from '#core/ports/clock.ts';
import type { Records } from '#core/ports/records.ts';
import type { Tokens } from '#core/ports/tokens.ts';

export interface AgentAuthenticatorOptions {
  readonly tokens: Tokens;
  readonly records: Pick<Records, 'runs'>;
  readonly clock: Clock;
  /** Whether it judges calls from within sandboxes, where the tokens are good that lie there. */
  readonly inside: boolean;
}

/** Knows the agents of running runs by their tokens, and nobody else. */
export interface AgentAuthenticator extends Authenticator {
  readonly withoutCredential: undefined;
  authenticate(credential: string): Promise<Agent | undefined>;
}

export function createAgentAuthenticator({
  tokens,
  records,
  clock,
  inside,
}: AgentAuthenticatorOptions): AgentAuthenticator {
  return {
    withoutCredential: undefined,
    async authenticate(credential) {
      // Tokens are JWTs, of three parts; anything else is not worth a signature check.
      if (credential.split('.', 4).length !== 3) return undefined;
      const claims = await tokens.verifyAgent(credential, clock.now());
      if (claims === undefined || (claims.inside && !inside)) return undefined;
      const run = await records.runs.get(claims.runId);
      if (run?.status !== 'running') return undefined;
      const { id: runId, sandboxId, owner } = run;
      return { kind: 'agent', runId, sandboxId, owner, expiresAt: claims.expiresAt };
    },
  };
}
