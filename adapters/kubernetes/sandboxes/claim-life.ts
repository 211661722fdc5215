import { sandboxNotFound, sandboxNotRunning } from '#adapters/sandboxes/sandbox-errors.ts';
import { sandboxObjectName } from '#constructs/names.ts';
import { type Collection, collection, PODS } from '../client/kubernetes-object.ts';
import {
  awaitSettled,
  find,
  findOurs,
  type Watching,
  makeObject,
  awaitGone,
  limited,
  annotated,
  sandboxIdOf,
} from './cluster-objects.ts';
import { awaitPod, withNode } from './await-pod.ts';
import type { Pod, RunningPod } from './pod-state.ts';
import { notOurs, unbound } from './cluster-errors.ts';
import {
  type Claim,
  type ClaimedSandbox,
  podNameOf,
  SANDBOX_CLAIMS,
  SANDBOXES,
  type ClaimState,
  claimState,
  type SandboxReadiness,
  sandboxReadiness,
} from './claim-state.ts';

interface ClaimLifeOptions extends Watching {
  readonly namespace: string;
  readonly settleWithinMs: number;
  readonly nodeWithinMs: number;
  readonly makeRoom: (() => Promise<void>) | undefined;
}

/**
 * Claims, suspends and releases a sandbox. Every step is idempotent: any process can repeat it
 * after a crash.
 */
export class ClaimLife {
  readonly #options: ClaimLifeOptions;
  readonly #claims: Collection;
  readonly #sandboxes: Collection;
  readonly #pods: Collection;

  constructor(options: ClaimLifeOptions) {
    this.#options = options;
    this.#claims = collection(SANDBOX_CLAIMS, options.namespace);
    this.#sandboxes = collection(SANDBOXES, options.namespace);
    this.#pods = collection(PODS, options.namespace);
  }

  /** The state of the claim; `absent` for a claim that is not ours. */
  async look(id: string, signal: AbortSignal | undefined): Promise<ClaimState> {
    return claimState(await this.#claim(id, signal));
  }

  sandbox(name: string, signal: AbortSignal | undefined): Promise<ClaimedSandbox | undefined> {
    return find<ClaimedSandbox>(this.#options.client, this.#sandboxes, name, signal);
  }

  pod(name: string, signal: AbortSignal | undefined): Promise<Pod | undefined> {
    return find<Pod>(this.#options.client, this.#pods, name, signal);
  }

  /** Creates the claim if it does not exist. Waits for the removal of a terminating one first. */
  async claim(
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
    const { client } = this.#options;
    while ((await makeObject(client, this.#claims, annotated(manifest, id), signal)) === undefined) {
      const found = await find<Claim>(client, this.#claims, sandboxObjectName(id), signal);
      if (found !== undefined && sandboxIdOf(found.metadata) !== id) throw notOurs(id, this.#claims, found);
      const { state } = claimState(found);
      if (state === 'ending') await this.release(id, signal);
      else if (state !== 'absent') return;
    }
  }

  /**
   * Waits until commands can run in the claim's pod; resumes a suspended Sandbox.
   * @throws PortholeError `no_bound_sandbox` with the claim's reason once it can never be bound,
   * `sandbox_not_running` with the reason, `capacity_exceeded`
   */
  run(id: string, signal: AbortSignal | undefined): Promise<RunningPod> {
    return withNode(
      id,
      limited(signal, this.#options.settleWithinMs),
      async (until) => {
        const name = (await this.#claim(id, until))?.status?.sandbox?.name;
        const sandbox = name ? await this.sandbox(name, until) : undefined;
        return sandbox && this.pod(podNameOf(sandbox), until);
      },
      (until) => this.#run(id, until),
      this.#options.nodeWithinMs,
      this.#options.makeRoom,
    );
  }

  async #run(id: string, until: AbortSignal): Promise<RunningPod> {
    const reason = 'it is not there yet';
    const claimed = { from: this.#claims, name: sandboxObjectName(id), reason };
    const name = await awaitSettled<Claim, string>(this.#options, id, claimed, until, (claim) => {
      const now = claimState(claim);
      if (now.state === 'absent' || now.state === 'ending') throw sandboxNotFound(id);
      if (now.state === 'failed') throw unbound(id, now.reason);
      return now.state === 'creating' ? now : { settled: now.sandbox };
    });
    await this.#setMode(id, name, 'Running', until);
    const ready = { from: this.#sandboxes, name, reason };
    const podName = await awaitSettled<ClaimedSandbox, string>(this.#options, id, ready, until, (sandbox) => {
      const now: SandboxReadiness = sandboxReadiness(sandbox);
      if (now.state === 'failed') throw unbound(id, now.reason);
      return now.state === 'ready' ? { settled: now.podName } : now;
    });
    // The controller's status may be older than the pod.
    return awaitPod(this.#options, this.#pods, podName, id, until, () => undefined);
  }

  /**
   * Suspends the Sandbox; resolves once its pod is gone. @throws PortholeError `sandbox_not_found`,
   * `sandbox_not_running`
   */
  async suspend(id: string, signal: AbortSignal | undefined): Promise<void> {
    const claim = await this.look(id, signal);
    if (claim.state === 'absent' || claim.state === 'ending') throw sandboxNotFound(id);
    if (claim.sandbox === undefined) throw sandboxNotRunning(id, claim.reason);
    const sandbox = await this.sandbox(claim.sandbox, signal);
    // An expired claim no longer has a Sandbox.
    if (sandbox === undefined) return;
    const pod = await this.pod(podNameOf(sandbox), signal);
    await this.#setMode(id, claim.sandbox, 'Suspended', signal);
    if (pod !== undefined) await this.#gone(id, this.#pods, pod.metadata, signal);
  }

  /** Deletes the claim with its Sandbox, pod and volume; resolves once they are gone. */
  async release(id: string, signal: AbortSignal | undefined): Promise<void> {
    const claim = await this.#claim(id, signal);
    if (claim === undefined) return;
    const { name, uid } = claim.metadata;
    const sandboxName = claim.status?.sandbox?.name;
    const sandbox = sandboxName ? await this.sandbox(sandboxName, signal) : undefined;
    const pod = sandbox && (await this.pod(podNameOf(sandbox), signal));
    await this.#options.client.delete(this.#claims, name, { uid, propagation: 'Foreground' }, signal);
    await this.#gone(id, this.#claims, claim.metadata, signal);
    if (sandbox !== undefined) await this.#gone(id, this.#sandboxes, sandbox.metadata, signal);
    if (pod !== undefined) await this.#gone(id, this.#pods, pod.metadata, signal);
  }

  #claim(id: string, signal: AbortSignal | undefined): Promise<Claim | undefined> {
    return findOurs<Claim>(this.#options.client, this.#claims, id, signal);
  }

  async #setMode(
    id: string,
    name: string,
    operatingMode: 'Running' | 'Suspended',
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const sandbox = await this.sandbox(name, signal);
    if (sandbox === undefined) throw sandboxNotRunning(id, 'its Sandbox has gone');
    if ((sandbox.spec?.operatingMode ?? 'Running') === operatingMode) return;
    const patch = [
      { op: 'test', path: '/metadata/uid', value: sandbox.metadata.uid },
      { op: 'add', path: '/spec/operatingMode', value: operatingMode },
    ] as const;
    await this.#options.client.jsonPatch(this.#sandboxes, name, patch, signal);
  }

  #gone(
    id: string,
    from: Collection,
    object: { readonly name: string; readonly uid: string },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    return awaitGone(this.#options, id, from, object, limited(signal, this.#options.settleWithinMs));
  }
}
