import { type Clock, later, type Owner } from '#base/clock-and-ids.ts';
import type { PageResult } from './page-cause.ts';
import type { ConsoleMessage, PageVisit, Picture } from './page-browser.ts';

/** How long a look is kept, in milliseconds. */
const KEPT_MS = 86_400_000;

/** Earlier looks count as forgotten. */
export function keptSince(clock: Clock): Date {
  return later(clock, -KEPT_MS);
}

/** A stored look, with the data that the next look is compared with. */
export interface KeptLook extends Pick<PageResult, 'result'> {
  /** `look_` + ULID. */
  readonly id: string;
  readonly runId: string;
  readonly port: number;
  /** The visit that is repeated to see the same again. */
  readonly visit: Pick<PageVisit, 'path' | 'viewport' | 'steps' | 'picture'>;
  readonly at: Date;
  /** One sentence. */
  readonly summary: string;
  readonly title: string;
  readonly outline: string | null;
  readonly console: readonly Pick<ConsoleMessage, 'level' | 'text'>[];
  readonly thumbnail: Picture | null;
}

export interface LookRecords {
  /**
   * Keeps the newest `most` looks of the run, and the pictures of the newest `pictures`. Does
   * nothing if the run does not exist.
   */
  add(
    look: KeptLook & { readonly picture: Picture | null },
    keep: { readonly owner: Owner; readonly most: number; readonly pictures: number },
  ): Promise<void>;
  /** Newest first. */
  list(runId: string, owner: Owner, since: Date): Promise<readonly KeptLook[]>;
  get(
    runId: string,
    id: string,
    owner: Owner,
  ): Promise<(KeptLook & { readonly picture: Picture | null }) | undefined>;
  /** The newest look of the same page, for a comparison. */
  last(
    of: Pick<KeptLook, 'runId' | 'port' | 'visit'>,
    owner: Owner,
    since: Date,
  ): Promise<(KeptLook & { readonly picture: Picture | null }) | undefined>;
  /** Removes looks from before that time; returns how many. */
  forget(before: Date): Promise<number>;
}
