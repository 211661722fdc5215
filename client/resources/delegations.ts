import type { DelegatedCredential, Delegation as DelegationInfo } from '../api.ts';
import type { HttpClient } from '../http/http-client.ts';
import { type RunConfig, runConfig } from '../server/sandbox-config.ts';
import type { CallOptions } from './files.ts';
import type { Sandbox } from './sandbox.ts';

export type { DelegatedCredential, Delegation as DelegationInfo } from '../api.ts';

/** Delegable rights: reading files, writing files, running commands. */
export type Scope = DelegationInfo['scopes'][number];

export interface DelegateOptions extends CallOptions {
  readonly scopes: readonly Scope[];
  /** The only programs that may run, by exact name. */
  readonly commands?: readonly string[] | undefined;
  /** The only folders that may be read and written. Cannot be combined with `exec`. */
  readonly paths?: readonly string[] | undefined;
  /** Lifetime in seconds, also of each renewal; at most 86,400. @default 3,600 */
  readonly ttlSeconds?: number | undefined;
  /** @default true */
  readonly renewable?: boolean | undefined;
  /** Name of the delegate, for people. */
  readonly label?: string | undefined;
}

type DelegatedSandbox = Pick<Sandbox, 'id' | 'dataplaneUrl' | 'delegations'>;

/** A delegation of part of a sandbox. */
export class Delegation {
  readonly id: string;
  /** Private, so that logging the object does not expose it. */
  #token: string;
  #expiresAt: Date;
  readonly #sandbox: DelegatedSandbox;

  constructor(
    sandbox: DelegatedSandbox,
    { delegation_id: id, token, expires_at: expiresAt }: DelegatedCredential,
  ) {
    this.id = id;
    this.#token = token;
    this.#expiresAt = new Date(expiresAt);
    this.#sandbox = sandbox;
  }

  /** Opaque. Anyone who has it can use the delegation. */
  get token(): string {
    return this.#token;
  }

  get expiresAt(): Date {
    return this.#expiresAt;
  }

  /** The part of a run's configuration for the server that gets it. */
  sandboxConfig(): RunConfig {
    const { id, dataplaneUrl } = this.#sandbox;
    return runConfig({ sandbox_id: id, credential: this.#token, dataplane_url: dataplaneUrl });
  }

  /** Restarts its lifetime. The token that was handed over remains valid. */
  async renew(options?: CallOptions): Promise<void> {
    const { token, expires_at: expiresAt } = await this.#sandbox.delegations.renew(this.id, options);
    this.#token = token;
    this.#expiresAt = new Date(expiresAt);
  }

  /** Ends it at once, everywhere. */
  revoke(options?: CallOptions): Promise<void> {
    return this.#sandbox.delegations.revoke(this.id, options);
  }

  /** Without the token: a logged delegation must not grant access. */
  toJSON(): object {
    return { delegation_id: this.id, expires_at: this.#expiresAt.toISOString() };
  }
}

/** The delegations of a sandbox. */
export class Delegations {
  readonly #http: HttpClient;
  readonly #path: string;
  readonly #sandbox: DelegatedSandbox;

  constructor(http: HttpClient, sandboxPath: string, sandbox: DelegatedSandbox) {
    this.#http = http;
    this.#path = sandboxPath;
    this.#sandbox = sandbox;
  }

  async create(options: DelegateOptions): Promise<Delegation> {
    const { scopes, commands, paths, ttlSeconds, renewable, label, signal } = options;
    const info = await this.#http.json<DelegatedCredential>(`POST ${this.#path}/delegate`, {
      json: { scopes, commands, paths, ttl_seconds: ttlSeconds, renewable, label },
      signal,
    });
    return new Delegation(this.#sandbox, info);
  }

  list(options?: CallOptions): Promise<readonly DelegationInfo[]> {
    return this.#http.list('delegations', `GET ${this.#path}/delegations`, options);
  }

  renew(id: string, { signal }: CallOptions = {}): Promise<DelegatedCredential> {
    return this.#http.json<DelegatedCredential>(
      `POST ${this.#path}/delegations/${encodeURIComponent(id)}/renew`,
      { isIdempotent: true, signal },
    );
  }

  revoke(id: string, options?: CallOptions): Promise<void> {
    return this.#http.done(`DELETE ${this.#path}/delegations/${encodeURIComponent(id)}`, options);
  }
}
