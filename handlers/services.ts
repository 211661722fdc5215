import type { AppProbe } from '#core/ports/app-probe.ts';
import type { ArchiveStore } from '#core/ports/archive-store.ts';
import type { Authenticator } from '#core/ports/authenticator.ts';
import type { BucketMounter } from '#core/ports/bucket-mounter.ts';
import type { WakingClock } from '#core/ports/clock.ts';
import type { Guests } from '#core/use-cases/guest.ts';
import type { NetworkAccess } from '#core/ports/network.ts';
import type { Ids } from '#core/ports/ids.ts';
import type { CatalogueImage } from '#core/ports/images.ts';
import type { PreviewPlane } from '#core/ports/preview-plane.ts';
import type { Records } from '#core/ports/records.ts';
import type { SandboxRecord } from '#core/ports/sandbox-records.ts';
import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';
import type { SchemaValidator } from '#core/ports/schema-validator.ts';
import type { Tokens } from '#core/ports/tokens.ts';
import type { WarmPool } from '#core/ports/warm-pool.ts';
import type { EditorOptions } from '#core/editor-options.ts';
import type { PreviewOptions } from '#core/preview-options.ts';
import type { LifecycleLimits } from '#core/rules/lifecycle.ts';
import type { Quotas } from '#core/rules/quotas.ts';
import type { BucketOptions } from '#core/rules/resolve-mount.ts';
import type { ProvisionAccess } from '#core/use-cases/agent-access/provisioning-provider.ts';
import type { GuessLimit } from '#core/use-cases/guess-limit.ts';
import type { SandboxActivity } from '#core/use-cases/sandbox-activity.ts';
import type { SandboxEventPublisher } from '#core/use-cases/sandbox-event-publisher.ts';
import type { Admission } from './middleware/admit.ts';
import type { PendingApprovals } from '#core/use-cases/pending-approvals.ts';
import type { Terminals } from '#core/use-cases/terminals/terminals.ts';

/** The part of a pino logger that Porthole uses. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Everything a handler may need; each one names the few that it takes. Wired by the host, or by a function's own entry. */
export interface Services {
  readonly records: Records;
  readonly plane: PreviewPlane;
  readonly provider: SandboxProvider;
  /** The programs inside sandboxes that keep processes and servers. */
  readonly guests: Guests;
  /** What sandboxes may reach. */
  readonly network: NetworkAccess;
  /** Publishes what happens in a sandbox until what is returned is called, where no host watches all that run. */
  readonly followGuest: (sandboxId: string) => () => void;
  /** Records that sandboxes are in use. */
  readonly activity: SandboxActivity;
  readonly pool: WarmPool;
  /** Asks the servers in sandboxes how they are. */
  readonly probe: AppProbe;
  /** Which installation the provider's sandboxes belong to. */
  readonly place: string;
  /** Under which people and clients reach this API, where that was configured. */
  readonly publicUrl: URL | undefined;
  /** What each person may have at a time. */
  readonly quotas: Quotas;
  /** Sandboxes that may be wanted to run at a time, of all people together; 0: any number. */
  readonly maxInstances: number;
  /** When sandboxes are stopped and destroyed. */
  readonly life: LifecycleLimits;
  /** Whether sandboxes that no record knows are looked for again and again: only where all who make any share the records. */
  readonly collectsOrphans: boolean;
  /** The images of the configuration. */
  readonly images: readonly CatalogueImage[];
  readonly tokens: Tokens;
  /** Tells whoever follows a sandbox. */
  readonly publisher: SandboxEventPublisher;
  /** What waits for decisions, for whoever follows that. */
  readonly pendingApprovals: PendingApprovals;
  /** Puts what the runs of a sandbox need to call back inside it. */
  readonly provisionAccess: ProvisionAccess;
  /** Those that this process has open in sandboxes. */
  readonly terminals: Terminals;
  readonly mounter: BucketMounter;
  readonly buckets: BucketOptions;
  /** Keeps what is in sandboxes before they are destroyed after their retention; undefined: nobody does. */
  readonly archives:
    | {
        readonly store: ArchiveStore;
        readonly keep: (sandbox: SandboxRecord, signal?: AbortSignal) => Promise<void>;
      }
    | undefined;
  readonly schemas: SchemaValidator;
  readonly editor: EditorOptions;
  readonly clock: WakingClock;
  /** Aborted when this process is about to end: what waits ends, so that its client comes back and finds another. */
  readonly stopping: AbortSignal;
  readonly ids: Ids;
  readonly preview: PreviewOptions;
  readonly authenticator: Authenticator;
  /** Requests under way in this process. */
  readonly admission: Admission;
  /** Wrong keys and tokens by address. */
  readonly guesses: GuessLimit;
  readonly log: Logger;
  /** What `GET /health` warns of. */
  readonly warnings: () => readonly string[];
  /** The OpenAPI document of all routes. */
  readonly openapi: () => Promise<object>;
  /** The metrics in Prometheus' text format. */
  readonly metrics: () => Promise<{ contentType: string; text: string }>;
}
