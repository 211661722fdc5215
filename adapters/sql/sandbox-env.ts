import type { SealedTexts } from '#adapters/auth/sealed-texts.ts';
import type { Owner } from '#core/shared/clock-and-ids.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import type { RecordsLog } from './sql-session.ts';

type Env = SandboxRecord['env'];

/** How the environment of a sandbox is kept, whose values may be secrets. */
export interface SandboxEnv {
  text(env: Env, owner: Owner): string;
  read(text: string, owner: Owner): Env;
}

/** Of one without variables, and of one that is destroyed. */
export const NO_ENV = '{}';

/**
 * Sealed for its owner, where `seals` are given. What an earlier version kept is JSON, and read as
 * such. One that no key opens any more is read as none, which the log tells: its sandbox can still
 * be listed, used and deleted.
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
