/** Destination of a live preview. Two targets of one token are the same if sandbox and port are. */
export interface PreviewTarget {
  readonly runId: string;
  readonly sandboxId: string;
  readonly targetPort: number;
  /** The capability; never logged, never a label. */
  readonly token: string;
}

/** Result of looking a token up in the store of previews. */
export type PreviewLookup =
  | { readonly kind: 'live'; readonly target: PreviewTarget }
  | { readonly kind: 'ended'; readonly reason: 'stopped' | 'expired' | 'orphaned' }
  | { readonly kind: 'unknown' }
  /** The client's address looked up too many nonexistent tokens. */
  | { readonly kind: 'limited'; readonly retryAfterSeconds: number };
