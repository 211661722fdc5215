/** Who calls the API server, and as whom. Each has a token of its own and a kubeconfig named after it. */
export const USERS = {
  admin: { user: 'porthole:admin', groups: ['system:masters'] },
  'controller-manager': { user: 'system:kube-controller-manager', groups: [] },
  scheduler: { user: 'system:kube-scheduler', groups: [] },
  kubelet: { user: 'system:node:porthole-node', groups: ['system:nodes'] },
  proxy: { user: 'system:kube-proxy', groups: [] },
  gateway: { user: 'porthole:gateway', groups: [] },
  dns: { user: 'porthole:dns', groups: [] },
} as const satisfies Record<string, { user: string; groups: readonly string[] }>;

export type UserName = keyof typeof USERS;

/** The name in the certificate that the API server shows to the kubelet. */
export const KUBELET_CLIENT = 'porthole:apiserver';

/** The API server's token file: `token,user,uid,"group,group"` a line. */
export function tokenFile(tokens: Readonly<Record<UserName, string>>): string {
  return Object.entries(USERS)
    .map(([name, { user, groups }]) => `${tokens[name as UserName]},${user},${name},"${groups.join(',')}"\n`)
    .join('');
}

export function kubeconfig(server: string, authority: string, name: string, token: string): string {
  const cluster = { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'bed', cluster }],
    users: [{ name, user: { token } }],
    contexts: [{ name: 'bed', context: { cluster: 'bed', user: name } }],
    'current-context': 'bed',
  });
}
