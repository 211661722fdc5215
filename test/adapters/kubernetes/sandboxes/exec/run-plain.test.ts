/** Our own short commands, on a server that cuts them off. */
import { afterEach, describe, expect, test } from '@jest/globals';
import type { WebSocket } from 'ws';
import { collection, PODS } from '#adapters/kubernetes/client/collection.ts';
import { runPlain } from '#adapters/kubernetes/sandboxes/exec/run-plain.ts';
import { type FakeStreams, fakeStreams } from '../fake-streams.ts';

let fake: FakeStreams | undefined;
afterEach(() => fake?.close());

const POD = { name: 'box', uid: 'u', container: 'sandbox', containerId: 'c' };
const SUCCESS = Buffer.from('\x03{"status":"Success"}');

async function outcome(serve: (socket: WebSocket, mark: string, command: readonly string[]) => void) {
  fake = await fakeStreams({
    socket: (socket, url) => {
      const command = new URL(url, 'http://host').searchParams.getAll('command');
      serve(socket, command[3] ?? '', command.slice(4));
    },
  });
  return runPlain(fake.streams, collection(PODS, 'ns'), POD, ['cat', 'file'], AbortSignal.timeout(5_000));
}

describe('a short command in a pod', () => {
  test('ends with the code that follows its output, before any Status', async () => {
    const { code, stdout } = await outcome((socket, mark, command) => {
      socket.send(Buffer.from(`\x01${command.join(' ')}${mark} `));
      socket.send(Buffer.from('\x017\n'));
    });
    expect({ code, stdout }).toEqual({ code: 7, stdout: 'cat file' });
  });

  test.each<[string, (socket: WebSocket, mark: string) => void]>([
    ['success without the end of its output', (socket) => socket.send(SUCCESS)],
    [
      'success in the middle of its end',
      (socket, mark) => {
        socket.send(Buffer.from(`\x01${mark} `));
        socket.send(SUCCESS);
      },
    ],
    [
      'a failure',
      (socket) => socket.send(Buffer.from('\x03{"status":"Failure","message":"no such container"}')),
    ],
    ['nothing', (socket) => socket.close()],
  ])('is lost where the Status says %s', async (_title, serve) => {
    await expect(outcome(serve)).rejects.toThrow(/end mark|no such container|connection was lost/);
  });
});
