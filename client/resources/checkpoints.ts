import type {
  Checkpoint,
  CheckpointChanges,
  CheckpointList,
  ForkedSandboxes,
  RestoredCheckpoint,
} from '../api.ts';
import type { HttpClient } from '../http/http-client.ts';
import type { CallOptions } from './files.ts';

export type {
  Checkpoint,
  CheckpointChanges,
  CheckpointList,
  ForkedSandboxes,
  RestoredCheckpoint,
} from '../api.ts';

export interface ForkOptions extends CallOptions {
  /** How many sandboxes; at most 20. @default 1 */
  readonly count?: number | undefined;
  /** Names of variables and secrets that the forks get, too. @default none */
  readonly variables?: readonly string[] | undefined;
}

/** What a sandbox can go back to. */
export class Checkpoints {
  readonly #http: HttpClient;
  readonly #path: string;

  constructor(http: HttpClient, sandboxPath: string) {
    this.#http = http;
    this.#path = `${sandboxPath}/checkpoints`;
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
  fork(id: string, { count = 1, variables = [], signal }: ForkOptions = {}): Promise<ForkedSandboxes> {
    return this.#http.json<ForkedSandboxes>(`POST ${this.#of(id)}/fork`, {
      json: { count, variables },
      timeoutMs: 0,
      signal,
    });
  }

  #of(id: string): string {
    return `${this.#path}/${encodeURIComponent(id)}`;
  }
}
