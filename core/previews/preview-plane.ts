import type { PreviewAccess } from '#protocol/preview-access.ts';
import type { PreviewFacts } from '#protocol/preview-facts.ts';
import type { SandboxPort } from './port-host.ts';

/** A preview as its plane stores it. Unreadable times are undefined and are ignored. */
export interface Preview extends Omit<PreviewFacts, 'expiresAt' | 'maxUntil'> {
  /** `preview-` + the first 20 hex digits of sha256(token): the name of its objects. */
  readonly name: string;
  /** The capability. Only the URL's host name and answers to the owner may contain it. */
  readonly token: string;
  /** When the store created it; age counts from here. */
  readonly createdAt: Date;
  readonly expiresAt: Date | undefined;
  readonly maxUntil: Date | undefined;
  /** The public URL; null where previews are loopback listeners. */
  readonly url: string | null;
  /**
   * The second host, by name, that its route has.
   * @default - none, or the serving process alone knows it
   */
  readonly namedHost?: string | undefined;
  /**
   * Whether its URL is in a zone that the installation serves no more.
   * @default false
   */
  readonly hasFormerZone?: boolean;
  /**
   * Whether the fallback answers its visitors, because its sandbox does not run.
   * @default false
   */
  readonly isDetached?: boolean;
  /** The loopback port of a session without a URL; 0 with a URL. */
  readonly localPort: number;
  /**
   * Who may open it, as the process that serves it knows it.
   * @default - everyone who has its URL, or the serving process alone knows it
   */
  readonly access?: PreviewAccess | undefined;
  /** @default - false, or the serving process alone knows it */
  readonly mapsLocalhost?: boolean | undefined;
  /** As in its spec. @default - likewise, or the serving process alone knows it */
  readonly generation?: number | undefined;
  /** Distinguishes this object from a later one of the same name. */
  readonly uid: string;
  /** Changes with every write (`resourceVersion`). */
  readonly version: string;
}

export interface PreviewSpec extends PreviewFacts {
  readonly token: string;
  /** Org of the owner, which may have a separate zone. @default - the common zone */
  readonly org?: string | undefined;
  /** @default - everyone who has its URL may open it */
  readonly access?: PreviewAccess | undefined;
  /**
   * Whether its pages reach `http://localhost:{port}` as a part of its host.
   * @default false
   */
  readonly mapsLocalhost?: boolean | undefined;
  /**
   * Of its sandbox, if it is the preview of that sandbox's port.
   * @default - it is the preview of a run's port
   */
  readonly generation?: number | undefined;
}

export type Readiness =
  | { readonly ready: true }
  /**
   * The declared server of the port ended, or was not ready in time: its name and the end of its
   * log.
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
        | 'sandbox_stopped';
    }
  | {
      readonly ready: false;
      readonly reason: /** TLS with the gateway fails: certificate not trusted, or not valid for this host. */
      'gateway_untrusted' | 'gateway_unreachable';
      /** What is wrong, and the setting to change. */
      readonly problem: string;
    };

/**
 * Kubernetes preconditions of a delete: `uid`, and `version` (resourceVersion), if given, must
 * match.
 */
export interface ClosePrecondition {
  readonly uid?: string | undefined;
  readonly version?: string | undefined;
}

export interface PreviewFilter {
  /** Only previews of this run. */
  readonly runId?: string | undefined;
  /** Only previews of runs of this user. */
  readonly owner?: string | undefined;
  /** Only previews of this sandbox. */
  readonly sandboxId?: string | undefined;
  /** Optimisation: a plane may leave out previews that certainly expire after this instant. */
  readonly dueBefore?: Date | undefined;
}

/** What the gateway of previews answers to this process. */
export interface GatewayState {
  /** Addresses that were asked. */
  readonly addresses: number;
  /** What is wrong, each with the setting to change. */
  readonly problems: readonly string[];
  /** @default - the gateway was asked without TLS */
  readonly certificateEnds: Date | undefined;
}

/**
 * Stores previews. One preview a token: the name is derived from the token, so the store serialises
 * concurrent opens. Foreign or unreadable objects are never returned and never changed.
 */
export interface PreviewPlane {
  /**
   * False if a session is a loopback listener without URL, expiry or keepalive
   * (`Sandbox:Preview:Enabled=false`).
   */
  readonly hasUrls: boolean;

