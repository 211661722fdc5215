import type { BrokerTokens } from '#protocol/guest/key-set.ts';
import type { MachineTools } from '#adapters/egress/machine-tools.ts';
import type { DiskSpace } from '#adapters/system/disk-reserve.ts';
import type { ChannelServices } from '#adapters/sandboxes/sandbox-channels.ts';
import type { PreviewProxy } from '#proxy/preview-proxy.ts';
import type { BucketMounter } from '#core/mounts/mount-bucket.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import type { Records } from '#core/records.ts';
import type { SandboxService } from '#core/sandboxes/sandbox-service.ts';
import type { Tokens } from '#core/auth/authenticator.ts';
import type { WarmPool } from '#core/sandboxes/warm-pool.ts';
import type { ProvisionAccess } from '#core/runs/agent-token.ts';
import type { SandboxActivity } from '#core/sandboxes/sandbox-activity.ts';
import type { SandboxEventPublisher } from '#core/sandboxes/sandbox-event-publisher.ts';
import type { TrafficCounter } from '#core/usage/traffic-counter.ts';
import type { GuestKeys } from '#protocol/guest/guest-pod.ts';
import type { Logger } from '#handlers/services.ts';
import type { MetricRecorder } from '../telemetry/metrics.ts';

/**
 * The adapters of sandboxes and previews: everything that differs between one machine and a
 * cluster.
 */
export interface Platform {
  readonly sandboxes: SandboxService;
  /** The installation that owns the provider's sandboxes, among those that share a database. */
  readonly installationId: string;
  /** The platform's warm pool; without it, this process keeps one of the provider's sandboxes. */
  readonly pool?: WarmPool | undefined;
  readonly plane: PreviewPlane;
  readonly mounter: BucketMounter;
  /** Provisions credentials inside a sandbox, with which its runs call back. */
  readonly provisionAccess: ProvisionAccess;
  /** The data path of previews, if this process carries it. */
  readonly gateway: PreviewProxy | undefined;
  /** Warnings of `GET /health`. */
  readonly warnings: () => readonly string[];
  /** One line for a person at the terminal, once all its parts are known. */
  describe(): Promise<string>;
  /** What it runs on, such as `Kubernetes 1.33.2`. @default nothing with a version */
  software?(): Promise<string>;
  /** Sets the server's port, which is known only once it listens. */
  listening(port: number): void;
  /**
   * Lets processes in sandboxes reach this process, each through a separate server; does nothing if
   * they use the network.
   */
  openChannels(services: ChannelServices): Promise<void>;
  /** Updates the authorities that a sandbox's tools trust; without a broker it does nothing. */
  certificatesChanged(sandboxId: string): Promise<void>;
  /**
   * Whether a broker makes the sandboxes' connections; if so, there is no other way out.
   */
  brokersNetwork(): Promise<boolean>;
  /**
   * Whether the sandbox has this address in the network that all sandboxes share; false without
   * such a network.
   */
  isAtAddress(this: void, sandboxId: string, address: string): Promise<boolean>;
  /** Completes the unfinished work of an earlier process, unless another component does. */
  recover(signal: AbortSignal): Promise<void>;
  /** Longest wait for running answers after a request to end the process, in milliseconds. */
  readonly drainMs: number;
  /**
   * Closes connections and listeners. On one machine sandboxes stop running; their files and the
   * previews stay.
   */
  close(): Promise<void>;
}

/** Dependencies of a platform. */
export interface PlatformDeps {
  readonly records: Records;
  readonly tokens: Tokens;
  /** Signs calls to the guests in a cluster. */
  readonly guestKeys: GuestKeys;
  /** Signs what sandboxes of a cluster present to the broker. */
  readonly brokerTokens: BrokerTokens;
  /** Receives the events of sandboxes. */
  readonly publisher: SandboxEventPublisher;
  readonly activity: SandboxActivity;
  /** Counts the traffic of sandboxes. */
  readonly traffic: Pick<TrafficCounter, 'add'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricRecorder;
  /** Settings that sandboxes of this machine take over from its package managers. */
  readonly tools: MachineTools;
  /** A folder that only this process uses. */
  readonly folder: () => Promise<string>;
  /** The reserve of the disk with this folder. */
  readonly space: DiskSpace;
}
