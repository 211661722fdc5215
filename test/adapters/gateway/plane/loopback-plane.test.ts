import { connect } from 'node:net';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { createLoopbackPlane } from '#adapters/gateway/plane/loopback-plane.ts';
import { PortholeError } from '#core/errors.ts';
import { previewPlaneContract } from '#test/contracts/preview-plane.contract.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');
const SANDBOX = { id: 'box', podName: 'box', listens: 3000, silent: 3001 };

previewPlaneContract(
  'loopback listeners',
  async () => {
    const plane = createLoopbackPlane({
      maxTotal: 40,
      clock: pinnedClock(NOON),
      provider: {
        async dial(_id, port) {
          if (port !== SANDBOX.listens) throw new PortholeError('nothing_listens', 'Nothing listens.');
          // Says again what it hears.
          return new PassThrough();
        },
      },
    });
    return {
      plane,
      capacity: 40,
      sandbox: SANDBOX,
      now: () => NOON,
      async reaches({ localPort }) {
        const client = connect(localPort, '127.0.0.1');
        try {
          await once(client, 'connect');
          client.write('hello');
          const [said] = (await once(client, 'data')) as [Buffer];
          return said.toString() === 'hello';
        } catch {
          return false;
        } finally {
          client.destroy();
        }
      },
      dispose: () => plane.closeAll(),
    };
  },
  { runs: 60 },
);
