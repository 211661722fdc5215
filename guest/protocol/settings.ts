import * as z from 'zod/mini';
import { environment } from './exec.ts';

const guestSettings = z.object({
  /** The environment of every command; a request adds to it. */
  env: environment,
  /** Whether commands get the guest's own environment as well: an image's, where the host does not know it. */
  inherit: z._default(z.boolean(), false),
  /** The folder that `/workspace` stands for, where no file system of the sandbox shows it there. */
  workspace: z._default(z.string(), '/workspace'),
  /** The folder of rings: what processes have printed. Outlives the guest. */
  state: z.string(),
  listen: z.union([
    z.object({ fd: z.int() }),
    z.object({ path: z.string() }),
    /** `key`: public keys of those who may call, separated by commas, where more than the host reaches the port; `audience`: whom their tokens name. */
    z.object({
      port: z.int(),
      host: z.optional(z.string()),
      key: z.optional(z.string()),
      audience: z.optional(z.string()),
    }),
  ]),
  /** Where the guest serves previews, in a cluster. */
  previews: z.optional(z.object({ port: z.int(), host: z.optional(z.string()) })),
  /** The folder of node-pty's native part; without it there are no terminals. */
  pty: z.optional(z.string()),
  version: z._default(z.string(), '0'),
});

/** What the host tells a guest about its place. */
export type GuestSettings = z.infer<typeof guestSettings>;
/** The same, before defaults are filled in. */
export type GuestSettingsInput = z.input<typeof guestSettings>;

/** @throws Error that names the setting that is wrong */
export function readSettings(text: string | undefined): GuestSettings {
  if (text === undefined) throw new Error('Usage: node guest.js <settings as JSON>');
  return z.parse(guestSettings, JSON.parse(text));
}

/** Where a path of the sandbox lies in the file system that the guest sees. */
export function locate(settings: Pick<GuestSettings, 'workspace'>, path: string): string {
  if (settings.workspace === '/workspace') return path;
  return path === '/workspace' || path.startsWith('/workspace/') ? settings.workspace + path.slice(10) : path;
}
