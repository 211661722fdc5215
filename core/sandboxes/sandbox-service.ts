import { type Duplex, finished } from 'node:stream';
import { PortholeError } from '#base/errors.ts';
import { type CatalogueDeps, findImage } from '../images/image-catalogue.ts';
import type { ProvisionAccess } from '../runs/agent-token.ts';
import { type SandboxChange, sandboxChanged } from '../runs/run-events.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import type { SandboxActivity } from './sandbox-activity.ts';
import type { SandboxEventPublisher } from './sandbox-event-publisher.ts';
import type {
  CpuTime,
  Enforcement,
  QuotaCount,
  ExecCommand,
  ExecProcess,
  GuestAnswer,
  GuestCall,
  GuestCalls,
  Sandboxes,
  SandboxObservation,
  SandboxProvider,
  SandboxSize,
  SandboxSpec,
} from './sandbox-provider.ts';
import { whyEnded } from './why-ended.ts';
import { traced } from '../telemetry/tracing.ts';

export interface SandboxServiceDeps {
  readonly provider: SandboxProvider;
  readonly guests: GuestCalls;
  readonly records: Pick<Records, 'runs' | 'timeline' | 'sandboxes' | 'skills' | 'images'>;
  readonly clock: Clock;
  readonly publisher: Pick<SandboxEventPublisher, 'publish'>;
  readonly activity: Pick<SandboxActivity, 'begin'>;
  readonly provisionAccess: ProvisionAccess;
  /** The configured images. */
  readonly images: CatalogueDeps['images'];
  /** Removes the buckets of a sandbox that ends. @default no buckets */
  readonly mounter?: { unmountAll(sandboxId: string): Promise<void> } | undefined;
  /**
   * Leads visitors of its previews to a sandbox that runs, and those of one that does not run to
   * the page that starts it. Never rejects. @default the gateway knows which sandboxes run
   */
  readonly attachPreviews?:
    | ((sandboxId: string, isRunning: boolean, signal?: AbortSignal) => Promise<void>)
    | undefined;
  /** Counts what ends with a stop or a deletion. Never rejects. @default usage is not counted */
  readonly countLastUsage?:
    | ((sandboxId: string, ending: { readonly processes: boolean; readonly files: boolean }) => Promise<void>)
    | undefined;
  /** Called when a sandbox's skills could not be refreshed: it keeps its old ones. */
  readonly skillsFailed: (sandboxId: string, error: unknown) => void;
}

/**
 * Why a sandbox is called.
 * - `use`: by a person, an agent or a visitor. It counts as use, and restarts a sandbox that died.
 * - `control`: by a controller, such as the lifecycle pass. It is no use, and restarts nothing.
 * - `archive`: like `control`; it also publishes nothing, and places nothing in the sandbox.
 */
export type Purpose = 'use' | 'control' | 'archive';

/**
 * The sandboxes of this installation, for handlers, use cases and controllers. It resolves images,
 * keeps skills, agent credentials and buckets in step with the life of a sandbox, publishes its
 * changes, records its use, and restarts it where it died.
 */
export class SandboxService implements Sandboxes {
  readonly #deps: SandboxServiceDeps & { readonly sandboxes: SandboxProvider };
  readonly #provider: SandboxProvider;
  readonly #guests: GuestCalls;
  readonly #purpose: Purpose;

  constructor(deps: SandboxServiceDeps, purpose: Purpose = 'use') {
    this.#deps = { ...deps, sandboxes: deps.provider };
    this.#provider = deps.provider;
    this.#guests = deps.guests;
    this.#purpose = purpose;
  }

