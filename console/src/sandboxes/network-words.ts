import type { Api } from '../api/api.ts';

type Sandbox = Api['GET /v1/sandbox/{id}']['answer'];

const MODES: Readonly<Record<Sandbox['network'], string>> = {
  off: 'no network',
  packages: 'package registries',
  allowlist: 'allowed hosts',
  open: 'internet',
};

/** What a sandbox may reach, in a few words. */
export function networkWords({ network, allow, deny }: Pick<Sandbox, 'network' | 'allow' | 'deny'>): string {
  if (network === 'off') return MODES.off;
  const lists = [
    ...(allow.length === 0 ? [] : [`${hosts(allow.length)} allowed`]),
    ...(deny.length === 0 ? [] : [`${hosts(deny.length)} denied`]),
  ];
  return [MODES[network], ...lists].join(', ');
}

function hosts(count: number): string {
  return count === 1 ? '1 host' : `${count} hosts`;
}
