import type {
  Checkpoint,
  CheckpointChanges,
  CheckpointList,
  ForkedSandboxes,
  PageComparison,
  RestoredCheckpoint,
  SandboxComparison,
} from '../api.ts';
import type { HttpClient } from '../http/http-client.ts';
import type { CallOptions } from './files.ts';

export type {
  Checkpoint,
  CheckpointChanges,
  CheckpointList,
  ForkedSandboxes,
  PageComparison,
  RestoredCheckpoint,
  SandboxComparison,
} from '../api.ts';

export interface ForkOptions extends CallOptions {
  /** How many sandboxes; at most 20. @default 1 */
  readonly count?: number | undefined;
  /** Whether each gets a run with the previews of the original, at new URLs. @default false */
  readonly previews?: boolean | undefined;
  /** Names of variables and secrets that the forks get, too. @default none */
  readonly variables?: readonly string[] | undefined;
}

export interface CompareOptions extends CallOptions {
  /** Files of which the texts are returned; at most 20. @default none */
  readonly texts?: readonly string[] | undefined;
}

/** What a sandbox can go back to. */
export class Checkpoints {
  readonly #http: HttpClient;
  readonly #path: string;
  readonly #sandboxPath: string;

  constructor(http: HttpClient, sandboxPath: string) {
    this.#http = http;
    this.#path = `${sandboxPath}/checkpoints`;
    this.#sandboxPath = sandboxPath;
  }

  /** Stores its files and declared servers. A stopped sandbox is resumed. */
  create({ label, signal }: CallOptions & { readonly label?: string | undefined } = {}): Promise<Checkpoint> {
    return this.#http.json<Checkpoint>(`POST ${this.#path}`, { json: { label }, timeoutMs: 0, signal });
  }

  /** Oldest first, and the one that the sandbox is at. */
  list({ signal }: CallOptions = {}): Promise<CheckpointList> {
    return this.#http.json<CheckpointList>(`GET ${this.#path}`, { signal });
  }

  /** @throws PortholeError `checkpoint_not_found` */
  get(id: string, { signal }: CallOptions = {}): Promise<Checkpoint> {
    return this.#http.json<Checkpoint>(`GET ${this.#of(id)}`, { signal });
  }

  delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#http.done(`DELETE ${this.#of(id)}`, { signal });
  }

  /**
   * Files that differ from another checkpoint. @param since default: its parent
   * @throws PortholeError `checkpoint_not_found`
   */
  changes(
    id: string,
    { since, signal }: CallOptions & { readonly since?: string | undefined } = {},
  ): Promise<CheckpointChanges> {
    return this.#http.json<CheckpointChanges>(`GET ${this.#of(id)}/changes`, { query: { since }, signal });
  }

  /** Makes the files and servers those of the checkpoint, after a checkpoint of the present. */
  restore(id: string, { signal }: CallOptions = {}): Promise<RestoredCheckpoint> {
    return this.#http.json<RestoredCheckpoint>(`POST ${this.#of(id)}/restore`, {
      json: {},
      timeoutMs: 0,
      signal,
    });
  }

  /** New sandboxes with its files and servers, and why some could not be made. */
  fork(
    id: string,
    { count = 1, previews = false, variables = [], signal }: ForkOptions = {},
  ): Promise<ForkedSandboxes> {
    return this.#http.json<ForkedSandboxes>(`POST ${this.#of(id)}/fork`, {
      json: { count, previews, variables },
      timeoutMs: 0,
      signal,
    });
  }

  /**
   * Makes the files and servers those of a fork, after a checkpoint of the present. Previews keep
   * their URLs. @param fork its id
   * @throws PortholeError `invalid_request` for a sandbox that is not a fork of this one
   */
  keep(
    fork: string,
    { delete: ends = false, signal }: CallOptions & { readonly delete?: boolean | undefined } = {},
  ): Promise<RestoredCheckpoint> {
    return this.#http.json<RestoredCheckpoint>(`POST ${this.#sandboxPath}/keep`, {
      json: { fork, delete: ends },
      timeoutMs: 0,
      signal,
    });
  }

  /** What differs from this sandbox to a fork of it, or between two forks, at present. */
  compare(other: string, { texts = [], signal }: CompareOptions = {}): Promise<SandboxComparison> {
    return this.#http.json<SandboxComparison>(`POST ${this.#sandboxPath}/compare`, {
      json: { with: other, texts },
      timeoutMs: 0,
      signal,
    });
  }

  /** What differs on the same page of both, each with a live preview of the port. */
  comparePage(
    other: string,
    { port, path, signal }: CallOptions & { readonly port: number; readonly path?: string | undefined },
  ): Promise<PageComparison> {
    return this.#http.json<PageComparison>(`POST ${this.#sandboxPath}/compare/page`, {
      json: { with: other, port, path },
      timeoutMs: 0,
      signal,
    });
  }

  #of(id: string): string {
    return `${this.#path}/${encodeURIComponent(id)}`;
  }
}
