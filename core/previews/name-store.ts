import type { Owner } from '#base/clock-and-ids.ts';

/** A port of a run. */
export interface NamedPort {
  readonly runId: string;
  readonly targetPort: number;
}

/** A name that an owner gives a preview, and the zone in which no other preview has it. */
export interface GivenName {
  readonly zone: string;
  readonly name: string;
}

/**
 * The names of previews: of a port of a run, so that they outlive each of its previews. After a
 * name is given back, only its last owner may take it until it is forgotten: browsers may keep a
 * service worker of its host, which would see the pages of the next owner.
 */
export interface PreviewNames {
  /** The port that has the name. */
  find(name: GivenName): Promise<NamedPort | undefined>;
  /** The name that the port has. */
  of(port: NamedPort): Promise<GivenName | undefined>;
  /**
   * Gives the port the name instead of the one that it has. Changes nothing if another port has it
   * or another owner had it (`taken`), or if the owner has `most` names (`too_many`), those given
   * back included.
   */
  claim(
    claim: GivenName & NamedPort & { readonly owner: Owner },
    at: Date,
    most: number,
  ): Promise<'claimed' | 'taken' | 'too_many'>;
  /** Takes the name of the port from it; without one, does nothing. */
  release(port: NamedPort, at: Date): Promise<void>;
  /**
   * Releases the names of deleted sandboxes at `now`, and deletes those released before; returns
   * how many were deleted.
   */
  forget(now: Date, before: Date): Promise<number>;
}
