import type { Kysely, RawBuilder } from 'kysely';

/**
 * One step of the schema. Never change a released step; add another one. A step expands: the
 * version before runs on the schema after it.
 */
export interface Migration {
  /** `0001-what-it-adds`; kept in the database once applied. */
  readonly name: string;
  /**
   * Removes what earlier versions need, a release after the last that needs it. Earlier versions
   * refuse the database from then on.
   * @default false
   */
  readonly contracts?: true;
  /**
   * Runs inside the transaction that all pending steps share. `text` is the column type for all
   * text: compared byte by byte, so that order is the same on every database; `bytes` is the type
   * for binary data. `Kysely<unknown>`, because a step must not depend on later schemas.
   */
  up(db: Kysely<unknown>, text: RawBuilder<unknown>, bytes: RawBuilder<unknown>): Promise<void>;
}
