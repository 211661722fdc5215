import type { Kysely, RawBuilder } from 'kysely';

/** One step of the schema. Once released it never changes: what comes later is another step. */
export interface Migration {
  /** `0001-what-it-adds`; kept in the database once applied. */
  readonly name: string;
  /**
   * Runs inside the transaction that all pending steps share. `text` is the column type for every
   * text: compared byte by byte, so that order is the same on every database; `bytes` that of
   * anything else. `Kysely<unknown>`, because a step must not depend on what the schema became
   * later.
   */
  up(db: Kysely<unknown>, text: RawBuilder<unknown>, bytes: RawBuilder<unknown>): Promise<void>;
}
