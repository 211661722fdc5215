import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Logger } from '#handlers/services.ts';
import { ConfigError } from '#protocol/settings/read-environment.ts';
import type { KeyPair, ServerCertificate } from '#proxy/front/strict-server.ts';

/** PEM files: the certificate with its chain, and its private key. */
interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

interface CertificateOptions {
  readonly files: CertificateFiles;
  /** Host names that the certificate should cover. */
  readonly hosts: readonly string[];
  readonly log: Logger;
}

interface OpenCertificate extends ServerCertificate {
  close(): void;
}

/**
 * Milliseconds between two looks at the files. Looks follow links and see replaced files, which
 * watches of the kernel miss.
 */
const LOOK_EVERY_MS = 1_000;

/**
 * Reads the pair, and again whenever a file changes. A pair that cannot serve is logged, and the
 * last one stays in use.
 * @throws ConfigError if the first pair cannot serve
 */
export function openCertificate({ files, hosts, log }: CertificateOptions): OpenCertificate {
  const read = (): KeyPair => {
    const pair = {
      cert: readPem('PORTHOLE_TLS_CERT', files.cert),
      key: readPem('PORTHOLE_TLS_KEY', files.key),
    };
    for (const problem of certificateProblems(checkPair(files, pair), hosts, new Date())) {
      log.warn({ file: files.cert }, `certificate: ${problem}`);
    }
    return pair;
  };
  const pair = read();
  const listeners: ((pair: KeyPair) => void)[] = [];
  const reload = () => {
    try {
      const next = read();
      for (const listener of listeners) listener(next);
      log.info({ file: files.cert }, 'certificate reloaded');
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      log.warn({ reason: error.problems.join(' ') }, 'certificate not reloaded: the last one stays in use');
    }
  };
  const paths = [files.cert, files.key];
  for (const path of paths) watchFile(path, { interval: LOOK_EVERY_MS, persistent: false }, reload);
  return {
    pair,
    onReplaced: (listener) => void listeners.push(listener),
    close: () => {
      for (const path of paths) unwatchFile(path, reload);
    },
  };
}

function readPem(setting: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError([
      `${setting}: ${path} cannot be read (${code}). Name a PEM file that this user can read.`,
    ]);
  }
}

/** @throws ConfigError */
function checkPair(files: CertificateFiles, { cert, key }: KeyPair): X509Certificate {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    throw new ConfigError([
      `PORTHOLE_TLS_CERT: ${files.cert} is not a certificate in PEM. It holds the certificate, then its chain.`,
    ]);
  }
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(key);
  } catch {
    throw new ConfigError([
      `PORTHOLE_TLS_KEY: ${files.key} is not a private key in PEM without a passphrase.`,
    ]);
  }
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new ConfigError([
      `PORTHOLE_TLS_KEY: ${files.key} is not the key of the certificate in ${files.cert}. Put a pair there.`,
    ]);
  }
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    // The rest of the chain, for instance, or a key that is too short.
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`PORTHOLE_TLS_CERT: ${files.cert} cannot serve (${reason}). Issue it again.`]);
  }
  return certificate;
}

/** What browsers will refuse about a certificate that can serve. */
function certificateProblems(certificate: X509Certificate, hosts: readonly string[], now: Date): string[] {
  const { validTo } = certificate;
  return [
    ...(new Date(validTo) <= now ? [`it expired on ${new Date(validTo).toISOString()}; renew it`] : []),
    ...hosts
      .filter((host) => certificate.checkHost(host, { subject: 'never' }) === undefined)
      .map((host) => `it is not for ${host}; browsers will refuse that name`),
  ];
}
