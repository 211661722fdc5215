/**
 * What the host tells a guest about its place: one argument, as JSON. The guest takes its word, so
 * no schema is loaded.
 */
export interface GuestSettings {
  /** The environment of every command; a request adds to it. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Whether commands get the guest's own environment as well: an image's, where the host does not
   * know it.
   */
  readonly inherit: boolean;
  /**
   * The folder that `/workspace` stands for, where no file system of the sandbox shows it there.
   */
  readonly workspace: string;
  /** The folder of rings: what processes have printed. Outlives the guest. */
  readonly state: string;
  readonly listen:
    | { readonly fd: number }
    | { readonly path: string }
    /**
     * `key`: public keys of those who may call, separated by commas, where more than the host
     * reaches the port; `audience`: whom their tokens name.
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
   * The socket of the host's broker, in a sandbox without a route: the guest offers a proxy to it.
   */
  readonly network?: string | undefined;
  /** The folder of node-pty's native part; without it there are no terminals. */
  readonly pty?: string | undefined;
  readonly version: string;
}

/** The same, before defaults are filled in. */
export type GuestSettingsInput = Pick<GuestSettings, 'env' | 'state' | 'listen'> & Partial<GuestSettings>;

const DEFAULTS = { inherit: false, workspace: '/workspace', version: '0' } as const;

/** @throws Error that names the setting that is missing */
export function readSettings(text: string | undefined): GuestSettings {
  if (text === undefined) throw new Error('Usage: node guest.js <settings as JSON>');
  const given = JSON.parse(text) as GuestSettingsInput;
  for (const name of ['env', 'state', 'listen'] as const) {
    if (given[name] === undefined) throw new Error(`The setting ${name} is missing.`);
  }
  return { ...DEFAULTS, ...given };
}

/** Where a path of the sandbox lies in the file system that the guest sees. */
export function locate(settings: Pick<GuestSettings, 'workspace'>, path: string): string {
  if (settings.workspace === '/workspace') return path;
  return path === '/workspace' || path.startsWith('/workspace/') ? settings.workspace + path.slice(10) : path;
}
