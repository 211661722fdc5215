/** Who may pass to a preview's app, as the functions have decided. */
export interface AccessPolicy {
  /** `link`: everyone who has the URL. At any other level a visitor needs a visit. */
  readonly level: string;
  /** Visits of an earlier epoch have ended. */
  readonly epoch: number;
  /** Ids of revoked links: their visits have ended. Within one epoch the list only grows. */
  readonly revoked: readonly string[];
}

/** Destination of a live preview. Two targets of one token are the same if sandbox and port are. */
export interface PreviewTarget {
  readonly runId: string;
  readonly sandboxId: string;
  readonly targetPort: number;
  /** The capability; never logged, never a label. */
  readonly token: string;
  /**
   * The host by name, without a port, at which it was requested.
   * @default - its own host
   */
  readonly namedHost?: string | undefined;
  /**
   * Programs that send it pass as the owner.
   * @default - none
   */
  readonly trafficToken?: string | undefined;
  /** @default - everyone who has the URL may pass */
  readonly access?: AccessPolicy | undefined;
  /**
   * Its pages reach `http://localhost:{port}` as a part of its host.
   * @default false
   */
  readonly mapsLocalhost?: boolean | undefined;
}

/** Result of looking a token up in the store of previews. */
export type PreviewLookup =
  | { readonly kind: 'live'; readonly target: PreviewTarget }
  /** It is not served, and starts again for visitors who may start it. */
  | { readonly kind: 'asleep'; readonly target: PreviewTarget }
  | { readonly kind: 'ended'; readonly reason: 'stopped' | 'expired' | 'orphaned' }
  /** With the token people are sent to where they sign in, as for previews that exist. */
  | { readonly kind: 'unknown'; readonly token?: string }
  /** The client's address looked up too many nonexistent tokens. */
  | { readonly kind: 'limited'; readonly retryAfterSeconds: number };

/**
 * What a host by name leads to if no preview has the name: a preview that admits no one. A name can
 * be guessed, so a stranger gets the same answers whether or not a preview has it.
 */
export function hiddenTarget(namedHost: string): PreviewTarget {
  return {
    runId: '',
    sandboxId: '',
    targetPort: 0,
    token: namedHost,
    namedHost,
    access: { level: 'owner', epoch: -1, revoked: [] },
  };
}
