import { issueCertificate, makeAuthority } from './fixture/certificate-authority.ts';
import type { Kubectl } from './fixture/kubectl.ts';

/**
 * Creates a namespace with the Secret `wildcard`: a certificate for these names, of an authority
 * that is made in the folder.
 */
export async function createGatewayCertificate(
  kubectl: Kubectl,
  {
    folder,
    namespace,
    dnsNames,
  }: {
    readonly folder: string;
    readonly namespace: string;
    readonly dnsNames: readonly [string, ...string[]];
  },
): Promise<void> {
  await kubectl(['create', 'namespace', namespace]);
  await makeAuthority(folder);
  const request = { commonName: namespace, use: 'server', dnsNames } as const;
  const { certificate, key } = await issueCertificate(folder, 'wildcard', request);
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'wildcard', namespace },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': certificate, 'tls.key': key },
  };
  await kubectl(['create', '--filename=-'], JSON.stringify(secret));
}
