import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { addressText, type EngineAddress } from './engine-address.ts';
import { EngineError, engineError, isStatus } from './engine-error.ts';

/** Longest wait for an answer, in milliseconds. Starting a container is the longest of what is waited for. */
const ANSWER_MS = 60_000;

export interface EngineOptions {
  readonly address: EngineAddress;
  /** Folder of `ca.pem`, `cert.pem` and `key.pem`, where the engine is reached by TLS. */
  readonly certificates?: string | undefined;
}

/** A container engine, by the API of Docker. Every failure is an EngineError; an aborted signal rejects with its own reason. */
export class Engine {
  readonly docker: Docker;
  /** Whether it can show folders of this machine to its containers. */
  readonly isLocal: boolean;
  readonly where: string;
  readonly #agent: HttpAgent;

  /** @throws Error where a certificate cannot be read */
  constructor({ address, certificates }: EngineOptions) {
    this.isLocal = address.kind === 'socket';
    this.where = addressText(address);
    const isSecure = address.kind === 'tcp' && address.isSecure;
    const tls = isSecure && certificates !== undefined ? readTls(certificates) : {};
    this.#agent = isSecure ? new HttpsAgent({ keepAlive: true, ...tls }) : new HttpAgent({ keepAlive: true });
    const place =
      address.kind === 'socket'
        ? // Or the environment's own would go before it.
          { socketPath: address.path, host: undefined, protocol: 'http' as const }
        : {
            host: address.host,
            port: address.port,
            protocol: isSecure ? ('https' as const) : ('http' as const),
          };
    const options = { ...place, ...tls, agent: this.#agent };
    this.docker = new Docker(options);
  }

  /** Makes a call that ends with its signal: the caller's, or the longest wait. `what` is for messages. */
  async call<T>(
    what: string,
    work: (docker: Docker, signal: AbortSignal) => Promise<T>,
    signal?: AbortSignal,
    withinMs = ANSWER_MS,
  ): Promise<T> {
    signal?.throwIfAborted();
    const limit = AbortSignal.timeout(withinMs);
    const either = signal === undefined ? limit : AbortSignal.any([signal, limit]);
    // The library does not pass the signal on everywhere.
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(either.reason as Error);
    either.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([work(this.docker, either), aborted.promise]);
    } catch (error) {
      signal?.throwIfAborted();
      if (limit.aborted) {
        throw new EngineError(`${what}: no answer within ${withinMs / 1_000} s`, undefined, { cause: error });
      }
      throw engineError(what, this.where, error);
    } finally {
      either.removeEventListener('abort', abort);
    }
  }

  /** As `call`; undefined where there is no such thing. */
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
