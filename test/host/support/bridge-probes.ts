import type { TestHost } from '#test/support/in-process-host.ts';
import { mirroredRoutes } from '#handlers/bridge/mirrored-routes.ts';
import { ALICE } from './people.ts';
import type { Probe } from './route-probes.ts';
import type { MadeRun } from './runs.ts';

type Probes = Readonly<Record<string, (run: MadeRun) => Promise<Probe>>>;

/** The same as those of the routes that the bridge 1.0 shares with 0.12. */
export function mirroredProbes(probes: Probes): Probes {
  return Object.fromEntries(
    mirroredRoutes.flatMap(({ id }) => {
      const name = id.slice('bridge'.length);
      const probe = probes[`${name.slice(0, 1).toLowerCase()}${name.slice(1)}`];
      return probe === undefined ? [] : [[id, probe]];
    }),
  );
}

/** Headers of a WebSocket. */
export const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** Calls of clients of the bridge 1.0 about alice's sandbox. */
export function bridgeProbes(porthole: TestHost): Probes {
  const made = async (sandboxId: string, kind: 'processes' | 'terminals', argv: readonly string[]) => {
    const path = `/bridge/1.0/v1/sandbox/${sandboxId}/${kind}`;
    const answer = await porthole.call('POST', path, { token: ALICE, body: { argv } });
    return answer.json<{ id: string }>().id;
  };
  const withProcess =
    (rest: Omit<Probe, 'params'> = {}) =>
    async ({ sandboxId }: MadeRun): Promise<Probe> => {
      const pid = await made(sandboxId, 'processes', ['sleep', '600']);
      return { params: { id: sandboxId, pid }, ...rest };
    };
  const withTerminal =
    (rest: Omit<Probe, 'params'> = {}) =>
    async ({ sandboxId }: MadeRun): Promise<Probe> => {
      const tid = await made(sandboxId, 'terminals', ['cat']);
      return { params: { id: sandboxId, tid }, ...rest };
    };
  const start = ({ sandboxId }: MadeRun): Promise<Probe> =>
    Promise.resolve({ params: { id: sandboxId }, body: { argv: ['true'] } });
  return {
    bridgeCreateProcess: start,
    bridgeGetProcess: withProcess(),
    bridgeReadProcessLogs: withProcess(),
    bridgeKillProcess: withProcess({ body: {} }),
    bridgeCreateTerminal: start,
    bridgeGetTerminal: withTerminal(),
    bridgeConnectTerminal: withTerminal({ headers: HANDSHAKE }),
    bridgeInterruptTerminal: withTerminal(),
    bridgeTerminateTerminal: withTerminal(),
  };
}
