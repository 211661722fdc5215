import type { MachineTools } from '#adapters/egress/machine-tools.ts';
import type { ChannelServices } from '#adapters/sandboxes/sandbox-channels.ts';
import type { PreviewProxy } from '#proxy/preview-proxy.ts';
import type { BucketMounter } from '#core/mounts/mount-bucket.ts';
import type { Clock } from '#core/shared/clock-and-ids.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import type { Records } from '#core/shared/records.ts';
import type { SandboxProvider } from '#core/sandboxes/sandbox-provider.ts';
import type { Tokens } from '#core/auth/authenticator.ts';
import type { WarmPool } from '#core/sandboxes/warm-pool.ts';
import type { ProvisionAccess } from '#core/runs/agent-token.ts';
import type { SandboxActivity } from '#core/sandboxes/sandbox-activity.ts';
import type { SandboxEventPublisher } from '#core/sandboxes/sandbox-event-publisher.ts';
import type { GuestKeys } from '#guest/protocol/guest-pod.ts';
import type { Logger } from '#handlers/services.ts';
import type { PreviewMetrics } from './metrics.ts';

/** Where sandboxes and previews live, wired: all that differs between one machine and a cluster. */
export interface Platform {
  readonly provider: SandboxProvider;
  /**
   * The same with nothing around it: what is done with it is no use of a sandbox, is told to
   * nobody, and puts nothing into one.
   */
  readonly rawProvider: SandboxProvider;
  /** Which installation the provider's sandboxes belong to, among those that share a database. */
  readonly place: string;
  /** Its own; without it, one of the provider's sandboxes is kept by this very process. */
  readonly pool?: WarmPool | undefined;
  readonly plane: PreviewPlane;
  readonly mounter: BucketMounter;
  /** Puts what the runs of a sandbox need to call back inside it. */
  readonly provisionAccess: ProvisionAccess;
  /** The data path of previews, where this very process carries it. */
  readonly gateway: PreviewProxy | undefined;
  /** What `GET /health` warns of. */
  readonly warnings: () => readonly string[];
  /** One line for a person at the terminal, once everything about it is known. */
  describe(): Promise<string>;
  /** Tells where the server listens: known only once it does. */
  listening(port: number): void;
  /**
   * Lets processes in sandboxes reach this one, each through servers of its own; does nothing where
   * they come by the network.
   */
  openChannels(services: ChannelServices): Promise<void>;
  /**
   * Whether the sandboxes' connections can go through this process: they have no other way then.
   */
  brokersNetwork(): Promise<boolean>;
  /**
   * Whether the sandbox has this address in the network that all sandboxes share; never where there
   * is none.
   */
  isAtAddress(this: void, sandboxId: string, address: string): Promise<boolean>;
  /** Finishes what an earlier process left undone, where nobody else does. */
  recover(signal: AbortSignal): Promise<void>;
  /**
   * Longest time for answers that are under way once the process is asked to end, in milliseconds.
   */
  readonly drainMs: number;
  /**
   * Lets go of connections and listeners. On one machine sandboxes stop running; their files and
   * the previews stay.
   */
  close(): Promise<void>;
}

/** What a platform is opened with. */
export interface PlatformDeps {
  readonly records: Records;
  readonly tokens: Tokens;
  /** What signs calls of the guests in a cluster. */
  readonly guestKeys: GuestKeys;
  /** Told of what becomes of a sandbox. */
  readonly publisher: SandboxEventPublisher;
  readonly activity: SandboxActivity;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: PreviewMetrics;
  /** What sandboxes of this machine take over from its package managers. */
  readonly tools: MachineTools;
  /** The folder that only this process uses. */
  readonly folder: () => Promise<string>;
}
