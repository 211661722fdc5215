import type { SealedTexts } from '#adapters/auth/sealed-texts.ts';
import type { Owner } from '#core/shared/clock-and-ids.ts';
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
    seal: (column, owner, json) => (seals === undefined ? json : seals.seal(about(column, owner), json)),
    open(column, owner, stored, what) {
      // JSON of an installation without keys, or of an earlier version.
      const plain = stored.startsWith('{') ? stored : seals?.open(about(column, owner), stored);
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

function about(column: string, { org, user }: Owner): string {
  return JSON.stringify([column, org, user]);
}
