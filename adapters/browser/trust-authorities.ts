import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Makes a home in which Chromium trusts these certificates (PEM) besides the public authorities. It
 * reads them from an NSS database; its headless shell reads no enterprise policies.
 * @returns path of the home
 */
export function trustAuthorities(file: string): string {
  const home = mkdtempSync(join(tmpdir(), 'porthole-home-'));
  const database = join(home, '.pki/nssdb');
  mkdirSync(database, { recursive: true });
  const certutil = (args: readonly string[], input = ''): void => {
    execFileSync('certutil', [...args, '-d', `sql:${database}`], { input, stdio: 'pipe' });
  };
  certutil(['-N', '--empty-password']);
  const certificates = readFileSync(file, 'utf8').match(CERTIFICATE) ?? [];
  for (const [at, pem] of certificates.entries()) {
    certutil(['-A', '-a', '-n', `authority ${at}`, '-t', 'C,,'], pem);
  }
  return home;
}
