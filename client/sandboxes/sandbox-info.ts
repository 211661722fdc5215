/** A sandbox in the API's format, including fields that this version does not know. */
export interface SandboxInfo {
  readonly id: string;
  readonly state: 'creating' | 'running' | 'stopped' | 'destroyed';
  readonly owner: string;
  readonly image: string | null;
  readonly name: string | null;
  readonly session_key: string | null;
  readonly tags: Readonly<Record<string, string>>;
  /** RFC 3339. */
  readonly created_at: string;
  readonly last_active_at: string;
  readonly stopped_at: string | null;
  readonly ttl_seconds: number | null;
  /** When it is stopped without another heartbeat; null without a ttl, and while stopped. */
  readonly expires_at: string | null;
  /**
   * Why its provider has stopped it, for instance as its files exceed its disk; null: it did not.
   * Only `refresh()` asks for it.
   */
  readonly stop_reason?: string | null;
  readonly [field: string]: unknown;
}

export interface Resources {
  readonly cpu?: number | undefined;
  readonly memoryMb?: number | undefined;
  readonly diskMb?: number | undefined;
}

/**
 * What happens at the end of use: `keep` leaves the sandbox to its time to live, `delete` deletes
 * it.
 */
export type OnExit = 'keep' | 'delete';

/** A value that never enters the sandbox: its variable has a placeholder there. */
export interface Secret {
  readonly name: string;
  /** The one host that gets the value, over TLS: `api.example.com` or `api.example.com:8443`. */
  readonly host: string;
  /** Where the placeholder is replaced: any header, the query, or Basic credentials. */
  readonly inject: 'header' | 'query' | 'basic';
  /** @default every method */
  readonly methods?: readonly string[] | undefined;
  readonly value: string;
}

/** What a sandbox may reach. A list that is given replaces the one before. */
export interface NetworkOptions {
  /** The network policy. `true` means `open`, `false` means `off`. @default the installation's */
  readonly network?: boolean | 'off' | 'packages' | 'allowlist' | 'open' | undefined;
  /** Allowed hosts, e.g. `api.example.com` or `*.example.com:8443`. */
  readonly allow?: readonly string[] | undefined;
  /** Denied hosts; takes precedence over `allow`. */
  readonly deny?: readonly string[] | undefined;
  /** Whether its owner is asked about any other host. @default true */
  readonly ask?: boolean | undefined;
  /** Values for hosts that the policy allows. */
  readonly secrets?: readonly Secret[] | undefined;
}

/** A host or a rule with ports, methods or paths. */
export type NetworkRule = string | { readonly host: string; readonly [field: string]: unknown };

/** The network policy of a sandbox in the API's format. */
export interface NetworkPolicy {
  readonly network: 'off' | 'packages' | 'allowlist' | 'open';
  readonly allow: readonly NetworkRule[];
  readonly deny: readonly NetworkRule[];
  readonly ask: boolean;
}

/** Equal attempts within a second are one. */
export interface NetworkAttempt {
  /** RFC 3339. */
  readonly at: string;
  readonly host: string;
  readonly port: number;
  /** `failed`: allowed, and the host does not answer. */
  readonly decision: 'allowed' | 'blocked' | 'failed';
  /** What decided, or why it failed. */
  readonly rule: string;
  readonly attempts: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly ms: number;
}

export interface CreateSandboxOptions extends NetworkOptions {
  readonly image?: string | undefined;
  /** Unique among your sandboxes. */
  readonly name?: string | undefined;
  /**
   * Key of the conversation it belongs to, e.g. `thread:42`: the same key returns the same sandbox.
   */
  readonly sessionKey?: string | undefined;
  /** For finding it. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /**
   * Stops the sandbox, which keeps its files, after this time without a heartbeat. While you hold
   * it, heartbeats are sent.
   */
  readonly ttlSeconds?: number | undefined;
  readonly resources?: Resources | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Whether batch deletion by tag includes it by default. */
  readonly deleteWithThread?: boolean | undefined;
  /** Names of skills, placed below /workspace/skills at creation. */
  readonly skills?: readonly string[] | undefined;
  /** What `close` and the end of `await using` do. @default keep */
  readonly onExit?: OnExit | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The body of the create call. */
export function createBody(options: CreateSandboxOptions): object {
  const {
    image,
    name,
    sessionKey,
    tags,
    ttlSeconds,
    resources,
    network,
    allow,
    deny,
    ask,
    secrets,
    env,
    deleteWithThread,
    skills,
  } = options;
  return {
    image,
    name,
    session_key: sessionKey,
    tags,
    ttl_seconds: ttlSeconds,
    resources:
      resources === undefined
        ? undefined
        : { cpu: resources.cpu, memory_mb: resources.memoryMb, disk_mb: resources.diskMb },
    network,
    allow,
    deny,
    ask,
    secrets,
    env,
    delete_with_thread: deleteWithThread,
    skills,
  };
}
