/** What the tools of a sandbox trust beside the public authorities. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { replacePlain } from './plain-file.ts';
import { AUTHORITY_VARIABLE, CERTIFICATE_VARIABLES, NETWORK } from './protocol/network.ts';

/**
 * Writes the file of authorities in a pod, which has no folder of a host. Elsewhere the host writes
 * it.
 */
export class TrustedAuthorities {
  readonly #file: string | undefined;
  #written: string | undefined;

  /** @param state the guest's folder; undefined where the host writes the file */
  constructor(state: string | undefined) {
    this.#file = state && join(state, NETWORK.certificatesName);
  }

  /** The environment of a command without the certificate, and with the path of the file. */
  environment(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const { [AUTHORITY_VARIABLE]: authority, ...rest } = env;
    if (authority === undefined) return env;
    const file = this.#file;
    if (file === undefined) return rest;
    this.#write(file, authority);
    const named = CERTIFICATE_VARIABLES.filter((name) => rest[name] === NETWORK.certificates);
    return { ...rest, ...Object.fromEntries(named.map((name) => [name, file])) };
  }

  #write(file: string, authority: string): void {
    if (this.#written === authority && existsSync(file)) return;
    // Loaded with the first secret.
    const { getCACertificates } = process.getBuiltinModule('node:tls');
    const all = new Set([...getCACertificates('default'), ...getCACertificates('system'), authority]);
    try {
      // A tool that starts now must not read half of it.
      replacePlain(file, [...all].map((each) => `${each.trim()}\n`).join(''));
      this.#written = authority;
    } catch (error) {
      process.stderr.write(`porthole-guest: no certificates: ${(error as Error).message}\n`);
    }
  }
}
