/**
 * Where processes in a sandbox call Porthole: a socket in its file system, or a URL. What is served there are the agent routes of the sandbox's own runs, to their own
 * tokens, and nothing else.
 */
export type ChannelAddress =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string };

/** The way from sandboxes back to Porthole. */
export interface Channel {
  /** Undefined where the sandbox has no such way. */
  address(sandboxId: string): Promise<ChannelAddress | undefined>;
}
