import { readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { join } from 'node:path';
import { inspect } from 'node:util';
import Docker from 'dockerode';
import { transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import { PortholeError } from '#base/errors.ts';
import { anySignal, unlessAborted } from '#base/concurrency.ts';
import { addressText, type EngineAddress } from './engine-address.ts';
import type { SandboxVolumes } from './sandbox-volume.ts';

/** A call that an engine refused, or that did not reach it. */
export class EngineError extends Error {
  /** HTTP status of the refusal; undefined if no answer came. */
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'EngineError';
    this.status = status;
  }
}

/** Characters of an engine's message that are passed on. */
const MAX_MESSAGE_CHARS = 500;

/** The error type of dockerode. */
interface Thrown {
  readonly statusCode?: unknown;
  readonly json?: { readonly message?: unknown } | null;
  readonly code?: unknown;
  readonly message?: unknown;
}

/** The failure, in the engine's own words if it answered. */
function engineError(what: string, where: string, error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  const { statusCode, json, code, message } = error as Thrown;
  if (typeof statusCode === 'number') {
    // The library puts its own text before the engine's if it could not parse it as JSON.
    const said =
      typeof json?.message === 'string'
        ? json.message
        : String(message).replace(/^\(HTTP code \d+\) [^-]*- /, '');
    return new EngineError(`${what}: ${said.trim().slice(0, MAX_MESSAGE_CHARS)}`, statusCode, {
      cause: error,
    });
  }
  const why = typeof code === 'string' ? code : String(message).slice(0, MAX_MESSAGE_CHARS);
  return new EngineError(`${what}: no answer from the container engine at ${where} (${why})`, undefined, {
    cause: error,
  });
}

/** Converts an engine's error for callers of a provider. */
export function portError(id: string, error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  if (error.status === undefined) {
    return new PortholeError(
      'exec_transport_error',
      `Sandbox ${id}: ${error.message}. Is it running, and is DOCKER_HOST right?`,
      { cause: error },
    );
  }
  return transportError(id, error.message, error);
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof EngineError && error.status === status;
}

/** Longest wait for an answer, in milliseconds. Starting a container takes longest. */
const ANSWER_MS = 60_000;

export interface EngineOptions {
  readonly address: EngineAddress;
  /** Folder of `ca.pem`, `cert.pem` and `key.pem`, for an engine reached by TLS. */
  readonly certificates?: string | undefined;
}

/**
 * A container engine, through the Docker API. Every failure is an EngineError; an aborted signal
 * rejects with its own reason.
 */
export class Engine {
  readonly docker: Docker;
  /** Whether it can mount folders of this machine into its containers. */
  readonly isLocal: boolean;
  readonly where: string;
  readonly #agent: HttpAgent;

  /** @throws Error if a certificate cannot be read */
  constructor({ address, certificates }: EngineOptions) {
    this.isLocal = address.kind === 'socket';
    this.where = addressText(address);
    const isSecure = address.kind === 'tcp' && address.isSecure;
    const tls = isSecure && certificates !== undefined ? readTls(certificates) : {};
    this.#agent = isSecure ? new HttpsAgent({ keepAlive: true, ...tls }) : new HttpAgent({ keepAlive: true });
    // docker-modem formats each request for its debug output, even without it: with the agent and
    // all its sockets, milliseconds a call.
    Object.assign(this.#agent, { [inspect.custom]: () => 'agent of the engine' });
    const protocol: 'http' | 'https' = isSecure ? 'https' : 'http';
    const place =
      address.kind === 'socket'
        ? // Explicit `host`: dockerode would prefer DOCKER_HOST.
          { socketPath: address.path, host: undefined }
        : { host: address.host, port: address.port };
    const options = { ...place, ...tls, protocol, agent: this.#agent };
    this.docker = new Docker(options);
  }

  /**
   * Makes a call that ends with the caller's signal or after the longest wait. `what` is for
   * messages.
   */
  async call<T>(
    what: string,
    work: (docker: Docker, signal: AbortSignal) => Promise<T>,
    signal?: AbortSignal,
    withinMs = ANSWER_MS,
  ): Promise<T> {
    signal?.throwIfAborted();
    const limit = AbortSignal.timeout(withinMs);
    const either = anySignal(signal, limit);
    try {
      // The library does not pass the signal on everywhere.
      return await unlessAborted(work(this.docker, either), either);
    } catch (error) {
      signal?.throwIfAborted();
      if (limit.aborted) {
        throw new EngineError(`${what}: no answer within ${withinMs / 1_000} s`, undefined, { cause: error });
      }
      throw engineError(what, this.where, error);
    }
  }

  /** Like `call`; undefined if the object does not exist. */
  async find<T>(
    what: string,
    work: (docker: Docker, signal: AbortSignal) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await this.call(what, work, signal);
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

function readTls(folder: string): { ca: Buffer; cert: Buffer; key: Buffer } {
  const read = (name: string) => readFileSync(join(folder, name));
  return { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') };
}

interface EngineFacts {
  /** E.g. `Docker 27.3.1`. */
  readonly name: string;
  readonly cpus: number;
  /** Limits that its kernel does not support: `cpus`, `memory`, `pids`. */
  readonly unenforced: readonly string[];
  /** Whether it starts containers under its seccomp profile. */
  readonly filtersSystemCalls: boolean;
}

/** The fields of the engine's info that are read. Absent fields count as supported. */
interface Info {
  readonly ServerVersion?: string;
  readonly NCPU?: number;
  readonly MemoryLimit?: boolean;
  readonly PidsLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  readonly SecurityOptions?: readonly string[];
}

export async function engineFacts(engine: Engine, signal?: AbortSignal): Promise<EngineFacts> {
  const info = await engine.call<Info>(
    'ask the engine about itself',
    (docker) => docker.info() as Promise<Info>,
    signal,
  );
  const unenforced = [
    ...(info.CpuCfsQuota === false ? ['cpus'] : []),
    ...(info.MemoryLimit === false ? ['memory'] : []),
    ...(info.PidsLimit === false ? ['pids'] : []),
  ];
  return {
    name: `Docker ${info.ServerVersion ?? ''}`.trim(),
    cpus: info.NCPU ?? Infinity,
    unenforced,
    filtersSystemCalls:
      info.SecurityOptions?.some((option) => /^name=seccomp(?!.*profile=unconfined)/.test(option)) ?? true,
  };
}

export interface EngineProbe extends EngineFacts {
  /** Whether the size of /workspace is enforced. */
  readonly hasQuotas: boolean;
  /** Sentences for the operator. */
  readonly warnings: readonly string[];
}

/** Which limits of sandboxes an engine enforces. @throws EngineError if it is unreachable */
export async function probeEngine(facts: EngineFacts, volumes: SandboxVolumes): Promise<EngineProbe> {
  const hasQuotas = await volumes.probe();
  const warnings = facts.unenforced.map(
    (limit) =>
      `The container engine's kernel enforces no limit of ${limit}: one sandbox can starve the machine.`,
  );
  if (!hasQuotas) warnings.push(NO_QUOTAS);
  return { ...facts, hasQuotas, warnings };
}

const NO_QUOTAS =
  "The container engine's volumes know no quotas, so /workspace may grow until the disk is full (no single file beyond the limit): put the engine's data on XFS with project quotas.";
