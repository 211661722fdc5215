import { randomBytes } from 'node:crypto';
import type { ApiServer } from './api-server.ts';
import type { Registered } from './engine.ts';
import {
  clusterForm,
  create,
  groupVersion,
  isObject,
  keyOfInputs,
  newFieldManager,
  outputsOf,
  refreshed,
  update,
} from './kubernetes-provider.ts';
import { deletionOrder, planStep, type ResourceState } from './plan-step.ts';
import type { Registration } from './registration.ts';
import { type ProgramResult, runProgram, type StackFile } from './run-program.ts';
import { type Properties, seal } from './wire-values.ts';

export interface Change {
  readonly op: 'create' | 'update' | 'replace' | 'delete';
  readonly type: string;
  readonly name: string;
  /** The paths that made it an update or a replacement. */
  readonly paths: readonly string[];
}

export interface UpdateResult extends ProgramResult {
  /** Objects of the cluster that were changed, or in a preview would be; in order. */
  readonly changes: readonly Change[];
}

export interface StackOptions {
  readonly project: string;
  readonly stack: string;
  readonly main: string;
  readonly cluster: ApiServer;
}

export interface UpdateOptions {
  /** Like `--refresh`: the cluster's values replace those declared last. @default false */
  readonly refresh?: boolean;
}

interface Update {
  readonly state: Map<string, ResourceState>;
  readonly changes: Change[];
  readonly dryRun: boolean;
}

/**
 * A stack that is updated without the command line: `pulumi preview`, `pulumi up` and `pulumi
 * destroy`.
 */
export class Stack {
  readonly #options: StackOptions;
  readonly #state = new Map<string, ResourceState>();
  readonly #sealingKey = randomBytes(32).toString('hex');

  constructor(options: StackOptions) {
    this.#options = options;
  }

  /** The state as it would be stored, with secrets as digests. */
  export(): string {
    return JSON.stringify([...this.#state.values()], null, 2);
  }

  async preview(stackFile: StackFile, options: UpdateOptions = {}): Promise<UpdateResult> {
    return this.#run(stackFile, { refresh: false, ...options, dryRun: true });
  }

  async up(stackFile: StackFile, options: UpdateOptions = {}): Promise<UpdateResult> {
    return this.#run(stackFile, { refresh: false, ...options, dryRun: false });
  }

  async destroy(): Promise<readonly Change[]> {
    const update: Update = { state: this.#state, changes: [], dryRun: false };
    for (const resource of deletionOrder([...this.#state.values()])) await this.#delete(resource, update);
    return update.changes;
  }

  async #run(stackFile: StackFile, { dryRun, refresh }: Required<UpdateOptions> & { dryRun: boolean }) {
    const { project, stack, main } = this.#options;
    // A preview does not change the state.
    const update: Update = { state: dryRun ? new Map(this.#state) : this.#state, changes: [], dryRun };
    if (refresh) await this.#refresh(update.state);
    const providers = new Map<string, Properties>();
    const register = async (registration: Registration): Promise<Registered> => {
      if (registration.type.startsWith('pulumi:providers:')) {
        providers.set(`${registration.urn}::${registration.name}`, registration.inputs);
      }
      return this.#register(registration, providers.get(registration.provider) ?? {}, update);
    };
    const read = (type: string, id: string) => this.#read(type, id);
    const result = await runProgram({ project, stack, main, stackFile, dryRun, register, read });
    if (result.succeeded) {
      const kept = new Set(result.registrations.map(({ urn }) => urn));
      const stale = [...update.state.values()].filter(({ urn }) => !kept.has(urn));
      for (const resource of deletionOrder(stale)) await this.#delete(resource, update);
    }
    return { ...result, changes: update.changes };
  }

  async #refresh(state: Map<string, ResourceState>): Promise<void> {
    for (const each of [...state.values()].filter(isObject)) {
      const now = await refreshed(this.#options.cluster, each, (live) => this.#seal(live));
      if (now === undefined) state.delete(each.urn);
      else state.set(each.urn, now);
    }
  }

  async #register(registration: Registration, provider: Properties, run: Update): Promise<Registered> {
    const { urn, type, name, custom } = registration;
    const { state, changes, dryRun } = run;
    if (!isObject(registration)) {
      const id = custom ? name : undefined;
      state.set(urn, this.#stateOf(registration, { id }));
      return { id, outputs: registration.inputs };
    }
    const old = state.get(urn);
    const inputs = this.#seal(clusterForm(type, registration.inputs));
    const step = planStep(old, registration, inputs, provider);
    if (step.op !== 'same') {
      changes.push({ op: step.op, type, name, paths: step.op === 'create' ? [] : step.paths });
    }
    if (step.op === 'same' && old !== undefined) {
      state.set(urn, { ...this.#stateOf(registration, old), inputs });
      return { id: old.id, outputs: outputsOf(registration, old.live ?? {}) };
    }
    // The name is fixed, so the old object must be deleted before the new one is created.
    if (step.op === 'replace' && old !== undefined && !dryRun) {
      await this.#options.cluster.remove(keyOfInputs(old.type, old.inputs));
    }
    const fieldManager = old?.fieldManager ?? newFieldManager();
    const send = { api: this.#options.cluster, fieldManager, provider, dryRun };
    const live = step.op === 'update' ? await update(send, registration) : await create(send, registration);
    if (live === undefined) return { id: old?.id, outputs: registration.inputs };
    const { namespace, name: objectName } = live.metadata;
    const id = namespace === undefined ? objectName : `${namespace}/${objectName}`;
    const sealed = this.#seal(clusterForm(type, live));
    state.set(urn, { ...this.#stateOf(registration, { id, fieldManager, live: sealed }), inputs });
    return { id, outputs: outputsOf(registration, clusterForm(type, live)) };
  }

  /** @param id `namespace/name`, or the name of an object without a namespace */
  async #read(type: string, id: string): Promise<Properties> {
    const [name = '', namespace] = id.split('/').toReversed();
    const found = await this.#options.cluster.read({ ...groupVersion(type), name, namespace });
    if (found === undefined) throw new Error(`the ${type} ${id} does not exist`);
    return clusterForm(type, found);
  }

  #seal(value: Properties): Properties {
    return seal(value, this.#sealingKey) as Properties;
  }

  #stateOf(
    { urn, type, name, custom, inputs, dependencies, parent, provider }: Registration,
    { id, live, fieldManager }: Pick<ResourceState, 'id' | 'live' | 'fieldManager'>,
  ): ResourceState {
    const providerUrn = provider.split('::').slice(0, 4).join('::');
    const needs = [...dependencies, parent, providerUrn].filter((each) => each !== '');
    return { urn, type, name, custom, id, inputs: this.#seal(inputs), live, fieldManager, needs };
  }

  async #delete(resource: ResourceState, { state, changes, dryRun }: Update): Promise<void> {
    if (isObject(resource)) {
      changes.push({ op: 'delete', type: resource.type, name: resource.name, paths: [] });
      if (!dryRun) await this.#options.cluster.remove(keyOfInputs(resource.type, resource.inputs));
    }
    state.delete(resource.urn);
  }
}
