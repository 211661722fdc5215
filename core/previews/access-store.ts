import type { Owner } from '#base/clock-and-ids.ts';
import type { AccessLevel, PreviewAccess } from '#protocol/preview-access.ts';

/** The access of a run's port, which outlives each of its previews. */
export interface PortAccess extends Omit<PreviewAccess, 'name'> {
  /** Hash of the password of level `password`; null: none. */
  readonly password: string | null;
}

/** An invitation to a preview: its level says who may use it. */
export interface PreviewLink {
  readonly id: string;
  readonly runId: string;
  readonly targetPort: number;
  readonly label: string;
  /** Who may use it: with `link` everyone who has its secret. */
  readonly level: Exclude<AccessLevel, 'owner' | 'password'>;
  /** SHA-256 of the secret, in base64url. The secret itself is not stored. */
  readonly digest: string;
  /** Hash of its password; null: none. */
  readonly password: string | null;
  /** Whether those who come by it may start a stopped preview. */
  readonly mayWake: boolean;
  /** How many visitors came by it. */
  readonly uses: number;
  /** Null: any number. */
  readonly maxUses: number | null;
  readonly createdBy: string;
  readonly createdAt: Date;
  /** Null: it does not expire. */
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
}

/** How often visitors may start previews in an hour. */
export interface WakeBudget {
  /** By one link. */
  readonly perLink: number;
  /** All previews of one owner. */
  readonly perOwner: number;
}

/** Who opened a preview, and when. */
export interface PreviewVisit {
  readonly runId: string;
  readonly targetPort: number;
  /** A user, or a pseudonym that differs for each preview. */
  readonly viewer: string;
  /** The link by which the visitor came; empty: none. */
  readonly linkId: string;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/** An owner who may have no previews until an admin lifts it. */
export interface PreviewBlock {
  readonly owner: Owner;
  readonly reason: string;
  /** The admin. */
  readonly by: string;
  readonly at: Date;
}

/** Who may open previews, and who did. A revoked link is deleted. */
export interface AccessRecords {
  /** Undefined if it was never set. */
  get(runId: string, targetPort: number): Promise<PortAccess | undefined>;
  /** Changes are made one after the other. */
  change(
    runId: string,
    targetPort: number,
    to: (known: PortAccess | undefined) => PortAccess,
  ): Promise<PortAccess>;
  /** Returns false, without a change, if the port has `most` links. A known id changes nothing. */
  addLink(link: PreviewLink, most: number): Promise<boolean>;
  link(id: string): Promise<PreviewLink | undefined>;
  /** Oldest first. */
  links(runId: string, targetPort: number): Promise<readonly PreviewLink[]>;
  /** Counts a visitor. Returns false if it is used up, has expired or does not exist. */
  useLink(id: string, at: Date): Promise<boolean>;
  /** Returns false if it does not exist. */
  removeLink(id: string): Promise<boolean>;
  /**
   * Keeps the first and the last instant of each viewer and link: of the `most` last people by a
   * link, and of as many visitors without a name, who choose how many they are.
   */
  addVisit(visit: Omit<PreviewVisit, 'firstAt' | 'lastAt'>, at: Date, most: number): Promise<void>;
  hasVisited(visit: Omit<PreviewVisit, 'firstAt' | 'lastAt'>): Promise<boolean>;
  /** The last first, `most` at most: people rather than visitors without a name. */
  visits(runId: string, targetPort: number, most: number): Promise<readonly PreviewVisit[]>;
  /**
   * Counts a start by visitors at `at`. Returns false, without a change, if the starts since then
   * have used up the budget.
   * @param linkId empty: without a link
   */
  addWake(
    wake: { readonly owner: Owner; readonly linkId: string; readonly at: Date },
    since: Date,
    budget: WakeBudget,
  ): Promise<boolean>;
  blockOf(owner: Owner): Promise<PreviewBlock | undefined>;
  /** Replaces an earlier one of the owner. */
  putBlock(block: PreviewBlock): Promise<void>;
  /** Returns false if the owner has none. */
  removeBlock(owner: Owner): Promise<boolean>;
  /** The newest first, `most` at most. */
  blocks(most: number): Promise<readonly PreviewBlock[]>;
  /** Deletes links that expired before, and viewers who came last before; returns how many. */
  forget(before: Date): Promise<number>;
}