  /**
   * True if traffic goes to the sandbox's own address, so a server must not listen on loopback
   * only; false if it goes through `dial`.
   */
  readonly needsOpenAddress: boolean;

  /**
   * True if requests pass this process, which extends expiries; otherwise `lastUsed` reports
   * traffic.
   */
  readonly seesTraffic: boolean;

  /** The public URL of a host; null where previews are loopback listeners. */
  urlOf(host: string): string | null;

  /** The hosts of the ports of sandboxes (`portHost`). Absent: they have none. */
  readonly ports?:
    | {
        /** Below which they are, with the port of the gateway. */
        domain(): string;
        /** Whether the preview of a port is served, without a round trip. */
        isServed(port: SandboxPort): boolean;
      }
    | undefined;

  /**
   * Creates the preview, or returns the existing one of the token unchanged.
   * @throws PortholeError `too_many_previews` when all previews together are at their cap
   */
  open(spec: PreviewSpec, signal?: AbortSignal): Promise<{ preview: Preview; created: boolean }>;

  /**
   * Confirms a preview from `open`. Resolves once the URL serves, or with the reason why not
   * (bounded by `ReadyTimeoutSeconds`). A plane may refuse to serve or touch an unconfirmed
   * preview, and may lose it in a crash; it is listed and counted nevertheless.
   */
  awaitReady(preview: Preview, signal?: AbortSignal): Promise<Readiness>;

  find(token: string, signal?: AbortSignal): Promise<Preview | undefined>;

  /** Finds a preview by the name of its objects, which gives no access to it. */
  findNamed(name: string, signal?: AbortSignal): Promise<Preview | undefined>;

  /**
   * Sets who may open a live preview. Once it resolves, the connections of visitors who may no
   * longer open it have ended. Ignores what was decided before the access that it has.
   * @throws PortholeError `preview_not_enabled` if nothing enforces it here, and what the guests
   * throw
   */
  setAccess(preview: Preview, access: PreviewAccess, signal?: AbortSignal): Promise<void>;

  /**
   * Detaches a preview from the gateway, so that the fallback gets its visitors, or attaches it
   * again; `open` attaches it as well. A write to a preview since it was read wins over `false`.
   * Absent if requests pass this process, which knows by itself whether the sandbox runs.
   */
  readonly setAttached?:
    | ((preview: Preview, isAttached: boolean, signal?: AbortSignal) => Promise<void>)
    | undefined;

  /**
   * Extends the expiry to `expiresAt`, never past max-until and never backwards. One round trip.
   * Undefined if this run has no such preview: a deleted one is not restored.
   */
  touch(token: string, runId: string, expiresAt: Date, signal?: AbortSignal): Promise<Preview | undefined>;

  /**
   * When a visitor last sent a request, if traffic does not pass this process. Undefined if
   * unknown. Costs a request to the sandbox, takes two seconds at most, and fails only when the
   * signal aborts.
   */
  lastUsed(preview: Preview, signal?: AbortSignal): Promise<Date | undefined>;

  /** Asks the gateway. Absent if this process has no address of it. */
  readonly examine?: ((signal: AbortSignal) => Promise<GatewayState>) | undefined;

  /** Deletes it. Returns false if it is already deleted or a precondition fails. */
  close(
    preview: Pick<Preview, 'name'> & Partial<Preview>,
    precondition?: ClosePrecondition,
    signal?: AbortSignal,
  ): Promise<boolean>;

  /** All previews, or those that match the filter, in no particular order. */
  list(filter?: PreviewFilter, signal?: AbortSignal): AsyncIterable<Preview>;

  /**
   * Whether it is one of the first `places` previews of its run, or of its owner, in an order that
   * the store defines for all callers. A preview that is among them once opened is never outranked
   * by a later one. Starts that are still in progress may count.
   */
  isAmongFirst(
    preview: Preview,
    places: number,
    of?: 'runId' | 'owner',
    signal?: AbortSignal,
  ): Promise<boolean>;

  /** Deletes partial objects that are over two minutes old at `now`; returns how many. */
  sweep(now: Date, signal?: AbortSignal): Promise<number>;
}
