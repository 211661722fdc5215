import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { bedImages } from './bed-images.ts';
import { type BedPlan, GATEWAY_ZONE } from './bed-plan.ts';
import { authorityFiles, issueCertificate, makeAuthority } from './certificate-authority.ts';
import { apiServerUrl, configurations, KERNEL_SETTINGS } from './configurations.ts';
import { LOG_FOLDER } from './machine-plan.ts';
import { planFile } from './machine-processes.ts';
import { objects } from './objects.ts';
import { COVERED, planMachine } from './plan-machine.ts';
import { KUBELET_CLIENT, kubeconfig, tokenFile, type UserName, USERS } from './users.ts';

/** Where the authority, keys, certificates and tokens of a run folder are. */
export function credentialsFolder(runFolder: string): string {
  return join(runFolder, 'pki');
}

export function adminKubeconfig(runFolder: string): string {
  return join(runFolder, 'config', 'admin.kubeconfig');
}

/**
 * Makes a run folder with everything in it that a bed starts from. Only its owner may enter: it holds the keys of
 * the cluster. Throws where the folder is there already.
 */
export async function furnishRunFolder(runFolder: string, bed: BedPlan, programs: string): Promise<void> {
  await mkdir(dirname(runFolder), { recursive: true });
  await mkdir(runFolder, { mode: 0o700 });
  const folders = [LOG_FOLDER, 'run', 'pki', 'config/cni', 'images', ...Object.keys(COVERED)];
  for (const name of folders) await mkdir(join(runFolder, name), { recursive: true });
  const write = async (name: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(join(runFolder, name)), { recursive: true });
    await writeFile(join(runFolder, name), content);
  };
  const images = await bedImages();
  for (const [name, archive] of Object.entries(images)) await write(`images/${name}`, archive);
  for (const [name, value] of Object.entries(KERNEL_SETTINGS)) await write(`kernel/${name}`, value);
  for (const [name, text] of Object.entries(configurations(bed))) await write(`config/${name}`, text);
  await writeCredentials(runFolder, bed, write);
  const plan = planMachine(bed, { run: runFolder, programs }, Object.keys(images));
  await writeFile(planFile(runFolder), JSON.stringify(plan));
}

async function writeCredentials(
  runFolder: string,
  bed: BedPlan,
  write: (name: string, content: string) => Promise<void>,
): Promise<void> {
  const folder = credentialsFolder(runFolder);
  await makeAuthority(folder);
  const [gatewayCertificate] = await Promise.all([
    issueCertificate(folder, 'gateway', {
      commonName: GATEWAY_ZONE,
      use: 'server',
      dnsNames: [GATEWAY_ZONE, `*.${GATEWAY_ZONE}`],
    }),
    issueCertificate(folder, 'apiserver', {
      commonName: 'kube-apiserver',
      use: 'server',
      dnsNames: ['kubernetes.default.svc', 'kubernetes.default', 'kubernetes.default.svc.cluster.local'],
      addresses: [bed.nodeAddress, bed.apiServiceAddress],
    }),
    issueCertificate(folder, 'kubelet-client', { commonName: KUBELET_CLIENT, use: 'client' }),
  ]);
  await write('config/objects.json', JSON.stringify(objects(gatewayCertificate)));
  const serviceAccounts = generateKeyPairSync('ec', {
    namedCurve: 'prime256v1',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
  });
  await write('pki/service-accounts.key', serviceAccounts.privateKey);
  await write('pki/service-accounts.pub', serviceAccounts.publicKey);
  const names = Object.keys(USERS) as UserName[];
  const tokens = Object.fromEntries(names.map((name) => [name, randomBytes(24).toString('hex')]));
  await write('pki/tokens.csv', tokenFile(tokens as Record<UserName, string>));
  const authority = await readFile(authorityFiles(folder).certificate, 'utf8');
  for (const [name, token] of Object.entries(tokens)) {
    await write(`config/${name}.kubeconfig`, kubeconfig(apiServerUrl(bed), authority, name, token));
  }
}
