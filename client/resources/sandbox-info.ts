import type { Sandbox, SandboxDetail, SecretRequest } from '../api.ts';

export type { NetworkAttempt, NetworkPolicy, NetworkRule } from '../api.ts';

/** A sandbox in the API's format. Only `refresh()` asks for its `stop_reason`. */
export type SandboxInfo = Sandbox & Partial<Pick<SandboxDetail, 'stop_reason'>>;

/** A value that never enters the sandbox: its variable has a placeholder there. */
export interface Secret extends Omit<SecretRequest, 'methods'> {
  readonly methods?: readonly string[] | undefined;
  readonly value: string;
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
  /** It ends after this time, whatever it does; `Sandbox.setTimeout` changes that. */
  readonly timeoutSeconds?: number | undefined;
  /** How it ends then. @default stop */
  readonly onTimeout?: 'stop' | 'delete' | undefined;
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

/** The body of the create call: the options as the API spells them. */
export function createBody(options: CreateSandboxOptions): object {
  const { onExit: _onExit, signal: _signal, resources, ...fields } = options;
  return snakeCased({ ...fields, resources: resources && snakeCased(resources) });
}

function snakeCased(fields: object): object {
  const spelled = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [spelled(name), value as unknown]));
}
