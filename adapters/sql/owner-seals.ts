import type { SealedTexts } from '#adapters/auth/sealed-texts.ts';
import { NO_SECRETS, type SandboxSecrets } from '#core/network/network-secrets.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type { RecordsLog } from './sql-session.ts';

/** Seals JSON texts for their owner, if there are keys. */
export interface OwnerSeals {
  /** @param column `table.column`: a value of one column is never accepted in another */
  readonly seal: (column: string, owner: Owner, json: string) => string;
  /** Undefined for a value that no key opens, which is logged as the `what` of a row. */
  readonly open: (column: string, owner: Owner, stored: string, what: string) => string | undefined;
}

export function ownerSeals(seals: SealedTexts | undefined, log: RecordsLog | undefined): OwnerSeals {
  return {
    seal: (column, owner, json) =>
      seals === undefined ? json : seals.seal(sealContext(column, owner), json),
    open(column, owner, stored, what) {
      // JSON of an installation without keys, or of an earlier version.
      const plain = stored.startsWith('{') ? stored : seals?.open(sealContext(column, owner), stored);
      if (plain === undefined) {
        log?.warn(
          { owner: owner.user },
          `${what} cannot be opened: the key is gone from PORTHOLE_SIGNING_KEYS`,
        );
      }
      return plain;
    },
  };
}

function sealContext(column: string, { org, user }: Owner): string {
  return JSON.stringify([column, org, user]);
}

/** For a sandbox without variables, and for a destroyed one. */
export const NO_ENV = '{}';

type Env = SandboxRecord['env'];

export type SandboxEnv = ReturnType<typeof sandboxEnv>;

/**
 * The environment of a sandbox, with values that may be secrets, and its secrets. Sealed for its
 * owner. A value that no key opens is read as empty: its sandbox can still be listed, used and
 * deleted.
 */
export function sandboxEnv({ seal, open }: OwnerSeals) {
  return {
    text(env: Env, owner: Owner): string {
      const plain = JSON.stringify(env);
      return plain === NO_ENV ? plain : seal('sandboxes.env', owner, plain);
    },
    read: (text: string, owner: Owner) =>
      JSON.parse(open('sandboxes.env', owner, text, 'the variables of a sandbox') ?? NO_ENV) as Env,
    secretsText(secrets: SandboxSecrets, owner: Owner) {
      const isEmpty = secrets.list.length === 0 && secrets.authority === undefined;
      return isEmpty ? null : seal('sandboxes.secrets', owner, JSON.stringify(secrets));
    },
    readSecrets(text: string | null, owner: Owner): SandboxSecrets {
      const plain =
        text === null ? undefined : open('sandboxes.secrets', owner, text, 'the secrets of a sandbox');
      return plain === undefined ? NO_SECRETS : (JSON.parse(plain) as SandboxSecrets);
    },
  };
}
