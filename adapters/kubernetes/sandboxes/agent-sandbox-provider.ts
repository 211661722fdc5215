/**
 * The `agent-sandbox` SandboxProvider: a sandbox is a SandboxClaim on a warm pool of
 * kubernetes-sigs/agent-sandbox. Its controller provides a Sandbox, a pod and a volume. A stopped
 * sandbox is a suspended Sandbox: expiry of the claim would delete the volume. Every step is
 * idempotent: any process can repeat it after a crash.
 */
import { DEFAULT_SIZE } from '#adapters/sandboxes/default-size.ts';
import { checkSandboxId, sandboxNotFound, sandboxNotRunning } from '#adapters/sandboxes/sandbox-errors.ts';
import { sandboxObjectName } from '#constructs/names.ts';
import { PortholeError } from '#base/errors.ts';
import type { SandboxObservation, SandboxSize, SandboxSpec } from '#core/sandboxes/sandbox-provider.ts';
import { type Collection, collection } from '../client/kubernetes-object.ts';
import {
  type Claim,
  type ClaimedSandbox,
  type ClaimState,
  claimState,
  podNameOf,
  SANDBOX_CLAIMS,
  SANDBOXES,
  type SandboxReadiness,
  sandboxReadiness,
} from './claim-state.ts';
import { notOurs, unbound } from './cluster-errors.ts';
import { annotated, awaitSettled, find, findOurs, makeObject, sandboxIdOf } from './cluster-objects.ts';
import { ClusterProvider, type ClusterProviderOptions } from './cluster-provider.ts';
import { type Pod, podState, type RunningPod } from './pod-state.ts';

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

export class AgentSandboxProvider extends ClusterProvider {
  readonly name = 'agent-sandbox';
  readonly defaultSize: SandboxSize;
  protected readonly objects: readonly Collection[];
  readonly #options: AgentSandboxProviderOptions;
  readonly #claims: Collection;
  readonly #sandboxes: Collection;

