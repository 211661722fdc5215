/**
 * The `agent-sandbox` SandboxProvider: a sandbox is a SandboxClaim on a warm pool of
 * kubernetes-sigs/agent-sandbox. Its controller provides a Sandbox, a pod and a volume. A stopped
 * sandbox is a suspended Sandbox: expiry of the claim would delete the volume.
 */
import { DEFAULT_SIZE } from '#adapters/sandboxes/default-size.ts';
import { checkSandboxId, sandboxNotFound, sandboxNotRunning } from '#adapters/sandboxes/sandbox-errors.ts';
import { sandboxObjectName } from '#constructs/names.ts';
import { PortholeError } from '#core/errors.ts';
import type { SandboxObservation, SandboxSize, SandboxSpec } from '#core/sandboxes/sandbox-provider.ts';
import { type Collection, collection } from '../client/kubernetes-object.ts';
import { podNameOf, SANDBOX_CLAIMS, sandboxReadiness } from './claim-state.ts';
import { ClaimLife } from './claim-life.ts';
import { ClusterProvider, type ClusterProviderOptions } from './cluster-provider.ts';
import { limited } from './cluster-objects.ts';
import { NODE_WITHIN_MS } from './await-pod.ts';
import { podState, type RunningPod } from './pod-state.ts';

interface AgentSandboxProviderOptions extends ClusterProviderOptions {
  /** SandboxWarmPool of sandboxes without a requested image. */
  readonly warmPool: string;
  /** SandboxWarmPools by image. @default none: requests for an image are rejected */
  readonly warmPoolsByImage?: Readonly<Record<string, string>> | undefined;
  /**
   * Sandbox size in the templates. A claim cannot request another size. @default that of the
   * kubernetes provider
   */
  readonly size?: SandboxSize | undefined;
  /** Called when the scheduler finds no node for a sandbox: idle pool sandboxes can make room. */
  readonly makeRoom?: (() => Promise<void>) | undefined;
}

export function createAgentSandboxProvider(options: AgentSandboxProviderOptions): ClusterProvider {
  return new ClaimProvider(options);
}

class ClaimProvider extends ClusterProvider {
  readonly name = 'agent-sandbox';
  readonly defaultSize: SandboxSize;
  protected readonly objects: readonly Collection[];
  readonly #life: ClaimLife;
  readonly #warmPool: string;
  readonly #byImage: ReadonlyMap<string, string>;
  readonly #settleWithinMs: number;

  constructor(options: AgentSandboxProviderOptions) {
    super(options);
    const { client, namespace, warmPool, warmPoolsByImage = {}, settleWithinMs = 180_000 } = options;
    const { nodeWithinMs = NODE_WITHIN_MS, makeRoom } = options;
    const { streams } = this;
    this.objects = [collection(SANDBOX_CLAIMS, namespace)];
    this.#life = new ClaimLife({ client, streams, namespace, settleWithinMs, nodeWithinMs, makeRoom });
    this.defaultSize = options.size ?? DEFAULT_SIZE;
    this.#warmPool = warmPool;
    this.#byImage = new Map(Object.entries(warmPoolsByImage));
    this.#settleWithinMs = settleWithinMs;
  }

  runsImage(reference: string): Promise<boolean> {
    return Promise.resolve(this.#byImage.has(reference));
  }

  async create(
    { id, image, resources = {}, network = false }: SandboxSpec,
    signal?: AbortSignal,
  ): Promise<void> {
    checkSandboxId(id);
    const size = this.defaultSize;
    const { cpu, memoryMb, diskMb } = { ...size, ...resources };
    if (cpu !== size.cpu || memoryMb !== size.memoryMb || diskMb !== size.diskMb) {
      throw new PortholeError(
        'resources_not_supported',
        `resources: sandboxes out of a warm pool are as large as its template says (${size.cpu} CPUs, ${size.memoryMb} MiB of memory, ${size.diskMb} MiB of disk).`,
        { remedy: 'Leave it out, or use the kubernetes provider.' },
      );
    }
    const warmPool = image === undefined ? this.#warmPool : this.#byImage.get(image);
    if (warmPool === undefined) {
      throw new PortholeError('image_not_supported', `Image ${image}: no warm pool gives it.`, {
        remedy: 'Leave it out, or configure a pool for it.',
      });
    }
    await this.asPortErrors(id, async () => {
      await this.#life.claim(id, { warmPool, network }, signal);
      await this.start(id, signal);
    });
  }

  inspect(id: string, signal?: AbortSignal): Promise<SandboxObservation> {
    return this.asPortErrors(id, async () => {
      const podName = sandboxObjectName(id);
      const claim = await this.#life.look(id, signal);
      if (claim.state === 'absent') return { state: 'absent', podName };
      if (claim.state === 'ending') return { state: 'stopped', podName, reason: claim.reason };
      const { sandbox: name = podName, reason } = claim;
      if (claim.state === 'failed') return { state: 'stopped', podName: name, reason };
      if (claim.sandbox === undefined) return { state: 'creating', podName, reason };
      const sandbox = await this.#life.sandbox(name, signal);
      if (sandbox === undefined) return { state: 'stopped', podName: name, reason: 'its Sandbox has gone' };
      const named = podNameOf(sandbox);
      // The claim's status lags behind its Sandbox: right after a resume, only the Sandbox is
      // current.
      if (sandbox.spec?.operatingMode === 'Suspended') return { state: 'stopped', podName: named };
      const now = sandboxReadiness(sandbox);
      if (now.state === 'ready') return { state: 'running', podName: named };
      return { state: now.state === 'failed' ? 'stopped' : 'creating', podName: named, reason: now.reason };
    });
  }

  protected end(id: string, signal: AbortSignal | undefined): Promise<void> {
    return this.#life.suspend(id, signal);
  }

  protected async start(id: string, signal: AbortSignal | undefined): Promise<void> {
    const pod = await this.#life.run(id, signal);
    await this.guests.ready(id, pod, limited(signal, this.#settleWithinMs));
  }

  protected remove(id: string, signal: AbortSignal | undefined): Promise<void> {
    return this.#life.release(id, signal);
  }

  /** Claim, Sandbox, pod: in this order, because each names the next. */
  protected async running(id: string, signal: AbortSignal | undefined): Promise<RunningPod> {
    const claim = await this.#life.look(id, signal);
    if (claim.state === 'absent' || claim.state === 'ending') throw sandboxNotFound(id);
    if (claim.sandbox === undefined) throw sandboxNotRunning(id, claim.reason);
    const sandbox = await this.#life.sandbox(claim.sandbox, signal);
    if (sandbox === undefined) throw sandboxNotRunning(id, 'its Sandbox has gone');
    const now = podState(await this.#life.pod(podNameOf(sandbox), signal));
    if (now.state === 'running') return now.pod;
    throw sandboxNotRunning(id, now.state === 'absent' ? 'it is stopped; resume it first' : now.reason);
  }
}
