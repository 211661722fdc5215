import type { SandboxValidation as Validation } from '../api.ts';
import { HttpClient } from '../http/http-client.ts';
import { PortholeError } from '../http/porthole-error.ts';
import { environment } from '../resources/platform.ts';
import { openPlatformSocket, type OpenSocket } from '../resources/open-socket.ts';
import { Sandbox } from '../resources/sandbox.ts';
import type { Scope } from '../resources/delegations.ts';
import { readSandboxConfig } from './sandbox-config.ts';
import { type SandboxTool, sandboxTools } from './sandbox-tools.ts';
import { secretsOf } from './secret-guard.ts';

export interface ConnectOptions {
  /**
   * The only Porthole that this server calls, e.g. `https://porthole.example`: configurations with
   * another URL are rejected.
   */
  readonly allowedUrl: string;
  /** This server's own key. With it the sandbox is validated first; it is sent only to Porthole. */
  readonly serverKey?: string | undefined;
  /** Only sandboxes of this org, the server's, are accepted. Required with `serverKey`. */
  readonly org?: string | undefined;
  /**
   * Values that must never enter the sandbox, besides `serverKey`.
   * @default the secrets of the process's environment, by their names
   */
  readonly secrets?: readonly string[] | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly openSocket?: OpenSocket | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Porthole's validation of a sandbox and a credential. */
export type { SandboxValidation as Validation } from '../api.ts';

/** A client's sandbox, as a server uses it. */
export interface ConnectedSandbox {
  readonly sandbox: Sandbox;
  /**
   * `read_file`, `write_file`, `exec_command`; after a validation only those that the credential
   * allows.
   */
  readonly tools: readonly SandboxTool[];
  /** Porthole's validation, if it was requested. */
  readonly validation: Validation | undefined;
}

/**
 * The sandbox that a run's configuration names, and tools to work in it. The configuration is
 * untrusted: its `dataplane_url` is called only if it is that of `allowedUrl`, and with a
 * `serverKey` Porthole must confirm that the sandbox exists and belongs to the org.
 * @throws TypeError for an invalid configuration; PortholeError `dataplane_url_refused`,
 * `sandbox_refused`, and errors of the API
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

/** The scope that each tool needs. */
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
  const validation = await http.json<Validation>('POST v1/sandbox/validate', {
    json: { sandbox_id: id, credential, org },
    isIdempotent: true,
    signal,
  });
  if (validation.exists && validation.valid) return validation;
  throw new PortholeError(
    `The configuration's sandbox is refused: Porthole does not know ${id} as one of ${org} that its credential opens. Have the client delegate it again.`,
    { status: 0, code: 'sandbox_refused', retryable: false },
  );
}
