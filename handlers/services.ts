import type { AppProbe } from '#core/previews/app-probe.ts';
import type { HeadStore } from '#core/audit/anchor-heads.ts';
import type { ArchiveStore } from '#core/archives/archive-store.ts';
import type { CheckpointDeps } from '#core/checkpoints/take-checkpoint.ts';
import type { Authenticator, Tokens } from '#core/auth/authenticator.ts';
import type { BucketMounter } from '#core/mounts/mount-bucket.ts';
import type { WakingClock, Ids } from '#base/clock-and-ids.ts';
import type { Guests } from '#core/processes/guest.ts';
import type { NetworkAccess } from '#core/network/network.ts';
import type { CatalogueImage } from '#core/images/image-store.ts';
import type { PageBrowser } from '#core/pages/page-browser.ts';
import type { PageRechecker } from '#core/pages/recheck-pages.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import type { Records } from '#core/records.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import type { SandboxService } from '#core/sandboxes/sandbox-service.ts';
import type { SchemaValidator } from '#core/editor/tool-schemas.ts';
import type { WarmPool } from '#core/sandboxes/warm-pool.ts';
import type { EditorOptions } from '#core/editor/editor-limits.ts';
import type { ToolPrograms } from '#core/editor/execute-tool.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import type { LifecycleLimits } from '#core/sandboxes/sandbox-lifecycle.ts';
import type { MakeRoom } from '#core/sandboxes/make-room.ts';
import type { Quotas } from '#core/sandboxes/sandbox-quotas.ts';
import type { BucketOptions } from '#core/mounts/resolve-mount.ts';
import type { OptionalFeature } from '#protocol/settings/optional-features.ts';
import type { Sharing } from '#protocol/settings/shared-values.ts';
import type { ProvisionAccess } from '#core/runs/agent-token.ts';
import type { Disk } from '#core/diagnosis/examine-installation.ts';
import type { DeniedRequests } from '#core/audit/denied-requests.ts';
import type { GuessLimit } from '#core/auth/guess-limit.ts';
import type { Passwords } from '#core/auth/passwords.ts';
import type { TicketRate } from '#core/previews/ticket-rate.ts';
import type { SandboxActivity } from '#core/sandboxes/sandbox-activity.ts';
import type { TrafficCounter } from '#core/usage/traffic-counter.ts';
import type { SandboxEventPublisher } from '#core/sandboxes/sandbox-event-publisher.ts';
import type { Admission } from './http/admit.ts';
import type { UploadLimits } from './files/upload-limits.ts';
import type { PendingApprovals } from '#core/approvals/pending-approvals.ts';
import type { WebhookDeliveries } from '#core/webhooks/deliver-webhooks.ts';
import type { Terminals } from '#core/terminals/terminals.ts';

/** The part of a pino logger that Porthole uses. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Everything a handler may need; each one picks the few that it uses. Wired by the host, or by a
 * function's own entry.
 */