  constructor(options: AgentSandboxProviderOptions) {
    super(options);
    const { namespace } = options;
    this.#options = options;
    this.#claims = collection(SANDBOX_CLAIMS, namespace);
    this.#sandboxes = collection(SANDBOXES, namespace);
    this.objects = [this.#claims];
    this.defaultSize = options.size ?? DEFAULT_SIZE;
  }

  runsImage(reference: string): Promise<boolean> {
    return Promise.resolve(this.#poolOf(reference) !== undefined);
  }

  #poolOf(image: string): string | undefined {
    const { warmPoolsByImage: pools = {} } = this.#options;
    return Object.hasOwn(pools, image) ? pools[image] : undefined;
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
    const warmPool = image === undefined ? this.#options.warmPool : this.#poolOf(image);
    if (warmPool === undefined) {
      throw new PortholeError('image_not_supported', `Image ${image}: no warm pool gives it.`, {
        remedy: 'Leave it out, or configure a pool for it.',
      });
    }
    await this.asPortErrors(id, async () => {
      await this.#makeClaim(id, { warmPool, network }, signal);
      await this.start(id, signal);
    });
  }

  inspect(id: string, signal?: AbortSignal): Promise<SandboxObservation> {
    return this.asPortErrors(id, async () => {
      const podName = sandboxObjectName(id);
      const claim = await this.#look(id, signal);
      if (claim.state === 'absent') return { state: 'absent', podName };
      if (claim.state === 'ending') return { state: 'stopped', podName, reason: claim.reason };
      const { sandbox: name = podName, reason } = claim;
      if (claim.state === 'failed') return { state: 'stopped', podName: name, reason };
      if (claim.sandbox === undefined) return { state: 'creating', podName, reason };
      const sandbox = await this.#sandbox(name, signal);
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

  protected async start(id: string, signal: AbortSignal | undefined): Promise<void> {
    const pod = await this.#run(id, signal);
    await this.guests.ready(id, pod, this.limit(signal));
  }

  /** Claim, Sandbox, pod: in this order, because each names the next. */
  protected async running(id: string, signal: AbortSignal | undefined): Promise<RunningPod> {
    const claim = await this.#look(id, signal);
    if (claim.state === 'absent' || claim.state === 'ending') throw sandboxNotFound(id);
    if (claim.sandbox === undefined) throw sandboxNotRunning(id, claim.reason);
    const sandbox = await this.#sandbox(claim.sandbox, signal);
    if (sandbox === undefined) throw sandboxNotRunning(id, 'its Sandbox has gone');
    const now = podState(await this.#pod(podNameOf(sandbox), signal));
    if (now.state === 'running') return now.pod;
    throw sandboxNotRunning(id, now.state === 'absent' ? 'it is stopped; resume it first' : now.reason);
  }

  /** The state of the claim; `absent` for a claim that is not ours. */
  async #look(id: string, signal: AbortSignal | undefined): Promise<ClaimState> {
    return claimState(await this.#claim(id, signal));
  }

  #sandbox(name: string, signal: AbortSignal | undefined): Promise<ClaimedSandbox | undefined> {
    return find<ClaimedSandbox>(this.client, this.#sandboxes, name, signal);
  }

  #pod(name: string, signal: AbortSignal | undefined): Promise<Pod | undefined> {
    return find<Pod>(this.client, this.pods, name, signal);
  }

  /** Creates the claim if it does not exist. Waits for the removal of a terminating one first. */
  async #makeClaim(
    id: string,
    { warmPool, network }: { readonly warmPool: string; readonly network: boolean },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    // Loaded lazily, only to create claims.
    const { sandboxClaimManifest } = await import('#constructs/sandbox-claim.ts');
    const manifest = sandboxClaimManifest({
      namespace: this.#options.namespace,
      sandboxId: id,
      warmPool,
      network,
    });
    while ((await makeObject(this.client, this.#claims, annotated(manifest, id), signal)) === undefined) {
      const found = await find<Claim>(this.client, this.#claims, sandboxObjectName(id), signal);
      if (found !== undefined && sandboxIdOf(found.metadata) !== id) throw notOurs(id, this.#claims, found);
      const { state } = claimState(found);
      if (state === 'ending') await this.remove(id, signal);
      else if (state !== 'absent') return;
    }
  }

  /**
   * Waits until commands can run in the claim's pod; resumes a suspended Sandbox.
   * @throws PortholeError `no_bound_sandbox` with the claim's reason once it can never be bound,
   * `sandbox_not_running` with the reason, `capacity_exceeded`
   */
  #run(id: string, signal: AbortSignal | undefined): Promise<RunningPod> {
    return this.withNode(
      id,
      signal,
      async (until) => {
        const name = (await this.#claim(id, until))?.status?.sandbox?.name;
        const sandbox = name ? await this.#sandbox(name, until) : undefined;
        return sandbox && this.#pod(podNameOf(sandbox), until);
      },
      (until) => this.#bindAndResume(id, until),
      this.#options.makeRoom,
    );
  }

  async #bindAndResume(id: string, until: AbortSignal): Promise<RunningPod> {
    const reason = 'it is not there yet';
    const claimed = { from: this.#claims, name: sandboxObjectName(id), reason };
    const name = await awaitSettled<Claim, string>(this.watching, id, claimed, until, (claim) => {
      const now = claimState(claim);
      if (now.state === 'absent' || now.state === 'ending') throw sandboxNotFound(id);
      if (now.state === 'failed') throw unbound(id, now.reason);
      return now.state === 'creating' ? now : { settled: now.sandbox };
    });
    await this.#setMode(id, name, 'Running', until);
    const ready = { from: this.#sandboxes, name, reason };
    const podName = await awaitSettled<ClaimedSandbox, string>(this.watching, id, ready, until, (sandbox) => {
      const now: SandboxReadiness = sandboxReadiness(sandbox);
      if (now.state === 'failed') throw unbound(id, now.reason);
      return now.state === 'ready' ? { settled: now.podName } : now;
    });
    // The controller's status may be older than the pod.
    return this.awaitPod(id, podName, until, () => undefined);
  }

  /**
   * Suspends the Sandbox; resolves once its pod is gone. @throws PortholeError `sandbox_not_found`,
   * `sandbox_not_running`
   */
  protected async end(id: string, signal: AbortSignal | undefined): Promise<void> {
    const claim = await this.#look(id, signal);
    if (claim.state === 'absent' || claim.state === 'ending') throw sandboxNotFound(id);
    if (claim.sandbox === undefined) throw sandboxNotRunning(id, claim.reason);
    const sandbox = await this.#sandbox(claim.sandbox, signal);
    // An expired claim no longer has a Sandbox.
    if (sandbox === undefined) return;
    const pod = await this.#pod(podNameOf(sandbox), signal);
    await this.#setMode(id, claim.sandbox, 'Suspended', signal);
    if (pod !== undefined) await this.gone(id, this.pods, pod.metadata, signal);
  }

  /** Deletes the claim with its Sandbox, pod and volume; resolves once they are gone. */
  protected async remove(id: string, signal: AbortSignal | undefined): Promise<void> {
    const claim = await this.#claim(id, signal);
    if (claim === undefined) return;
    const { name, uid } = claim.metadata;
    const sandboxName = claim.status?.sandbox?.name;
    const sandbox = sandboxName ? await this.#sandbox(sandboxName, signal) : undefined;
    const pod = sandbox && (await this.#pod(podNameOf(sandbox), signal));
    await this.client.delete(this.#claims, name, { uid, propagation: 'Foreground' }, signal);
    await this.gone(id, this.#claims, claim.metadata, signal);
    if (sandbox !== undefined) await this.gone(id, this.#sandboxes, sandbox.metadata, signal);
    if (pod !== undefined) await this.gone(id, this.pods, pod.metadata, signal);
  }

  /**
   * A stack that gets its first warm pool may still run sandboxes of the provider `kubernetes`.
   * Calling one absent would leave it running unseen.
   * @throws PortholeError `service_unavailable` for such a sandbox
   */
  async #claim(id: string, signal: AbortSignal | undefined): Promise<Claim | undefined> {
    const claim = await findOurs<Claim>(this.client, this.#claims, id, signal);
    if (claim !== undefined) return claim;
    if ((await findOurs(this.client, this.pods, id, signal)) === undefined) return undefined;
    throw new PortholeError(
      'service_unavailable',
      `Sandbox ${id} is a pod of the provider kubernetes, and this server uses agent-sandbox.`,
      { remedy: 'Ask your administrator to set the provider back until it is deleted.', retryable: false },
    );
  }

  async #setMode(
    id: string,
    name: string,
    operatingMode: 'Running' | 'Suspended',
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const sandbox = await this.#sandbox(name, signal);
    if (sandbox === undefined) throw sandboxNotRunning(id, 'its Sandbox has gone');
    if ((sandbox.spec?.operatingMode ?? 'Running') === operatingMode) return;
    const patch = [
      { op: 'test', path: '/metadata/uid', value: sandbox.metadata.uid },
      { op: 'add', path: '/spec/operatingMode', value: operatingMode },
    ] as const;
    await this.client.jsonPatch(this.#sandboxes, name, patch, signal);
  }
}
