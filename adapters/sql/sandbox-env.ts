import type { SealedTexts } from '#adapters/auth/sealed-texts.ts';
import type { Owner } from '#core/shared/clock-and-ids.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import type { RecordsLog } from './sql-session.ts';

type Env = SandboxRecord['env'];

/** Stores the environment of a sandbox; its values may be secrets. */
export interface SandboxEnv {
  text(env: Env, owner: Owner): string;
  read(text: string, owner: Owner): Env;
}

/** For a sandbox without variables, and for a destroyed one. */
export const NO_ENV = '{}';

/**
 * Sealed for its owner if `seals` are given. Values of earlier versions are plain JSON. A value
 * that no key opens is read as empty and logged: its sandbox can still be listed, used and deleted.
 */
export function sandboxEnv(seals: SealedTexts | undefined, log: RecordsLog | undefined): SandboxEnv {
  return {
    text(env, owner) {
      const plain = JSON.stringify(env);
      return plain === NO_ENV || seals === undefined ? plain : seals.seal(about(owner), plain);
    },
    read(text, owner) {
      const plain = text.startsWith('{') ? text : seals?.open(about(owner), text);
      if (plain !== undefined) return JSON.parse(plain) as Env;
      log?.warn(
        { owner: owner.user },
        'the variables of a sandbox cannot be opened: their key is gone from PORTHOLE_SIGNING_KEYS',
      );
      return {};
    },
  };
}

function about({ org, user }: Owner): string {
  return JSON.stringify(['sandboxes.env', org, user]);
}
