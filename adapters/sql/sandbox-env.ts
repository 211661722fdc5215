import type { SealedTexts } from '#adapters/auth/sealed-texts.ts';
import type { Owner } from '#core/shared/clock-and-ids.ts';
import { NO_SECRETS, type SandboxSecrets } from '#core/network/network-secrets.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import type { RecordsLog } from './sql-session.ts';

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
 * Sealed for its owner if `seals` are given. Values of earlier versions are plain JSON. A value
 * that no key opens is read as empty and logged: its sandbox can still be listed, used and deleted.
 */
export function sandboxEnv(seals: SealedTexts | undefined, log: RecordsLog | undefined): SandboxEnv {
  const seal = (column: Column, plain: string, owner: Owner): string =>
    seals === undefined ? plain : seals.seal(about(column, owner), plain);
  const open = (column: Column, text: string, owner: Owner): string | undefined => {
    const plain = text.startsWith('{') ? text : seals?.open(about(column, owner), text);
    if (plain === undefined) {
      log?.warn(
        { owner: owner.user },
        `the ${NAMES[column]} of a sandbox cannot be opened: their key is gone from PORTHOLE_SIGNING_KEYS`,
      );
    }
    return plain;
  };
  return {
    text(env, owner) {
      const plain = JSON.stringify(env);
      return plain === NO_ENV ? plain : seal('env', plain, owner);
    },
    read: (text, owner) => JSON.parse(open('env', text, owner) ?? NO_ENV) as Env,
    secretsText(secrets, owner) {
      const isEmpty = secrets.list.length === 0 && secrets.authority === undefined;
      return isEmpty ? null : seal('secrets', JSON.stringify(secrets), owner);
    },
    readSecrets(text, owner) {
      const plain = text === null ? undefined : open('secrets', text, owner);
      return plain === undefined ? NO_SECRETS : (JSON.parse(plain) as SandboxSecrets);
    },
  };
}

type Column = 'env' | 'secrets';

const NAMES = { env: 'variables', secrets: 'secrets' } as const;

function about(column: Column, { org, user }: Owner): string {
  return JSON.stringify([`sandboxes.${column}`, org, user]);
}
