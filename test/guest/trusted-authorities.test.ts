/** The authorities that commands of a guest trust. */
import { rmSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { afterEach, expect, test } from '@jest/globals';
import { bytes } from '#test/contracts/sandbox-provider.contract.ts';
import { AUTHORITY_VARIABLE, NETWORK } from '#protocol/guest/network.ts';
import { GuestProcess } from '#test/guest/support/guest-process.ts';

const AUTHORITY = '-----BEGIN CERTIFICATE-----\nb3du\n-----END CERTIFICATE-----\n';
const ENVIRONMENT = {
  [AUTHORITY_VARIABLE]: AUTHORITY,
  SSL_CERT_FILE: NETWORK.certificates,
  PIP_CERT: '/mine',
};

let guest: GuestProcess;
afterEach(() => guest.stop());

async function run(script: string, env: Record<string, string> = ENVIRONMENT): Promise<string> {
  const { stdout, exited } = await guest.client.exec({ argv: ['sh', '-c', script], env });
  const [out] = await Promise.all([bytes(stdout), exited]);
  return out.toString();
}

test('are written by the guest of a pod, beside the public ones', async () => {
  guest = await GuestProcess.start({ network: true });
  const file = `${guest.folder}/state/${NETWORK.certificatesName}`;
  expect(await run(`echo $SSL_CERT_FILE $PIP_CERT "$${AUTHORITY_VARIABLE}"`)).toBe(`${file} /mine \n`);
  const trusted = await run('cat $SSL_CERT_FILE');
  expect(trusted).toContain(AUTHORITY);
  expect(trusted.match(/BEGIN CERTIFICATE/g)?.length).toBeGreaterThanOrEqual(rootCertificates.length);
  rmSync(file);
  expect(await run('cat $SSL_CERT_FILE')).toBe(trusted);
});

test('are left to the host elsewhere', async () => {
  guest = await GuestProcess.start();
  expect(await run(`echo $SSL_CERT_FILE $PIP_CERT "$${AUTHORITY_VARIABLE}"`)).toBe(
    `${NETWORK.certificates} /mine \n`,
  );
});
