import { PortholeError } from '#base/errors.ts';
import type { NetworkAccess } from '../network/network.ts';
import { HTTPS_PORT, NO_SECRETS } from '../network/network-secrets.ts';
import { requestedSecrets } from '../network/requested-secrets.ts';
import { createSandbox, type CreateSandboxDeps, type NewSandbox } from '../sandboxes/create-sandbox.ts';
import type { SandboxSpec } from '../sandboxes/sandbox-provider.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { CheckpointRecord } from './checkpoint-store.ts';
import type { Performer } from './checkpoint-events.ts';
import { createWithMemory, fillFromCheckpoint, manifestOf } from './restore-checkpoint.ts';
import { memoryNotSupported } from './save-memory.ts';
import type { CheckpointDeps } from './take-checkpoint.ts';

export type ForkDeps = CheckpointDeps &
  CreateSandboxDeps & {
    readonly network: Pick<NetworkAccess, 'default' | 'isBrokered' | 'presets' | 'createAuthority'>;
  };

export interface ForkOptions {
  readonly count: number;
  /** Names of variables and of secrets that the forks get, too. */
  readonly variables: readonly string[];
  /** Whether the processes of a checkpoint with memory go on in the forks. @default true */
  readonly memory?: boolean;
  readonly by?: Performer;
  /** Fields of the forks that are not those of the original. */
  readonly fields?: Partial<Pick<NewSandbox, 'tags' | 'env' | 'network' | 'timeoutAt' | 'onTimeout'>>;
}

/** A fork, or why it could not be made. */
export type Fork =
  | {
      readonly sandbox: SandboxRecord;
      /** Whether processes of the original go on in it. */
      readonly memory: boolean;
      /** Why not, if the checkpoint has them. */
      readonly memoryError?: string | undefined;
    }
  | { readonly error: PortholeError };

/** Forks that are made at a time: each unpacks all files. */
const AT_ONCE = 4;

/**
 * Makes sandboxes with the files and the declared servers of a checkpoint. Each is a sandbox of
 * its own: it has the image, the sizes and the network rules of the original, and none of its
 * mounts, approvals and variables, but those that are named.
 * @throws PortholeError `checkpoint_damaged`, `invalid_request` for an unknown variable, or the
 * error of the first one if none could be made
 */
export async function forkCheckpoint(
  deps: ForkDeps,
  sandbox: SandboxRecord,
  checkpoint: CheckpointRecord,
  { count, variables, memory = true, by, fields }: ForkOptions,
  signal?: AbortSignal,
): Promise<readonly Fork[]> {
  const manifest = await manifestOf(deps, checkpoint);
  const named = await namedOf(deps, sandbox, variables);
  const from = { sandboxId: sandbox.id, by };
  const { memory: can } = deps.sandboxes;
  const wants = memory && checkpoint.memory !== null;
  const make = async (): Promise<Fork> => {
    let memoryError = wants && can === undefined ? memoryNotSupported().message : undefined;
    const continues = wants && can !== undefined;
    const create = async (spec: SandboxSpec) => {
      memoryError = await createWithMemory(deps, spec, checkpoint, manifest, signal);
    };
    try {
      return await createSandbox<Fork>(
        { ...deps, ...(continues && { create }) },
        {
          owner: sandbox.owner,
          image: sandbox.image ?? undefined,
          resources: sandbox.resources,
          network: sandbox.network,
          tags: { ...sandbox.tags, 'forked-from': sandbox.id },
          ttlSeconds: sandbox.ttlSeconds ?? undefined,
          ...named,
          ...fields,
        },
        async (fork) => {
          const isContinued = continues && memoryError === undefined;
          const has = isContinued ? 'memory' : continues ? 'files' : 'nothing';
          await fillFromCheckpoint(deps, fork, checkpoint, manifest, { ...from, has });
          return { sandbox: fork, memory: isContinued, memoryError };
        },
        signal,
      );
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof PortholeError) return { error };
      throw error;
    }
  };
  const forks: Fork[] = [];
  while (forks.length < count) {
    const left = Math.min(AT_ONCE, count - forks.length);
    forks.push(...(await Promise.all(Array.from({ length: left }, make))));
  }
  const [first] = forks;
  if (first !== undefined && 'error' in first && forks.every((fork) => 'error' in fork)) throw first.error;
  return forks;
}

/** The variables and the secrets of these names; secrets with placeholders of their own. */
async function namedOf(
  { network: access }: ForkDeps,
  { env, secrets, network }: SandboxRecord,
  names: readonly string[],
): Promise<Required<Pick<NewSandbox, 'env' | 'secrets'>>> {
  const inputs = secrets.list.filter(({ name }) => names.includes(name));
  const unknown = names.find(
    (name) => !(Object.hasOwn(env, name) || inputs.some((one) => one.name === name)),
  );
  if (unknown !== undefined) {
    throw new PortholeError(
      'invalid_request',
      `variables: the sandbox has no variable or secret ${unknown}`,
      {
        remedy: 'leave it out, or set it in the sandbox first.',
      },
    );
  }
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name)));
  const fresh = { network, secrets: NO_SECRETS, env: own };
  return {
    env: own,
    secrets: await requestedSecrets(
      access,
      fresh,
      inputs.length === 0
        ? undefined
        : inputs.map(({ host, port, ...secret }) => ({
            ...secret,
            host: port === HTTPS_PORT ? host : `${host}:${port}`,
          })),
    ),
  };
}