export interface Services {
  readonly records: Records;
  readonly plane: PreviewPlane;
  readonly sandboxes: SandboxService;
  /** The guests: programs inside sandboxes that manage processes and servers. */
  readonly guests: Guests;
  /** Network access of sandboxes. */
  readonly network: NetworkAccess;
  /**
   * Publishes the events of a sandbox until the returned function is called. Does nothing on one
   * machine, where the host follows every running sandbox.
   */
  readonly followGuest: (sandboxId: string) => () => void;
  /** Records that sandboxes are in use. */
  readonly activity: SandboxActivity;
  /** Counts the traffic of sandboxes. */
  readonly traffic: Pick<TrafficCounter, 'add' | 'write'>;
  readonly pool: WarmPool;
  /** Probes the servers in sandboxes. */
  readonly probe: AppProbe;
  /** Opens previews in a browser. */
  readonly pages: PageBrowser;
  /** Checks pages again when their sources change. */
  readonly rechecker: Pick<PageRechecker, 'follow' | 'awaitChange'>;
  /** The installation that owns the provider's sandboxes. */
  readonly installationId: string;
  /** The configured URL at which people and clients reach this API. */
  readonly publicUrl: URL | undefined;
  /** The OpenID Connect issuer of accepted tokens. */
  readonly oidcIssuer: string | undefined;
  readonly featuresOff: ReadonlySet<OptionalFeature>;
  readonly uploads: UploadLimits;
  /** How new runs are shared with the organisation of their owner. */
  readonly runSharing: Sharing;
  /** Limits per person. */
  readonly quotas: Quotas;
  /** Where one person has the machine: stops an unattended sandbox instead of refusing one. */
  readonly makeRoom: MakeRoom | undefined;
  /** Maximum number of running sandboxes of all people together; 0: no limit. */
  readonly maxInstances: number;
  /** When sandboxes are stopped and destroyed. */
  readonly life: LifecycleLimits;
  /**
   * Whether sandboxes without a record are collected regularly: only if all creators of sandboxes
   * share the records.
   */
  readonly collectsOrphans: boolean;
  /** The images of the configuration. */
  readonly images: readonly CatalogueImage[];
  readonly tokens: Tokens;
  /** Publishes to the followers of a sandbox. */
  readonly publisher: SandboxEventPublisher;
  /** Pending approvals, for their followers. */
  readonly pendingApprovals: PendingApprovals;
  /** Provisions credentials inside a sandbox, with which its runs call back. */
  readonly provisionAccess: ProvisionAccess;
  /** The terminals that this process has open in sandboxes. */
  readonly terminals: Terminals;
  readonly mounter: BucketMounter;
  readonly buckets: BucketOptions;
  /** Archives sandboxes before they expire; undefined: archives are off. */
  readonly archives:
    | {
        readonly store: ArchiveStore & HeadStore;
        readonly keep: (sandbox: SandboxRecord, signal?: AbortSignal) => Promise<void>;
      }
    | undefined;
  /** Where checkpoints are kept; undefined: nowhere. */
  readonly checkpoints:
    | (Pick<CheckpointDeps, 'store' | 'limits'> & {
        /** What makes one without a request; undefined: nothing. */
        readonly automatic: { readonly commands: readonly string[] } | undefined;
      })
    | undefined;
  readonly schemas: SchemaValidator;
  readonly editor: EditorOptions;
  readonly toolPrograms: () => Promise<ToolPrograms>;
  readonly clock: WakingClock;
  /**
   * Aborts when this process is about to end: pending waits end, so that clients reconnect to
   * another process.
   */
  readonly stopping: AbortSignal;
  readonly ids: Ids;
  readonly previewSettings: PreviewOptions;
  readonly authenticator: Authenticator;
  /** The running requests of this process. */
  readonly admission: Admission;
  /** How long rows of the audit are kept, in milliseconds. */
  readonly auditRetentionMs: number;
  /** Refused requests, for the audit. */
  readonly denied: Pick<DeniedRequests, 'add' | 'settled'>;
  /** Webhooks: what they have to deliver. */
  readonly webhooks: WebhookDeliveries;
  /** Wrong keys and tokens by address. */
  readonly guesses: GuessLimit;
  /** Of previews and links. */
  readonly passwords: Passwords;
  readonly ticketRate: TicketRate;
  readonly log: Logger;
  /** What `GET /api/installation` says besides settings that others need as well. */
  readonly about: {
    readonly provider: string;
    /** One line: how sandboxes are isolated, and where they run. */
    readonly describe: () => Promise<string>;
    /** Names and versions of this program and of what it runs on. */
    readonly software: () => Promise<readonly string[]>;
    /** End of the certificate that this process serves with; undefined: it has none. */
    readonly certificateEnds: () => Promise<Date | undefined>;
    /** The disk with the data folder; undefined: there is no data folder. */
    readonly disk: () => Promise<Disk | undefined>;
    readonly signIn: 'keys' | 'oidc' | 'keys_and_oidc';
    readonly docsUrl: URL | undefined;
    readonly feedbackUrl: URL | undefined;
  };
  /** Warnings of `GET /health`. */
  readonly warnings: () => readonly string[];
  /** The OpenAPI document of all routes as JSON: half a megabyte, which is encoded once. */
  readonly openapi: () => Promise<string>;
  /** The metrics in Prometheus' text format. */
  readonly metrics: () => Promise<{ contentType: string; text: string }>;
}
