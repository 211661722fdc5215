/**
 * The guest's settings from the host: one argument, as JSON. The guest trusts the host, so it loads
 * no schema.
 */
export interface GuestSettings {
  /** The environment of every command; a request adds to it. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Whether commands also inherit the guest's own environment: an image's, if the host does not
   * know it.
   */
  readonly inherit: boolean;
  /** The folder shown as `/workspace`, if the sandbox's file system does not mount it there. */
  readonly workspace: string;
  /** The folder of rings: the output of processes. Outlives the guest. */
  readonly state: string;
  readonly listen:
    | { readonly fd: number }
    | { readonly path: string }
    /**
     * `key`: public keys of allowed callers, separated by commas, if more than the host can reach
     * the port; `audience`: the audience of their tokens.
     */
    | {
        readonly port: number;
        readonly host?: string | undefined;
        readonly key?: string | undefined;
        readonly audience?: string | undefined;
      };
  /** Where the guest serves previews, in a cluster. */
  readonly previews?: { readonly port: number; readonly host?: string | undefined } | undefined;
  /**
   * The guest runs a proxy to the broker, in a sandbox without a route: the broker's socket, or
   * `true` where each call names the broker (`BROKER_HEADER`).
   */
  readonly network?: string | true | undefined;
  /** The folder of node-pty's native part; without it there are no terminals. */
  readonly pty?: string | undefined;
  readonly version: string;
  /** The sandbox's memory limit in MiB, where its cgroup is not visible inside. */
  readonly memoryMb?: number | undefined;
}

/** Settings before defaults are applied. */
export type GuestSettingsInput = Pick<GuestSettings, 'env' | 'state' | 'listen'> & Partial<GuestSettings>;

const DEFAULTS = { inherit: false, workspace: '/workspace', version: '0' } as const;

/** @throws Error that names the missing setting */
export function readSettings(text: string | undefined): GuestSettings {
  if (text === undefined) throw new Error('Usage: node guest.js <settings as JSON>');
  const given = JSON.parse(text) as GuestSettingsInput;
  for (const name of ['env', 'state', 'listen'] as const) {
    if (given[name] === undefined) throw new Error(`The setting ${name} is missing.`);
  }
  return { ...DEFAULTS, ...given };
}

/** Translates a path of the sandbox into a path that the guest sees. */
export function locate(settings: Pick<GuestSettings, 'workspace'>, path: string): string {
  if (settings.workspace === '/workspace') return path;
  return path === '/workspace' || path.startsWith('/workspace/') ? settings.workspace + path.slice(10) : path;
}
