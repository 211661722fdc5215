import { createPrivateKey, type KeyObject, webcrypto } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { SandboxAuthority } from '#core/network/network-secrets.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

const DAY_MS = 86_400_000;
/** Longer than a sandbox lives. */
const AUTHORITY_DAYS = 3_650;
const HOST_DAYS = 30;

/** Maximum cached host certificates. */
const MAX_KEPT = 500;

/** Loaded with the first secret: it takes the time of many connections. */
async function x509() {
  // The library's container needs it to be there before.
  await import('reflect-metadata');
  return import('@peculiar/x509');
}

/** Starts a day early, because clocks differ. */
function validity(days: number): { readonly notBefore: Date; readonly notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + days * DAY_MS) };
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  return createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
    .export({ format: 'pem', type: 'pkcs8' })
    .toString();
}

/** Makes the authority of a sandbox, which signs for hosts and for nothing below it. */
export async function createAuthority(): Promise<SandboxAuthority> {
  const { BasicConstraintsExtension, KeyUsagesExtension, KeyUsageFlags, ...lib } = await x509();
  const keys = await newKeys();
  const certificate = await lib.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Porthole sandbox',
    ...validity(AUTHORITY_DAYS),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
      await lib.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: certificate.toString('pem'), key: await pemOf(keys.privateKey) };
}

/** Certificates of intercepted hosts, which the authorities of sandboxes sign. */
export class HostCertificates {
  readonly #kept = new LRUCache<string, Promise<SecureContext>>({
    max: MAX_KEPT,
    ttl: (HOST_DAYS / 2) * DAY_MS,
  });

  contextFor(authority: SandboxAuthority, host: string): Promise<SecureContext> {
    const key = `${host} ${authority.certificate}`;
    const found = this.#kept.get(key);
    if (found !== undefined) return found;
    const issued = issue(authority, host);
    this.#kept.set(key, issued);
    issued.catch(() => this.#kept.delete(key));
    return issued;
  }
}

async function issue(authority: SandboxAuthority, host: string): Promise<SecureContext> {
  const { ExtendedKeyUsage, KeyUsageFlags, ...lib } = await x509();
  const issuer = new lib.X509Certificate(authority.certificate);
  const keys = await newKeys();
  const certificate = await lib.X509CertificateGenerator.create({
    // A name may be longer than the 64 characters of a CN: clients read the alternative name.
    subject: 'CN=Porthole',
    issuer: issuer.subject,
    ...validity(HOST_DAYS),
    publicKey: keys.publicKey,
    signingKey: await signingKey(createPrivateKey(authority.key)),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new lib.BasicConstraintsExtension(false, undefined, true),
      new lib.KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new lib.ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new lib.SubjectAlternativeNameExtension([{ type: 'dns', value: host }]),
      await lib.AuthorityKeyIdentifierExtension.create(issuer),
      await lib.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return createSecureContext({ cert: certificate.toString('pem'), key: await pemOf(keys.privateKey) });
}

function signingKey(key: KeyObject): Promise<webcrypto.CryptoKey> {
  const pkcs8 = key.export({ format: 'der', type: 'pkcs8' });
  return webcrypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign']);
}
