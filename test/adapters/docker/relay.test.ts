/** The relay in each of its languages, run on this machine, and the stream on top of it. */
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { relayCommand } from '#adapters/docker/dial/relay-programs.ts';
import { RelayStream } from '#adapters/docker/dial/relay-stream.ts';
import { bytes, codeOf, until } from '#test/contracts/sandbox-provider.contract.ts';
import { findProgram } from '#test/cluster/images/find-program.ts';
import { suite } from '#test/support/suite.ts';

/** Multiplexes as an engine does. */
function frame(stream: 1 | 2, payload: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(payload.length, 4);
  return Buffer.concat([head, payload]);
}

/** A relay as a process of this machine, on a stream such as an engine gives. */
function relay(port: number, path: string): { socket: Duplex; outcome: Promise<number>; pid: number } {
  const [program, ...args] = relayCommand(port);
  const child = spawn(program, args, { env: { PATH: path }, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => {});
  const socket = new Duplex({
    read: () => {
      child.stdout.resume();
    },
    write: (chunk: Buffer, _encoding, done) => child.stdin.write(chunk, (error) => done(error && null)),
    final: (done) => child.stdin.end(done),
    destroy: (error, done) => {
      child.stdin.destroy();
      done(error);
    },
  });
  child.stdout.on('data', (piece: Buffer) => {
    if (!socket.destroyed && !socket.push(frame(1, piece))) child.stdout.pause();
  });
  child.stderr.on('data', (piece: Buffer) => socket.destroyed || socket.push(frame(2, piece)));
  const outcome = once(child, 'close').then(([code]) => {
    if (!socket.destroyed) socket.push(null);
    return (code as number | null) ?? 137;
  });
  return { socket, outcome, pid: child.pid ?? 0 };
}

async function listening(serve: (socket: Socket) => void, host = '127.0.0.1'): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, serve);
  server.listen(0, host);
  await once(server, 'listening');
  return server;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

for (const language of ['perl', 'python3', 'node', 'bash'] as const) {
  const [program] = language === 'node' ? [process.execPath] : realProgram(language);
  suite(
    `a relay in ${language}`,
    program === undefined ? `no ${language}: apt-get install ${language}` : undefined,
    () => {
      let path: string;
      const isRaw = language === 'bash';
      beforeAll(() => {
        path = mkdtempSync(join(tmpdir(), 'porthole-relay-'));
        for (const [name, from] of [
          [language, program ?? ''],
          ['sh', '/bin/sh'],
          ['cat', '/bin/cat'],
        ] as const)
          symlinkSync(from, join(path, name));
      });
      afterAll(() => rmSync(path, { recursive: true }));

      const dial = (port: number, quietMs = 200) => {
        const { socket, outcome, pid } = relay(port, path);
        const stream = new RelayStream(socket, { id: 'box', port, outcome: () => outcome, quietMs });
        return { stream, outcome, pid };
      };

      test.each(['127.0.0.1', '::1'])('reaches a server on %s', async (host) => {
        const server = await listening((socket) => socket.pipe(socket), host);
        const { stream, outcome } = dial(portOf(server));
        await stream.connected;
        stream.write('hello');
        expect(await until(stream, 'hello')).toBe('hello');
        stream.destroy();
        await outcome;
        server.close();
      });

      test('says that nothing listens', async () => {
        const server = await listening(() => {});
        const port = portOf(server);
        server.close();
        await once(server, 'close');
        const { stream } = dial(port);
        expect(await codeOf(stream.connected)).toBe('nothing_listens');
      });

      test('carries megabytes both ways unchanged, and ends when both have', async () => {
        const server = await listening((socket) => socket.pipe(socket));
        const { stream, outcome } = dial(portOf(server), 1_000);
        await stream.connected;
        const data = randomBytes(3_000_000);
        stream.end(data);
        expect((await bytes(stream)).equals(data)).toBe(true);
        stream.destroy();
        await outcome;
        server.close();
      });

      test('passes on the end of a server that goes first, with all it said', async () => {
        const answer = randomBytes(1_000_000);
        const server = await listening((socket) => socket.end(answer));
        const { stream, outcome } = dial(portOf(server));
        expect((await bytes(stream)).equals(answer)).toBe(true);
        stream.destroy();
        await outcome;
        server.close();
      });

      test('ends with the stream, although the server goes on', async () => {
        const ended = Promise.withResolvers<void>();
        const server = await listening((socket) => {
          socket.write('first');
          socket.on('error', () => {});
          socket.once('close', () => ended.resolve());
          socket.once('end', () => socket.end());
        });
        const { stream, outcome } = dial(portOf(server));
        await until(stream, 'first');
        stream.destroy();
        await Promise.all([ended.promise, outcome]);
        server.close();
      });

      if (!isRaw) {
        test('tells a connection that was reset from one that was ended', async () => {
          const server = await listening((socket) => {
            socket.write('first');
            socket.once('data', () => socket.resetAndDestroy());
          });
          const { stream, outcome } = dial(portOf(server));
          await until(stream, 'first');
          stream.write('go');
          expect(await codeOf(bytes(stream))).toBe('exec_transport_error');
          await outcome;
          server.close();
        });
      }

      if (language === 'python3' || language === 'node') {
        test('that is killed is a lost connection, never an end', async () => {
          const server = await listening((socket) => {
            socket.on('error', () => {});
            socket.write('first');
          });
          const { stream, pid } = dial(portOf(server));
          await until(stream, 'first');
          process.kill(pid, 'SIGKILL');
          expect(await codeOf(bytes(stream))).toBe('exec_transport_error');
          server.close();
        });
      }
    },
  );
}

/** Not one of the scripts that some machines put before it. */
function realProgram(name: string): string[] {
  return findProgram(name, '/usr/bin:/bin').filter((file) => spawnSync(file, ['--version']).status === 0);
}
