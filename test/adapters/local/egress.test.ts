/** What a sandbox with a network reaches, tried in networks of the test's own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { collect } from '#test/support/collect.ts';
import { findCarrier } from '#adapters/local/egress/carriers.ts';
import { DrivenHost, type HostPlace, prepare } from '#test/adapters/local/driven-host.ts';
import { comesTrue, processesWith } from '#test/adapters/local/host-processes.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';
import {
  FORBIDDEN,
  INTERNET,
  MACHINE,
  NEIGHBOUR,
  PORT,
  TwoNetworks,
  twoNetworksMissing,
} from '#test/support/two-networks.ts';

/** What each address says, one line each; nothing where it is not reached. */
const reach = (addresses: readonly string[]) =>
  `for at in ${addresses.join(' ')}; do echo "$at: $(timeout 2 bash -c "exec 3<>/dev/tcp/$at/${PORT} && cat <&3" 2>/dev/null)"; done`;
const SILENT = (addresses: readonly string[]) => addresses.map((each) => `${each}: \n`).join('');

const found = findCarrier(['pasta']);
const carrierMissing = 'missing' in found ? found.missing : undefined;

const CASES = [
  ['bubblewrap', 'root'],
  ['bubblewrap', 'ordinary user'],
  ['unshare', 'root'],
  ['unshare', 'ordinary user'],
] as const;

for (const [isolation, as] of CASES) {
  const missing = missingFor(isolation) ?? carrierMissing ?? twoNetworksMissing();
  suite(`a sandbox with a network, ${isolation}, host of ${as}`, missing, () => {
    let folder: string;
    let networks: TwoNetworks;
    let host: DrivenHost;
    const id = sandboxId();
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'porthole-egress-'));
      const place: HostPlace = { folder, isolation, as };
      await prepare(place);
      networks = await TwoNetworks.open();
      host = await DrivenHost.start({
        ...place,
        within: networks.inMachine,
        alsoReachable: ['198.18.0.0/15', 'fd00::/8'],
      });
      await host.create(id, true);
    }, 60_000);
    afterAll(async () => {
      await host.destroy(id);
      await host.kill();
      await networks.close();
      rmSync(folder, { recursive: true });
    }, 60_000);

    test('reaches the internet, and finds it by name', async () => {
      expect(await host.shell(id, reach([INTERNET]))).toBe(`${INTERNET}: the internet\n`);
      expect(await host.shell(id, 'getent ahostsv4 anything.test | head -n 1')).toMatch(
        new RegExp(`^${INTERNET.replaceAll('.', '\\.')} +STREAM anything\\.test\n$`),
      );
    });

    test('reaches no neighbour of the machine, whose address is no private one', async () => {
      expect(await host.shell(id, reach([NEIGHBOUR]))).toBe(SILENT([NEIGHBOUR]));
    }, 30_000);

    test('reaches no metadata and no private address', async () => {
      expect(await host.shell(id, reach(FORBIDDEN))).toBe(SILENT(FORBIDDEN));
    }, 30_000);

    test('reaches nothing of the machine, on its loopback or its addresses', async () => {
      const ways = [...MACHINE, '10.0.2.2', '10.0.2.3', '0.0.0.0'];
      expect(await host.shell(id, reach(ways))).toBe(SILENT(ways));
    }, 30_000);

    test('is refused by IPv6 as well', async () => {
      const ways = ['::ffff:10.77.0.2', 'fd00:ec2::254', 'fe80::1%tap0', '2001:db8::1'];
      expect(await host.shell(id, reach(ways))).toBe(SILENT(ways));
    }, 30_000);

    test('can undo none of that', async () => {
      const tries = [
        'nft flush ruleset',
        'nft delete table inet porthole',
        'ip link set tap0 down',
        'ip route add 10.0.0.0/8 dev lo',
        'unshare --user --map-root-user nft flush ruleset',
        'unshare --user --map-root-user -- nsenter --target 1 --net nft flush ruleset',
      ];
      const said = await host.shell(id, tries.map((each) => `${each} >/dev/null 2>&1; echo $?`).join('\n'));
      expect(said.split('\n').slice(0, -1)).not.toContain('0');
      expect(await host.shell(id, reach([FORBIDDEN[0], INTERNET]))).toBe(
        `${FORBIDDEN[0]}: \n${INTERNET}: the internet\n`,
      );
    });

    test('is dialled all the same, and reaches the host by its channel', async () => {
      const server = `require('net').createServer((c) => { c.on('error', () => {}); c.pipe(c); }).listen(4100, '127.0.0.1', () => console.log('up'))`;
      await host.shell(id, `nohup node -e "${server}" >up 2>&1 & until [ -s up ]; do sleep 0.01; done`);
      expect(await host.talk(id, 4100, 'word')).toBe('word');
      const socket = await host.channelPath(id);
      expect(await host.shell(id, `curl -s --unix-socket ${socket ?? ''} http://porthole/`)).toMatch(
        new RegExp(`^\\d+ ${id}\n$`),
      );
    });

    test('has it again after a stop, which leaves no process behind', async () => {
      await host.stop(id);
      const carriers = () => networks.inMachineNetwork(processesWith('pasta\0--foreground'));
      expect(await comesTrue(() => carriers().length === 0)).toBe(true);
      await host.resume(id);
      expect(await host.shell(id, reach([INTERNET, FORBIDDEN[3]]))).toBe(
        `${INTERNET}: the internet\n${FORBIDDEN[3]}: \n`,
      );
      expect(carriers()).not.toEqual([]);
    }, 30_000);

    test('is the only one that has it: without asking there is none', async () => {
      const plain = sandboxId();
      await host.create(plain);
      try {
        const ways = [INTERNET, ...FORBIDDEN, ...MACHINE];
        expect(await host.shell(plain, reach(ways))).toBe(SILENT(ways));
        expect(await host.shell(plain, 'ls /sys/class/net 2>/dev/null; cat /proc/net/route')).not.toContain(
          'tap0',
        );
      } finally {
        await host.destroy(plain);
      }
    }, 30_000);
  });
}

test('without isolation there is no network to ask for: it would be the machine’s own', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-egress-'));
  const provider = createLocalProvider({ dataDir: folder, isolation: 'none' });
  try {
    await expect(provider.create({ id: sandboxId(), network: true })).rejects.toMatchObject({
      code: 'network_not_supported',
      status: 501,
    });
    expect(await collect(provider.list())).toEqual([]);
    expect(await provider.enforcement(true)).toMatchObject({ network: null });
  } finally {
    await provider.close();
    rmSync(folder, { recursive: true });
  }
});
