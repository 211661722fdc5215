/** The kernel's answer about sockets that listen, against its tables. */
import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { openSocketDiagnosis, readListeners } from '#guest/listening-sockets.ts';
import { loadLibrary } from '#base/foreign-calls.ts';

test('says of each socket what the tables say, also of more than one answer holds', async () => {
  const ask = openSocketDiagnosis(loadLibrary());
  const hosts = ['127.0.0.1', '0.0.0.0', '::1', '::', ...Array.from({ length: 1_000 }, () => '127.0.0.2')];
  const servers = await Promise.all(
    hosts.map(async (host) => {
      const server = createServer().listen({ port: 0, host, ipv6Only: true });
      await once(server, 'listening');
      return server;
    }),
  );
  const ends = servers.map((server) => server.address() as AddressInfo);
  // Other programs may listen on the same port of another address.
  const own = new Set(ends.map(({ address, port }) => `${address} ${port}`));
  const client = connect(ends[0]?.port ?? 0, '127.0.0.1');
  await once(client, 'connect');
  const ofOurs = (sockets = readListeners()) =>
    sockets
      .filter(({ address, port }) => own.has(`${address} ${port}`))
      .toSorted((a, b) => a.port - b.port || (a.inode < b.inode ? -1 : 1));
  for (const _ of [1, 2]) {
    const found = ofOurs(ask());
    expect(found).toEqual(ofOurs());
    expect(found.length).toBeGreaterThanOrEqual(1_004);
    expect([...new Set(found.map(({ address }) => address))].toSorted()).toEqual([
      '0.0.0.0',
      '127.0.0.1',
      '127.0.0.2',
      '::',
      '::1',
    ]);
  }
  client.destroy();
  for (const server of servers) server.close();
  await Promise.all(servers.map((server) => once(server, 'close')));
  expect(ofOurs(ask())).toEqual(ofOurs());
});
