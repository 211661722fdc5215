import type { HttpClient } from '../http/http-client.ts';
import { type RunConfig, runConfig } from '../server/sandbox-config.ts';
import type { CallOptions } from './files.ts';

/** What can be delegated: reading files, writing files, running commands. */
export type Scope = 'fs:read' | 'fs:write' | 'exec';

export interface DelegateOptions extends CallOptions {
  readonly scopes: readonly Scope[];
  /** The only programs that may be run, by exact name. */
  readonly commands?: readonly string[] | undefined;
  /** The only folders that may be read and written. Not together with `exec`. */
  readonly paths?: readonly string[] | undefined;
  /** How long, and how much longer from each renewal; at most 86,400. @default 3,600 */
  readonly ttlSeconds?: number | undefined;
  /** @default true */
  readonly renewable?: boolean | undefined;
  /** Whom it is for. */
  readonly label?: string | undefined;
}

/** A delegation as the API lists it: without its token. */
export interface DelegationInfo {
  readonly delegation_id: string;
  readonly scopes: readonly Scope[];
  readonly commands: readonly string[] | null;
  readonly paths: readonly string[] | null;
  readonly label: string | null;
  readonly renewable: boolean;
  /** RFC 3339. */
  readonly created_at: string;
  readonly expires_at: string;
}

/** What lending and renewing answer. */
export interface DelegatedCredential {
  readonly token: string;
  readonly delegation_id: string;
  /** RFC 3339. */
  readonly expires_at: string;
}

/** A delegation of part of a sandbox. */
export class Delegation {
  readonly id: string;
  /** Private, so that nothing that is logged whole shows it. */
  #token: string;
  #expiresAt: Date;
  readonly #delegations: Delegations;
  readonly #dataplaneUrl: string;
  readonly #sandboxId: string;

  constructor(
    delegations: Delegations,
    { sandboxId, dataplaneUrl }: { readonly sandboxId: string; readonly dataplaneUrl: string },
    { delegation_id: id, token, expires_at: expiresAt }: DelegatedCredential,
  ) {
    this.id = id;
    this.#token = token;
    this.#expiresAt = new Date(expiresAt);
    this.#delegations = delegations;
    this.#sandboxId = sandboxId;
    this.#dataplaneUrl = dataplaneUrl;
  }

  /** Opaque. Anyone who has it can use the delegation. */
  get token(): string {
    return this.#token;
  }

  get expiresAt(): Date {
    return this.#expiresAt;
  }

  /** What a run's configuration says to the server that gets it. */
  sandboxConfig(): RunConfig {
    return runConfig({
      sandbox_id: this.#sandboxId,
      credential: this.#token,
      dataplane_url: this.#dataplaneUrl,
    });
  }

  /** Makes it last for its time again. The token that was handed over goes on. */
  async renew(options?: CallOptions): Promise<void> {
    const { token, expires_at: expiresAt } = await this.#delegations.renew(this.id, options);
    this.#token = token;
    this.#expiresAt = new Date(expiresAt);
  }

  /** Ends it at once, everywhere. */
  revoke(options?: CallOptions): Promise<void> {
    return this.#delegations.revoke(this.id, options);
  }

  /** Without the token: what is logged by accident must not lend anything. */
  toJSON(): object {
    return { delegation_id: this.id, expires_at: this.#expiresAt.toISOString() };
  }
}

/** The delegations of a sandbox. */
export class Delegations {
  readonly #http: HttpClient;
  readonly #path: string;
  readonly #sandbox: { readonly sandboxId: string; readonly dataplaneUrl: string };

  constructor(
    http: HttpClient,
    sandboxPath: string,
    sandbox: { readonly sandboxId: string; readonly dataplaneUrl: string },
  ) {
    this.#http = http;
    this.#path = sandboxPath;
    this.#sandbox = sandbox;
  }

  async create(options: DelegateOptions): Promise<Delegation> {
    const { scopes, commands, paths, ttlSeconds, renewable, label, signal } = options;
    const info = await this.#http.json<DelegatedCredential>({
      method: 'POST',
      path: `${this.#path}/delegate`,
      json: { scopes, commands, paths, ttl_seconds: ttlSeconds, renewable, label },
      signal,
    });
    return new Delegation(this, this.#sandbox, info);
  }

  async list({ signal }: CallOptions = {}): Promise<readonly DelegationInfo[]> {
    const { delegations } = await this.#http.json<{ readonly delegations: readonly DelegationInfo[] }>({
      path: `${this.#path}/delegations`,
      signal,
    });
    return delegations;
  }

  renew(id: string, { signal }: CallOptions = {}): Promise<DelegatedCredential> {
    return this.#http.json<DelegatedCredential>({
      method: 'POST',
      path: `${this.#path}/delegations/${encodeURIComponent(id)}/renew`,
      isIdempotent: true,
      signal,
    });
  }

  revoke(id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#http.done({
      method: 'DELETE',
      path: `${this.#path}/delegations/${encodeURIComponent(id)}`,
      signal,
    });
  }
}
