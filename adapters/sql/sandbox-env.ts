import { NO_SECRETS, type SandboxSecrets } from '#core/network/network-secrets.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import type { Owner } from '#core/shared/clock-and-ids.ts';
import type { OwnerSeals } from './owner-seals.ts';

type Env = SandboxRecord['env'];

/** Stores the environment of a sandbox, with values that may be secrets, and its secrets. */
export interface SandboxEnv {
  text(env: Env, owner: Owner): string;
  read(text: string, owner: Owner): Env;
  secretsText(secrets: SandboxSecrets, owner: Owner): string | null;
  readSecrets(text: string | null, owner: Owner): SandboxSecrets;
}

/** For a sandbox without variables, and for a destroyed one. */
export const NO_ENV = '{}';

/**
 * Sealed for its owner. A value that no key opens is read as empty: its sandbox can still be
 * listed, used and deleted.
 */
export function sandboxEnv({ seal, open }: OwnerSeals): SandboxEnv {
  return {
    text(env, owner) {
      const plain = JSON.stringify(env);
      return plain === NO_ENV ? plain : seal('sandboxes.env', owner, plain);
    },
    read: (text, owner) =>
      JSON.parse(open('sandboxes.env', owner, text, 'the variables of a sandbox') ?? NO_ENV) as Env,
    secretsText(secrets, owner) {
      const isEmpty = secrets.list.length === 0 && secrets.authority === undefined;
      return isEmpty ? null : seal('sandboxes.secrets', owner, JSON.stringify(secrets));
    },
    readSecrets(text, owner) {
      const plain =
        text === null ? undefined : open('sandboxes.secrets', owner, text, 'the secrets of a sandbox');
      return plain === undefined ? NO_SECRETS : (JSON.parse(plain) as SandboxSecrets);
    },
  };
}
