/**
 * Where a live preview leads. Two targets of one token are the same if the sandbox and the port
 * are.
 */
export interface PreviewTarget {
  readonly runId: string;
  readonly sandboxId: string;
  readonly targetPort: number;
  /** The capability; never logged, never a label. */
  readonly token: string;
}

/** What the store of previews knows of a token. */
export type PreviewLookup =
  | { readonly kind: 'live'; readonly target: PreviewTarget }
  | { readonly kind: 'ended'; readonly reason: 'stopped' | 'expired' | 'orphaned' }
  | { readonly kind: 'unknown' }
  /** The client's address asked for too many tokens that do not exist. */
  | { readonly kind: 'limited'; readonly retryAfterSeconds: number };
