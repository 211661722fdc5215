import type { NetworkOptions, NetworkPolicy, NetworkRule } from '../../resources/sandbox-info.ts';
import { type CommandSpec, type Given, readChoice } from '../command.ts';
import { plain, table } from '../print.ts';
import { holdSandbox } from '../hold-sandbox.ts';
import { ago } from './list.ts';

const MODES = ['off', 'packages', 'allowlist', 'open'] as const;

/** Options of the commands that set what a sandbox may reach. */
export const NETWORK_OPTIONS = {
  network: {
    type: 'string',
    value: 'MODE',
    choices: MODES,
    help: 'what it may reach: off, packages, allowlist or open; default: as the server is configured',
  },
  allow: {
    type: 'string',
    multiple: true,
    value: 'HOST',
    help: 'a host it may reach, e.g. *.example.com:8443',
  },
  deny: { type: 'string', multiple: true, value: 'HOST', help: 'a host it may not reach, also if allowed' },
  'no-ask': { type: 'boolean', help: 'block other hosts without asking the owner' },
} as const;

/**
 * The options that were given.
 * @throws UsageError
 */
export function networkOf(given: Given): NetworkOptions {
  const mode = readChoice(given, 'network', MODES);
  return {
    ...(mode !== undefined && { network: mode }),
    ...(given.texts('allow').length > 0 && { allow: given.texts('allow') }),
    ...(given.texts('deny').length > 0 && { deny: given.texts('deny') }),
    ...(given.is('no-ask') && { ask: false }),
  };
}

export const networkCommand: CommandSpec = {
  name: 'network',
  usage: '<sandbox|run>',
  summary: "show or change a sandbox's network rules and its connection log",
  details:
    '--allow and --deny replace the previous list. A change applies at once: connections that are no longer allowed end.',
  options: { ...NETWORK_OPTIONS },
  examples: [
    ['porthole network try', 'the policy, and the newest attempts'],
    ['porthole network try --network packages --allow api.example.com', 'registries and one more host'],
  ],
  async run(context) {
    const { given, signal, show } = context;
    const change = networkOf(given);
    const sandbox = await holdSandbox(context);
    if (Object.keys(change).length > 0) {
      const policy = await sandbox.changeNetwork({ ...change, signal });
      return show(policy, ...policyLines(policy));
    }
    const access = await sandbox.network({ signal });
    const now = new Date();
    const rows = access.attempts.map(({ at, host, port, decision, rule }) => [
      ago(at, now),
      `${host}:${port}`,
      decision,
      rule,
    ]);
    const tried = rows.length === 0 ? [] : ['', ...table([['AGE', 'HOST', 'DECISION', 'RULE'], ...rows])];
    return show(access, ...policyLines(access), ...tried);
  },
};

function policyLines({ network, allow, deny, ask }: NetworkPolicy): string[] {
  const hosts = (list: readonly NetworkRule[]) =>
    list.length === 0 ? '-' : list.map((rule) => (typeof rule === 'string' ? rule : rule.host)).join(', ');
  return [
    `Network: ${network}`,
    `Allow:   ${plain(hosts(allow))}`,
    `Deny:    ${plain(hosts(deny))}`,
    `Ask:     ${ask ? 'yes' : 'no'}`,
  ];
}
