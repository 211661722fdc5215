import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { WebSocket } from 'ws';
import { PortStream } from '#adapters/kubernetes/sandboxes/port-stream.ts';
import { bytes, codeOf } from '#test/contracts/sandbox-provider.contract.ts';
import { type FakeStreams, fakeStreams } from '../fake-streams.ts';

let fake: FakeStreams | undefined;
afterEach(() => fake?.close());

const PORT = [0xa0, 0x0f];
const data = (text: string): Buffer => Buffer.concat([Buffer.from([0]), Buffer.from(text)]);
const failure = (text: string): Buffer => Buffer.concat([Buffer.from([1]), Buffer.from(text)]);
const heads = (socket: WebSocket): void => {
  socket.send(Buffer.from([0, ...PORT]));
  socket.send(Buffer.from([1, ...PORT]));
};
const REFUSED = 'failed to connect to localhost:4000: dial tcp4 127.0.0.1:4000: connect: connection refused';

async function opened(serve: (socket: WebSocket) => void, quietMs?: number): Promise<PortStream> {
  fake = await fakeStreams({
    socket: (socket) => {
      heads(socket);
      serve(socket);
    },
  });
  const socket = await fake.streams.socket(
    { path: '/portforward', what: 'portforward' },
    'v4.channel.k8s.io',
  );
  return new PortStream(socket, 'box', 4000, quietMs);
}

describe('a stream to a port', () => {
  test('ends when the sandbox ends it', async () => {
    const stream = await opened((socket) => socket.send(data('hello'), () => socket.close(1000)));
    expect((await bytes(stream)).toString()).toBe('hello');
  });

  test('ends once the sandbox is quiet when it has no more to send, and not before its answer', async () => {
    const stream = await opened((socket) => {
      socket.on('message', (message: Buffer) => {
        let left = 5;
        const answer = setInterval(() => {
          socket.send(data(`${message.subarray(1).toString()}${left}`));
          left -= 1;
          if (left === 0) clearInterval(answer);
        }, 300);
      });
    }, 1_000);
    stream.end('x');
    expect((await bytes(stream)).toString()).toBe('x5x4x3x2x1');
  });

  test.each<[string, string, (socket: WebSocket) => void]>([
    ['nothing_listens', 'it is refused', (socket) => socket.send(failure(REFUSED))],
    ['exec_transport_error', 'it fails otherwise', (socket) => socket.send(failure('pod has gone'))],
    ['exec_transport_error', 'the connection breaks', (socket) => socket.terminate()],
    [
      'exec_transport_error',
      'a message comes on another channel',
      (socket) => socket.send(Buffer.from([7, 1])),
    ],
    ['exec_transport_error', 'a message is too long', (socket) => socket.send(Buffer.alloc(2_000_000))],
  ])('fails with %s where %s', async (code, _title, serve) => {
    const stream = await opened(serve);
    expect(await codeOf(bytes(stream))).toBe(code);
  });

  test('pauses while it is not read', async () => {
    let sent = 0;
    const stream = await opened((socket) => {
      const chunk = data('x'.repeat(32_768));
      const next = (): void => {
        sent += 32_768;
        if (sent < 64 * 1024 * 1024) socket.send(chunk, next);
      };
      next();
    });
    await once(stream, 'readable');
    for (let before = -1; before !== sent; ) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(sent).toBeLessThan(64 * 1024 * 1024);
    expect(stream.readableLength).toBeLessThan(256 * 1024);
    stream.destroy();
  });
});
