import { randomBytes } from 'node:crypto';
import type { ApiServer } from './api-server.ts';
import type { Registered } from './engine.ts';
import { apply, drift, groupVersion, isObject, keyOfInputs, outputsOf } from './kubernetes-provider.ts';
import { deletionOrder, planStep, type ResourceState, type Step } from './plan-step.ts';
import type { Registration } from './registration.ts';
import { type ProgramResult, runProgram, type StackFile } from './run-program.ts';
import { type Properties, seal } from './wire-values.ts';

export interface Change {
  readonly op: 'create' | 'update' | 'replace' | 'delete';
  readonly type: string;
  readonly name: string;
  /** What made it an update or a replacement. */
  readonly paths: readonly string[];
}

export interface UpdateResult extends ProgramResult {
  /** Objects of the cluster that were touched, or in a preview would be; in order. */
  readonly changes: readonly Change[];
}

export interface StackOptions {
  readonly project: string;
  readonly stack: string;
  readonly main: string;
  readonly cluster: ApiServer;
}

/** A stack that is updated without the command line: `pulumi preview`, `pulumi up` and `pulumi destroy`. */
export class Stack {
  readonly #options: StackOptions;
  readonly #state = new Map<string, ResourceState>();
  readonly #sealingKey = randomBytes(32).toString('hex');

  constructor(options: StackOptions) {
    this.#options = options;
  }

  /** The state as it would be stored; secrets are digests in it. */
  export(): string {
    return JSON.stringify([...this.#state.values()], null, 2);
  }

  async preview(stackFile: StackFile): Promise<UpdateResult> {
    return this.#run(stackFile, true);
  }

  async up(stackFile: StackFile): Promise<UpdateResult> {
    return this.#run(stackFile, false);
  }

  async destroy(): Promise<readonly Change[]> {
    const changes: Change[] = [];
    for (const resource of deletionOrder([...this.#state.values()])) {
      await this.#delete(resource, changes, false);
    }
    return changes;
  }

  async #run(stackFile: StackFile, dryRun: boolean): Promise<UpdateResult> {
    const { project, stack, main } = this.#options;
    const changes: Change[] = [];
    const providers = new Map<string, Properties>();
    const register = async (registration: Registration): Promise<Registered> => {
      if (registration.type.startsWith('pulumi:providers:')) {
        providers.set(`${registration.urn}::${registration.name}`, registration.inputs);
      }
      return this.#register(registration, providers.get(registration.provider) ?? {}, changes, dryRun);
    };
    const result = await runProgram({ project, stack, main, stackFile, dryRun, register });
    if (result.succeeded) {
      const kept = new Set(result.registrations.map(({ urn }) => urn));
      const stale = [...this.#state.values()].filter(({ urn }) => !kept.has(urn));
      for (const resource of deletionOrder(stale)) await this.#delete(resource, changes, dryRun);
    }
    return { ...result, changes };
  }

  async #register(
    registration: Registration,
    provider: Properties,
    changes: Change[],
    dryRun: boolean,
  ): Promise<Registered> {
    const { urn, type, name, custom } = registration;
    const inputs = seal(registration.inputs, this.#sealingKey) as Properties;
    if (!isObject(registration)) {
      const id = custom ? name : undefined;
      if (!dryRun) this.#keep(registration, id, inputs);
      return { id, outputs: registration.inputs };
    }
    const old = this.#state.get(urn);
    const step = await this.#step(registration, inputs, provider);
    if (step.op !== 'same') {
      changes.push({ op: step.op, type, name, paths: step.op === 'create' ? [] : step.paths });
    }
    if (dryRun) {
      const live = step.op === 'same' ? (await drift(this.#options.cluster, registration)).live : undefined;
      return {
        id: old?.id,
        outputs: live === undefined ? registration.inputs : outputsOf(registration, live),
      };
    }
    // The name is fixed, so the old one must go before the new one can come.
    if (step.op === 'replace' && old !== undefined) {
      await this.#options.cluster.remove(keyOfInputs(old.type, old.inputs));
    }
    const live =
      step.op === 'same'
        ? (await drift(this.#options.cluster, registration)).live
        : await apply(this.#options.cluster, registration);
    if (live === undefined) throw new Error(`${groupVersion(type).kind} ${name} is gone`);
    const { namespace, name: objectName } = live.metadata;
    const id = namespace === undefined ? objectName : `${namespace}/${objectName}`;
    this.#keep(registration, id, inputs);
    return { id, outputs: outputsOf(registration, live) };
  }

  /** By the inputs first; where these are as they were, by what the cluster reports. */
  async #step(registration: Registration, inputs: Properties, provider: Properties): Promise<Step> {
    const step = planStep(this.#state.get(registration.urn), registration, inputs, provider);
    if (step.op !== 'same') return step;
    const { paths } = await drift(this.#options.cluster, registration);
    return paths.length === 0 ? step : { op: 'update', paths };
  }

  #keep(registration: Registration, id: string | undefined, inputs: Properties): void {
    const { urn, type, name, custom, dependencies, parent, provider } = registration;
    const providerUrn = provider.split('::').slice(0, 4).join('::');
    const needs = [...dependencies, parent, providerUrn].filter((each) => each !== '');
    this.#state.set(urn, { urn, type, name, custom, id, inputs, needs });
  }

  async #delete(resource: ResourceState, changes: Change[], dryRun: boolean): Promise<void> {
    if (isObject(resource)) {
      changes.push({ op: 'delete', type: resource.type, name: resource.name, paths: [] });
      if (!dryRun) await this.#options.cluster.remove(keyOfInputs(resource.type, resource.inputs));
    }
    if (!dryRun) this.#state.delete(resource.urn);
  }
}
