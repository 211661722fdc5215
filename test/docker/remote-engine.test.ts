/** An engine reached over TCP, with mutual TLS. */
import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { engineAddress } from '#adapters/docker/engine-address.ts';
import { codeOf, run, sandboxId, serve, talk } from '#test/contracts/sandbox-provider.contract.ts';
import {
  authorityFiles,
  issueCertificate,
  makeAuthority,
} from '#test/cluster/fixture/certificate-authority.ts';
import { suite } from '#test/support/suite.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';

suite('an engine behind TLS', engineMissing(), () => {
  let engine: TestEngine;
  let folder: string;
  let server: Server;
  const connections = new Set<TLSSocket>();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-engine-tls-'));
    await makeAuthority(folder);
    const certificates = await issueCertificate(folder, 'server', {
      commonName: 'engine',
      use: 'server',
      addresses: ['127.0.0.1'],
    });
    await issueCertificate(folder, 'cert', { commonName: 'porthole', use: 'client' });
    const ca = authorityFiles(folder).certificate;
    for (const [from, name] of [
      [ca, 'ca.pem'],
      [join(folder, 'cert.crt'), 'cert.pem'],
      [join(folder, 'cert.key'), 'key.pem'],
    ] as const)
      renameSync(from, join(folder, name));
    engine = await openTestEngine();
    server = createServer(
      {
        ca: readFileSync(join(folder, 'ca.pem')),
        cert: certificates.certificate,
        key: certificates.key,
        requestCert: true,
        allowHalfOpen: true,
      },
      (socket) => {
        connections.add(socket);
        const inner = connect({ path: engine.host.replace('unix://', ''), allowHalfOpen: true });
        for (const each of [socket, inner]) {
          each.on('error', () => {});
          each.once('close', () => [socket, inner].forEach((one) => one.destroy()));
        }
        socket.pipe(inner).pipe(socket);
      },
    );
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }, 120_000);
  afterAll(async () => {
    for (const socket of connections) socket.destroy();
    server.close();
    await engine.stop();
    rmSync(folder, { recursive: true });
  });

  const address = () => engineAddress(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`, true);

  test('runs commands, terminals and streams to ports; only the channel is not there', async () => {
    const provider = engine.openProvider({ engine: { address: address(), certificates: folder } });
    const id = sandboxId();
    await provider.create({ id });
    expect(provider.channelPath()).toBeUndefined();
    const input = Buffer.alloc(1_000_000, 'x');
    expect(await run(provider, id, ['wc', '-c'], { input })).toEqual({
      exit: { code: 0 },
      stdout: '1000000\n',
      stderr: '',
    });
    expect(
      await run(provider, id, ['sh', '-c', 'stty size; exit 3'], { tty: { cols: 91, rows: 31 } }),
    ).toEqual({
      exit: { code: 3 },
      stdout: '31 91\r\n',
      stderr: '',
    });
    const port = await serve(provider, id, 'far');
    expect(await talk(await provider.dial(id, port), 'ping')).toBe('far:ping');
    await provider.destroy(id);
    await provider.close();
  });

  test('is not reached without the certificate that it asks for', async () => {
    const other = join(folder, 'other');
    const stranger = engine.openProvider({ engine: { address: address() } });
    expect(await codeOf(stranger.create({ id: sandboxId() }))).toBe('exec_transport_error');
    await stranger.close();
    expect(() => engine.openProvider({ engine: { address: address(), certificates: other } })).toThrow(
      'ENOENT',
    );
  });
});