  /** The same sandboxes, called for another purpose. */
  for(purpose: Purpose): SandboxService {
    return new SandboxService(this.#deps, purpose);
  }

  get name(): SandboxProvider['name'] {
    return this.#provider.name;
  }

  get defaultSize(): SandboxSize {
    return this.#provider.defaultSize;
  }

  get memory(): SandboxProvider['memory'] {
    return this.#provider.memory;
  }

  enforcement(network: boolean): Promise<Enforcement> {
    return this.#provider.enforcement(network);
  }

  async quota(signal: AbortSignal): Promise<readonly QuotaCount[]> {
    return (await this.#provider.quota?.(signal)) ?? [];
  }

  async enforcesPolicies(ids: readonly string[], signal: AbortSignal): Promise<boolean | undefined> {
    return this.#provider.enforcesPolicies?.(ids, signal);
  }

  async cpuTime(id: string): Promise<CpuTime | undefined> {
    return this.#provider.cpuTime?.(id);
  }

  runsImage(reference: string, signal?: AbortSignal): Promise<boolean> {
    return this.#provider.runsImage(reference, signal);
  }

  /**
   * `image` is a name of the catalogue; without it the provider uses its default. The creation is
   * published with its run.
   */
  async create(spec: SandboxSpec, signal?: AbortSignal): Promise<void> {
    const image = spec.image === undefined ? undefined : await findImage(this.#deps, spec.image);
    await this.#provider.create({ ...spec, image: image?.reference }, signal);
  }

  inspect(id: string, signal?: AbortSignal): Promise<SandboxObservation> {
    return this.#provider.inspect(id, signal);
  }

  /**
   * @param why what is published as the reason, also where its processes have ended already
   */
  stop(id: string, signal?: AbortSignal, why?: string): Promise<void> {
    return this.#stop(id, () => this.#provider.stop(id, signal), signal, why);
  }

  suspend(id: string): Promise<void> {
    const { memory } = this.#provider;
    return this.#stop(id, () => (memory === undefined ? this.#provider.stop(id) : memory.suspend(id)));
  }

  async #stop(id: string, end: () => Promise<void>, signal?: AbortSignal, why?: string): Promise<void> {
    const { state } = await this.#provider.inspect(id, signal);
    // Processes that wait for an S3 server would survive SIGKILL.
    await this.#deps.mounter?.unmountAll(id);
    if (state === 'running') await this.#deps.countLastUsage?.(id, { processes: true, files: false });
    await Promise.all([end(), this.#deps.attachPreviews?.(id, false, signal)]);
    const isChange = state === 'running' || state === 'creating' || why !== undefined;
    if (isChange) await this.#publish('stopped', id, why);
  }

  resume(id: string, signal?: AbortSignal): Promise<void> {
    return traced({ name: 'sandbox.resume', attributes: ofSandbox(id) }, () => this.#resume(id, signal));
  }

  async #resume(id: string, signal?: AbortSignal): Promise<void> {
    const { state } = await this.#provider.inspect(id, signal);
    // It ended by itself, and its buckets are still recorded as mounted.
    if (state !== 'running') await this.#deps.mounter?.unmountAll(id);
    await this.#provider.resume(id, signal);
    if (this.#purpose === 'archive') return;
    await Promise.all([this.#refreshSkills(id, signal), this.#deps.attachPreviews?.(id, true, signal)]);
    if (state !== 'running') await this.#publish('resumed', id, await this.#memoryLost(id));
    // The files with credentials are in memory, and were lost.
    await this.#deps.provisionAccess(id, signal);
  }

  async #memoryLost(id: string): Promise<string | undefined> {
    return this.#provider.memory && (await this.#provider.inspect(id)).memoryLost;
  }

  async destroy(id: string, signal?: AbortSignal): Promise<void> {
    await this.#deps.mounter?.unmountAll(id);
    await this.#deps.countLastUsage?.(id, { processes: true, files: true });
    await this.#provider.destroy(id, signal);
    // Also for an absent sandbox: a process may have removed it and died before it recorded that.
    await this.#record('sandbox.destroyed', id);
  }

  /**
   * A command that is lost with its sandbox rejects with what happened to the sandbox. The files of
   * the sandbox survive, its processes do not.
   */
  exec(id: string, command: ExecCommand, signal?: AbortSignal): Promise<ExecProcess> {
    return traced({ name: 'sandbox.exec', attributes: ofSandbox(id), until: ({ exited }) => exited }, () =>
      this.#exec(id, command, signal),
    );
  }

  async #exec(id: string, command: ExecCommand, signal?: AbortSignal): Promise<ExecProcess> {
    if (this.#purpose !== 'use') return this.#guests.exec(id, command, signal);
    const process = await this.#start(id, command, signal);
    const end = this.#deps.activity.begin(id);
    process.exited.then(end, end);
    return process;
  }

  /** Commands, files, terminals and the traffic of previews count as use while they last. */
  async callGuest(id: string, call: GuestCall, signal?: AbortSignal): Promise<GuestAnswer> {
    if (this.#purpose !== 'use') return this.#guests.callGuest(id, call, signal);
    const end = this.#deps.activity.begin(id);
    try {
      // Safe to retry: nothing of the body has been read.
      const answer = await this.#revived(id, () => this.#guests.callGuest(id, call, signal), signal);
      finished(answer, end);
      return answer;
    } catch (error) {
      end();
      throw error;
    }
  }

  async dial(id: string, port: number, signal?: AbortSignal): Promise<Duplex> {
    const stream = await this.#guests.dial(id, port, signal);
    if (this.#purpose === 'use') finished(stream, this.#deps.activity.begin(id));
    return stream;
  }

  list(signal?: AbortSignal): AsyncIterable<string> {
    return this.#provider.list(signal);
  }

  close(): Promise<void> {
    return this.#provider.close();
  }

  async #start(id: string, command: ExecCommand, signal?: AbortSignal): Promise<ExecProcess> {
    const explain = (error: unknown) => this.#explain(id, command, error);
    const start = () => this.#guests.exec(id, command, signal);
    const process = await this.#revived(id, start, signal).catch(explain);
    const exited = process.exited.catch(explain);
    // Callers may read only the output, which reports the loss: avoids an unhandled rejection,
    // which would end the host.
    exited.catch(() => {});
    return {
      stdin: process.stdin,
      stdout: process.stdout,
      stderr: process.stderr,
      exited,
      kill: (name) => process.kill(name),
      resize: (cols, rows) => process.resize(cols, rows),
    };
  }

  /**
   * Calls again after a resume if the sandbox died, killed from within or with its machine. The
   * desired state decides: a sandbox that was stopped stays stopped.
   */
  async #revived<T>(id: string, call: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    try {
      return await call();
    } catch (error) {
      const isDown = error instanceof PortholeError && error.code === 'sandbox_not_running';
      if (!isDown || (await this.#deps.records.sandboxes.get(id))?.desired !== 'running') throw error;
    }
    await this.resume(id, signal);
    return call();
  }

  async #explain(id: string, { tty }: ExecCommand, error: unknown): Promise<never> {
    const isLost = error instanceof PortholeError && error.code === 'exec_transport_error';
    const what = tty === undefined ? 'command' : 'terminal';
    const why = isLost ? await whyEnded(this.#deps, { id }, what) : undefined;
    throw why === undefined ? error : new PortholeError('exec_transport_error', why, { cause: error });
  }

  async #refreshSkills(id: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      const sandbox = await this.#deps.records.sandboxes.get(id);
      if (sandbox !== undefined && sandbox.skills.length > 0) {
        const { placeSkills } = await import('../skills/place-skills.ts');
        await placeSkills({ ...this.#deps, sandboxes: this.#guests }, sandbox, signal, { inUse: true });
      }
    } catch (error) {
      signal?.throwIfAborted();
      this.#deps.skillsFailed(id, error);
    }
  }

  /** To the followers of the sandbox and the timelines of its runs, whatever the cause. */
  async #publish(change: 'stopped' | 'resumed', id: string, why?: string): Promise<void> {
    if (this.#purpose === 'archive') return;
    this.#deps.publisher.publish(id, change, why === undefined ? {} : { reason: why });
    await this.#record(`sandbox.${change}`, id, why);
  }

  async #record(change: SandboxChange, id: string, why?: string): Promise<void> {
    if (this.#purpose === 'archive') return;
    const { records, clock } = this.#deps;
    for (const runId of await records.runs.inSandbox(id)) {
      await records.timeline.append(runId, [sandboxChanged(change, id, why)], clock.now());
    }
  }
}

function ofSandbox(id: string) {
  return { 'porthole.sandbox.id': id };
}
