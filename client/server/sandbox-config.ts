/** A sandbox that a client hands to a server: its id, its credential and its URL. */
export interface SandboxConfig {
  readonly sandbox_id: string;
  /** Opaque. */
  readonly credential: string;
  /** `{PORTHOLE_PUBLIC_URL}/v1/sandbox/{sandbox_id}` */
  readonly dataplane_url: string;
}

/** The part of a run's configuration that names the sandbox; merge it into `config`. */
export interface RunConfig {
  readonly configurable: { readonly sandbox: SandboxConfig };
}

export function runConfig(sandbox: SandboxConfig): RunConfig {
  return { configurable: { sandbox } };
}

const ID = /^[a-z2-7]{1,128}$/;
/** Maximum length in characters, far above any token. */
const MAX_CREDENTIAL = 16_384;

/**
 * JSON Schema (draft 2020-12) of `config.configurable.sandbox`, which a client hands to a server.
 */
export const sandboxConfigSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'A sandbox that a client hands to a server',
  type: 'object',
  properties: {
    sandbox_id: { type: 'string', pattern: '^[a-z2-7]{1,128}$' },
    credential: { type: 'string', maxLength: 16_384, pattern: '^[\\x21-\\x7e]+$' },
    dataplane_url: { type: 'string', maxLength: 4_096, format: 'uri' },
  },
  required: ['sandbox_id', 'credential', 'dataplane_url'],
} as const;

/**
 * Reads the sandbox of a run's configuration: from `{config: {configurable: {sandbox}}}`, from
 * `configurable` on, or from the sandbox object itself. `sandbox_credential` is an alias of
 * `credential`. The values are untrusted: compare `dataplane_url` before calling it.
 * @throws TypeError that names the field, never its value
 */
export function readSandboxConfig(config: unknown): SandboxConfig {
  const outer = fieldsOf(config);
  const configurable = fieldsOf(fieldsOf(outer['config'] ?? config)['configurable'] ?? config);
  const sandbox = fieldsOf(configurable['sandbox'] ?? config);
  const { sandbox_id: id, dataplane_url: url } = sandbox;
  const credential = sandbox['credential'] ?? sandbox['sandbox_credential'];
  if (typeof id !== 'string' || !ID.test(id)) throw wrong('sandbox_id', '1 to 128 of a-z and 2-7');
  if (typeof url !== 'string' || !URL.canParse(url)) throw wrong('dataplane_url', 'a URL');
  const isToken =
    typeof credential === 'string' &&
    credential.length <= MAX_CREDENTIAL &&
    /^[\x21-\x7e]+$/.test(credential);
  if (!isToken) throw wrong('credential', 'printable ASCII without spaces');
  return { sandbox_id: id, credential, dataplane_url: url };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function wrong(field: string, expected: string): TypeError {
  return new TypeError(
    `configurable.sandbox.${field} must be ${expected}: take it from sandboxConfig() of the client.`,
  );
}
