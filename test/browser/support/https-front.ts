import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { issueCertificate, makeAuthority } from '#test/cluster/fixture/certificate-authority.ts';

export interface HttpsFront {
  readonly port: number;
  /** Forwards later connections to this port of 127.0.0.1. */
  leadTo(port: number): void;
  close(): Promise<void>;
}

/**
 * A TLS terminator in front of Porthole, with a certificate for these names that no browser trusts.
 */
export async function startHttpsFront(dnsNames: readonly string[]): Promise<HttpsFront> {
  const folder = await mkdtemp(join(tmpdir(), 'porthole-front-'));
  try {
    await makeAuthority(folder);
    const { certificate, key } = await issueCertificate(folder, 'front', {
      commonName: 'front',
      use: 'server',
      dnsNames,
    });
    let target = 0;
    const open = new Set<Socket>();
    const server = createServer({ cert: certificate, key, ALPNProtocols: ['http/1.1'] }, (outer) => {
      const inner = connect(target, '127.0.0.1');
      for (const [one, other] of [
        [outer, inner],
        [inner, outer],
      ] as const) {
        open.add(one);
        one.pipe(other);
        one.once('error', () => other.destroy());
        one.once('close', () => {
          open.delete(one);
          other.destroy();
        });
      }
    });
    // Browsers abort on an untrusted certificate.
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {
      port: (server.address() as AddressInfo).port,
      leadTo: (port) => {
        target = port;
      },
      async close() {
        const closed = once(server, 'close');
        server.close();
        for (const socket of open) socket.destroy();
        await closed;
      },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
