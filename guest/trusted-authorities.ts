import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { replacePlain } from './plain-file.ts';
import { AUTHORITY_VARIABLE, CERTIFICATE_VARIABLES, NETWORK } from './protocol/network.ts';

type Environment = Readonly<Record<string, string>>;

/**
 * The environment of a command without the certificate of its sandbox's authority, and with the
 * path of a file of all authorities that its tools trust. A pod, which has no folder of a host,
 * writes that file; elsewhere the host does.
 * @param state the guest's folder; undefined where the host writes the file
 */
export function trustedEnvironment(state: string | undefined): (env: Environment) => Environment {
  const file = state && join(state, NETWORK.certificatesName);
  let written: string | undefined;
  return (env) => {
    const { [AUTHORITY_VARIABLE]: authority, ...rest } = env;
    if (authority === undefined) return env;
    if (file === undefined) return rest;
    if (written !== authority || !existsSync(file)) {
      // Loaded with the first secret.
      const { getCACertificates } = process.getBuiltinModule('node:tls');
      const all = new Set([...getCACertificates('default'), ...getCACertificates('system'), authority]);
      try {
        // A tool that starts now must not read half of it.
        replacePlain(file, [...all].map((each) => `${each.trim()}\n`).join(''));
        written = authority;
      } catch (error) {
        process.stderr.write(`porthole-guest: no certificates: ${(error as Error).message}\n`);
      }
    }
    const named = CERTIFICATE_VARIABLES.filter((name) => rest[name] === NETWORK.certificates);
    return { ...rest, ...Object.fromEntries(named.map((name) => [name, file])) };
  };
}
