import type { ClientResults, ReleaseResult } from './client-results.ts';
import { CLIENTS } from './client-table.ts';

const HEAD = `# Clients that were tried

\`npm run test:clients\` wrote this page. It installs releases of clients from npm and PyPI, and runs a program with each against Porthole on one machine: what users of the client do, step by step. Nothing is changed but the settings that [E2B's SDKs](e2b.md), [the bridge](bridge.md) and [MCP](mcp-tools.md) name. Keys are in E2B's form.
`;

/** The page of the results. */
export function renderClients({ day, clients }: ClientResults): string {
  const rows = CLIENTS.flatMap(({ id, title, registry, package: name }) =>
    groups(clients[id] ?? []).map(
      ([{ passed, total, failed }, versions]) =>
        `| ${title}: \`${name}\` of ${registry} | ${versions.join(', ')} | ${passed} of ${total} | ${failures(failed)} |`,
    ),
  );
  return `${HEAD}
The last run was on ${day}.

| client | releases | passed | failed |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

/** Releases with the same result share a row. */
function groups(releases: readonly ReleaseResult[]): (readonly [ReleaseResult, readonly string[]])[] {
  const byResult = Map.groupBy(releases, ({ total, failed }) => JSON.stringify([total, failed]));
  return [...byResult.values()].flatMap((same) => {
    const [first] = same;
    return first === undefined ? [] : [[first, same.map(({ version }) => version)] as const];
  });
}

/** Steps with the same reason share it. */
function failures(failed: ReleaseResult['failed']): string {
  const byReason = Map.groupBy(Object.entries(failed), ([, reason]) => reason);
  const parts = [...byReason].map(([reason, steps]) => {
    const names = steps.map(([step]) => step).join(', ');
    if (reason !== 'not reached') return `${names}: ${escaped(reason)}`;
    return steps.length === 1 ? '1 step was not reached' : `${steps.length} steps were not reached`;
  });
  return parts.length === 0 ? '–' : parts.join('; ');
}

/** As text of a cell. */
function escaped(text: string): string {
  return `\`${text.replaceAll('`', "'").replaceAll('|', '\\|')}\``;
}
