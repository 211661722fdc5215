import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { command } from './command.ts';

const DAYS = '365';
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];

export interface CertificateRequest {
  readonly commonName: string;
  readonly organization?: string;
  readonly use: 'server' | 'client';
  readonly dnsNames?: readonly string[];
  readonly addresses?: readonly string[];
}

/** PEM text. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** Files `NAME.crt` and `NAME.key` of the bed's own authority in a folder. */
export function authorityFiles(folder: string): { certificate: string; key: string } {
  return { certificate: join(folder, 'ca.crt'), key: join(folder, 'ca.key') };
}

export async function makeAuthority(folder: string): Promise<void> {
  const files = authorityFiles(folder);
  const out = ['-keyout', files.key, '-out', files.certificate, '-days', DAYS];
  const extensions = ['-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
  await command(['openssl', 'req', '-x509', ...KEY, ...out, '-subj', '/CN=porthole test bed', ...extensions]);
}

/** Writes `NAME.crt` and `NAME.key`, signed by the authority in the same folder, and gives both as text. */
export async function issueCertificate(
  folder: string,
  name: string,
  request: CertificateRequest,
): Promise<Certificate> {
  const authority = authorityFiles(folder);
  const files = { certificate: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
  const signedBy = ['-CA', authority.certificate, '-CAkey', authority.key];
  const out = ['-keyout', files.key, '-out', files.certificate, '-days', DAYS];
  const extensions = certificateExtensions(request).flatMap((extension) => ['-addext', extension]);
  const organization = request.organization === undefined ? '' : `/O=${request.organization}`;
  const subject = ['-subj', `${organization}/CN=${request.commonName}`];
  await command(['openssl', 'req', '-x509', ...KEY, ...signedBy, ...out, ...subject, ...extensions]);
  return {
    certificate: await readFile(files.certificate, 'utf8'),
    key: await readFile(files.key, 'utf8'),
  };
}

function certificateExtensions({ use, dnsNames = [], addresses = [] }: CertificateRequest): string[] {
  const names = [...dnsNames.map((name) => `DNS:${name}`), ...addresses.map((address) => `IP:${address}`)];
  return [
    'basicConstraints=critical,CA:FALSE',
    'keyUsage=critical,digitalSignature',
    `extendedKeyUsage=${use}Auth`,
    ...(names.length === 0 ? [] : [`subjectAltName=${names.join(',')}`]),
  ];
}
