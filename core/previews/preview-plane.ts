/**
 * A preview as its plane stores it. Times that cannot be read are undefined and constrain nothing.
 */
export interface Preview {
  /** `preview-` + the first 20 hex of sha256(token): what objects are named after. */
  readonly name: string;
  /**
   * The capability. It stands in the URL's host name and in the owner's answers, and nowhere else.
   */
  readonly token: string;
  readonly runId: string;
  /** The user that owns the run. */
  readonly owner: string;
  readonly sandboxId: string;
  /** The pod (or, on one machine, the sandbox) that serves it. */
  readonly podName: string;
  readonly targetPort: number;
  /** When the store made it; age counts from here. */
  readonly createdAt: Date;
  readonly startedAt: Date;
  readonly expiresAt: Date | undefined;
  readonly maxUntil: Date | undefined;
  /** The public URL; null where previews are loopback listeners. */
  readonly url: string | null;
  /** The loopback port of a legacy session; 0 for a URL. */
  readonly localPort: number;
  /** Tells this object from a later one of the same name. */
  readonly uid: string;
  /** Changes with every write (`resourceVersion`). */
  readonly version: string;
}

export interface PreviewSpec {
  readonly token: string;
  readonly runId: string;
  readonly owner: string;
  readonly sandboxId: string;
  readonly podName: string;
  readonly targetPort: number;
  readonly startedAt: Date;
  readonly expiresAt: Date;
  readonly maxUntil: Date;
}

export type Readiness =
  | { readonly ready: true }
  /**
   * The declared server of the port ended, or was not ready in time: its name, and what it printed
   * last.
   */
  | {
      readonly ready: false;
      readonly reason: 'server_failed';
      readonly server: string;
      readonly log: readonly string[];
    }
  | {
      readonly ready: false;
      readonly reason:
        | 'nothing_listens'
        /** The server speaks TLS or another protocol. */
        | 'not_http'
        | 'starting'
        | 'sandbox_stopped'
        /** TLS with the gateway fails: its certificate is not trusted, or not for this host. */
        | 'gateway_untrusted'
        | 'gateway_unreachable';
    };

/**
 * Which object to delete: only that very one (`uid`), and only as it was judged (`version`), where
 * given.
 */
export interface ClosePrecondition {
  readonly uid?: string | undefined;
  readonly version?: string | undefined;
}

export interface PreviewFilter {
  /** Of this run alone. */
  readonly runId?: string | undefined;
  /** Of the runs of this user alone. */
  readonly owner?: string | undefined;
  /**
   * A plane may leave out those whose expiry certainly lies after this instant, and saves itself
   * the work where it can.
   */
  readonly dueBefore?: Date | undefined;
}

/**
 * Where previews live. One preview a token: the name, derived from the token, makes the store the
 * judge of simultaneous opens. Objects that are not ours, or that cannot be read, are never
 * returned and never touched.
 */
export interface PreviewPlane {
  /**
   * False where a session is a loopback listener without URL, expiry or keepalive
   * (`Sandbox:Preview:Enabled=false`).
   */
  readonly hasUrls: boolean;

  /**
   * True where traffic comes to the sandbox's own address, so that a server must listen on more
   * than loopback to show; false where it comes through `dial`.
   */
  readonly needsOpenAddress: boolean;

  /**
   * True where requests pass this process, which moves expiries with them; else `lastUsed` tells of
   * traffic.
   */
  readonly seesTraffic: boolean;

  /**
   * Makes the preview, or returns the one that already stands under the token, as it is.
   * @throws PortholeError `too_many_previews` when all previews together are at their cap
   */
  open(spec: PreviewSpec, signal?: AbortSignal): Promise<{ preview: Preview; created: boolean }>;

  /**
   * Confirms what `open` made, and resolves once the URL serves, or says why it does not (bounded
   * by `ReadyTimeoutSeconds`). A plane may keep what is not confirmed from serving and from being
   * touched, and may forget it in a crash; it is listed and counted all the same.
   */
  serves(preview: Preview, signal?: AbortSignal): Promise<Readiness>;

  find(token: string, signal?: AbortSignal): Promise<Preview | undefined>;

  /**
   * Moves the expiry to `expiresAt`, never past max-until and never back. One round trip. Undefined
   * when there is no such preview of this run: what is gone stays gone.
   */
  touch(token: string, runId: string, expiresAt: Date, signal?: AbortSignal): Promise<Preview | undefined>;

  /**
   * When a visitor last sent something, where traffic does not pass this process. Undefined where
   * nothing is known of it. Costs a request to the sandbox, takes two seconds at most, and fails
   * only when the signal aborts.
   */
  lastUsed(preview: Preview, signal?: AbortSignal): Promise<Date | undefined>;

  /** Deletes it. False when it was gone already or a precondition no longer holds. */
  close(
    preview: Pick<Preview, 'name'> & Partial<Preview>,
    precondition?: ClosePrecondition,
    signal?: AbortSignal,
  ): Promise<boolean>;

  /** All previews, or those that the filter lets through, in no particular order. */
  list(filter?: PreviewFilter, signal?: AbortSignal): AsyncIterable<Preview>;

  /**
   * Whether it is one of the first `places` previews of its run, or of its owner, by an order that
   * the store keeps and everybody agrees on: whoever finds itself among them after
   * its opening is never outranked by one that is opened later. Starts of others that are still
   * under way may count.
   */
  isAmongFirst(
    preview: Preview,
    places: number,
    of?: 'runId' | 'owner',
    signal?: AbortSignal,
  ): Promise<boolean>;

  /** Removes what a crash left half-made, older than two minutes at `now`; says how many. */
  sweep(now: Date, signal?: AbortSignal): Promise<number>;
}
