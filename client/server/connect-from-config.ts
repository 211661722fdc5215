import { HttpClient } from '../http/http-client.ts';
import { PortholeError } from '../http/porthole-error.ts';
import { openPlatformSocket, type OpenSocket } from '../sandboxes/open-socket.ts';
import { Sandbox } from '../sandboxes/sandbox.ts';
import type { Scope } from '../sandboxes/delegations.ts';
import { readSandboxConfig } from './sandbox-config.ts';
import type { SandboxTool } from './sandbox-tool.ts';
import { sandboxTools } from './sandbox-tools.ts';
import { secretsOf } from './secret-guard.ts';

export interface ConnectOptions {
  /**
   * The only Porthole that this server calls, e.g. `https://porthole.example`: what a configuration
   * says besides is refused.
   */
  readonly allowedUrl: string;
  /** This server's own key. With it the sandbox is validated first; it goes nowhere else. */
  readonly serverKey?: string | undefined;
  /** Only sandboxes of this org are accepted: the server's org. Required with `serverKey`. */
  readonly org?: string | undefined;
  /**
   * What must never go into the sandbox, beside `serverKey`. @default the secrets of the process's
   * environment, by their names
   */
  readonly secrets?: readonly string[] | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly openSocket?: OpenSocket | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What Porthole says of a sandbox and a credential. */
export interface Validation {
  readonly sandbox_id: string;
  /** Whether the org has such a sandbox. */
  readonly exists: boolean;
  /** Whether the credential is valid for the sandbox. */
  readonly valid: boolean;
  /** Whether it may do everything, as the owner may. */
  readonly owner: boolean;
  readonly scopes: readonly Scope[];
  readonly commands: readonly string[] | null;
  readonly paths: readonly string[] | null;
  /** RFC 3339; null: it does not end by itself. */
  readonly expires_at: string | null;
}

/** A client's sandbox, in the hands of a server. */
export interface ConnectedSandbox {
  readonly sandbox: Sandbox;
  /**
   * `read_file`, `write_file`, `exec_command`: where Porthole was asked, those for which the
   * credential is good.
   */
  readonly tools: readonly SandboxTool[];
  /** What Porthole said, where it was asked. */
  readonly validation: Validation | undefined;
}

/**
 * The sandbox that a run's configuration names, and tools to work in it. The configuration is a
 * stranger's: its `dataplane_url` is not called unless it is that of `allowedUrl`, and with a
 * `serverKey` Porthole is asked whether the sandbox is there, and the org's.
 * @throws TypeError for a configuration that is none; PortholeError `dataplane_url_refused`,
 * `sandbox_refused`, and whatever the API refuses
 */
export async function connectFromConfig(config: unknown, options: ConnectOptions): Promise<ConnectedSandbox> {
  const { allowedUrl, serverKey, org, fetch, openSocket = openPlatformSocket, signal } = options;
  const { sandbox_id: id, credential, dataplane_url: url } = readSandboxConfig(config);
  const http = new HttpClient({ url: allowedUrl, apiKey: credential, fetch });
  const sandbox = new Sandbox({ http, platform: { openSocket }, id });
  if (new URL(url).href !== sandbox.dataplaneUrl) {
    throw new PortholeError(
      `The configuration's dataplane_url is refused: it must be ${sandbox.dataplaneUrl}. Have the client use the Porthole that this server uses.`,
      { status: 0, code: 'dataplane_url_refused', retryable: false },
    );
  }
  if (serverKey !== undefined && org === undefined) {
    throw new TypeError("org is required with serverKey: set it to the server's org.");
  }
  const validation =
    serverKey === undefined
      ? undefined
      : await validate(
          new HttpClient({ url: allowedUrl, apiKey: serverKey, fetch }),
          { id, credential, org },
          signal,
        );
  const secrets = [
    ...(options.secrets ?? secretsOf(environment())),
    ...(serverKey === undefined ? [] : [serverKey]),
  ];
  const tools = sandboxTools(sandbox, { secrets: [...secrets, credential], commands: validation?.commands });
  const scopes = validation?.scopes;
  return {
    sandbox,
    tools: scopes === undefined ? tools : tools.filter(({ name }) => scopes.includes(NEEDS[name])),
    validation,
  };
}

/** The scope without which a tool can do nothing. */
const NEEDS = {
  read_file: 'fs:read',
  write_file: 'fs:write',
  exec_command: 'exec',
} as const satisfies Record<SandboxTool['name'], Scope>;

async function validate(
  http: HttpClient,
  {
    id,
    credential,
    org,
  }: { readonly id: string; readonly credential: string; readonly org: string | undefined },
  signal: AbortSignal | undefined,
): Promise<Validation> {
  const validation = await http.json<Validation>({
    method: 'POST',
    path: 'v1/sandbox/validate',
    json: { sandbox_id: id, credential, org },
    isIdempotent: true,
    signal,
  });
  if (validation.exists && validation.valid) return validation;
  throw new PortholeError(
    `The configuration's sandbox is refused: Porthole does not know ${id} as one of ${org} that its credential opens. Have the client delegate it anew.`,
    { status: 0, code: 'sandbox_refused', retryable: false },
  );
}

function environment(): Readonly<Record<string, string | undefined>> {
  const { process } = globalThis as {
    readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
  };
  return process?.env ?? {};
}
