/** The docker provider on a real engine. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DockerProvider } from '#adapters/docker/docker-provider.ts';
import { persistWorkspace } from '#core/files/persist-workspace.ts';
import {
  bytes,
  codeOf,
  eventually,
  lives,
  run,
  sandboxId,
  sandboxProviderContract,
  serve,
  until,
} from '#test/contracts/sandbox-provider.contract.ts';
import { command } from '#test/cluster/fixture/command.ts';
import { suite } from '#test/support/suite.ts';
import { confinedContainer } from './support/confined-container.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';

async function listed(provider: DockerProvider & TestProvider): Promise<string[]> {
  const ids: string[] = [];
  for await (const id of provider.list()) ids.push(id);
  return ids;
}

suite('docker provider', engineMissing(), () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await openTestEngine();
  }, 120_000);
  afterAll(() => engine.stop());

  describe('its contract', () => {
    sandboxProviderContract(async () => engine.openProvider(), { ownNetwork: true });
  });

  describe('on an engine', () => {
    let provider: DockerProvider & TestProvider;
    const made: string[] = [];
    const fresh = (): string => {
      const id = sandboxId();
      made.push(id);
      return id;
    };
    const sh = (id: string, script: string, of = provider) => run(of, id, ['sh', '-c', script]);
    const nameOf = async (id: string) => (await provider.inspect(id)).podName;

    beforeAll(() => {
      provider = engine.openProvider();
    });
    afterAll(async () => {
      for (const id of made) await provider.destroy(id);
      await provider.close();
    });

    test('accepts an id of 128 characters, and lists it in full', async () => {
      const id = 'a'.repeat(128);
      made.push(id);
      await provider.create({ id });
      expect((await sh(id, 'echo "$SANDBOX_ID"')).stdout).toBe(`${id}\n`);
      expect(await listed(provider)).toContain(id);
      await provider.destroy(id);
    });

    test('keeps another installation from seeing, using or destroying a sandbox, and lets it have one of the same id', async () => {
      const other = engine.openProvider();
      const id = fresh();
      await provider.create({ id });
      expect(await listed(other)).toEqual([]);
      expect(await other.inspect(id)).toMatchObject({ state: 'absent' });
      expect(await codeOf(other.exec(id, { argv: ['true'] }))).toBe('sandbox_not_found');
      await other.create({ id });
      await sh(id, 'touch theirs', other);
      await other.destroy(id);
      expect((await sh(id, 'ls')).stdout).toBe('outputs\n');
      await other.close();
    });

    test.each([
      ['its registry does not answer', '127.0.0.1:1/none:1', 'sandbox_not_running'],
      ['it is no name', 'NO/image', 'invalid_request'],
      ['it is a path', '../containers/json', 'invalid_request'],
      ['it is a query', 'a?b=c', 'invalid_request'],
      ['it is empty', '', 'invalid_request'],
    ])('refuses an image and leaves nothing where %s', async (_title, image, code) => {
      const id = fresh();
      expect(await codeOf(provider.create({ id, image }))).toBe(code);
      expect(await provider.inspect(id)).toMatchObject({ state: 'absent' });
    });

    test('rejects an aborted create with the reason, and continues with another create', async () => {
      const id = fresh();
      const name = await nameOf(id);
      const abort = new AbortController();
      const creating = provider.create({ id }, abort.signal);
      const isThere = () =>
        engine.docker
          .getVolume(name)
          .inspect()
          .then(
            () => true,
            () => false,
          );
      expect(await eventually(isThere)).toBe(true);
      abort.abort(new Error('crashed'));
      await expect(creating).rejects.toThrow('crashed');
      await provider.create({ id });
      expect(await provider.inspect(id)).toMatchObject({ state: 'running' });
    });

    test('reports a container that was made and not started as creating, and starts it on create', async () => {
      const id = fresh();
      await provider.create({ id });
      const container = engine.docker.getContainer(await nameOf(id));
      const { Config, HostConfig, Name } = await container.inspect();
      await container.remove({ force: true });
      await engine.docker.createContainer({ ...Config, HostConfig, name: Name.slice(1) });
      expect(await provider.inspect(id)).toMatchObject({ state: 'creating' });
      expect(await codeOf(provider.exec(id, { argv: ['true'] }))).toBe('sandbox_not_running');
      await provider.create({ id });
      expect((await sh(id, 'echo up')).stdout).toBe('up\n');
    });

    test('reports a sandbox as stopped when its container was removed, and resumes it with the image and files it had', async () => {
      const installation = sandboxId();
      const first = engine.openProvider({ installation });
      const second = engine.openProvider({ installation, image: engine.image });
      const id = sandboxId();
      await first.create({ id, image: engine.plainImage });
      await sh(id, 'echo kept > kept', first);
      const { podName } = await first.inspect(id);
      await engine.docker.getContainer(podName).remove({ force: true });
      expect(await codeOf(first.exec(id, { argv: ['true'] }))).toBe('sandbox_not_running');
      expect(await first.inspect(id)).toEqual({ state: 'stopped', podName });
      await second.resume(id);
      expect((await sh(id, 'cat kept; ls -L /bin/busybox', second)).stdout).toBe('kept\n/bin/busybox\n');
      await second.destroy(id);
      await Promise.all([first.close(), second.close()]);
    });

    test.each([
      [
        'was killed',
        (name: string) => engine.docker.getContainer(name).kill(),
        /its container has ended with code 137/,
      ],
      ['was paused', (name: string) => engine.docker.getContainer(name).pause(), /paused/],
    ])(
      'reports a container that %s as a stopped sandbox with the reason, and resumes it',
      async (_title, harm, reason) => {
        const id = fresh();
        await provider.create({ id });
        await harm(await nameOf(id));
        expect(await provider.inspect(id)).toMatchObject({
          state: 'stopped',
          reason: expect.stringMatching(reason),
        });
        expect(await codeOf(provider.exec(id, { argv: ['true'] }))).toBe('sandbox_not_running');
        await provider.resume(id);
        expect((await sh(id, 'echo up')).stdout).toBe('up\n');
      },
    );

    test('neither uses nor removes a container and a volume of the same name that are not ours', async () => {
      const { docker } = engine;
      const [one, two] = [fresh(), fresh()];
      const volume = await nameOf(one);
      await docker.createVolume({ Name: volume });
      expect(await provider.inspect(one)).toEqual({ state: 'absent', podName: volume });
      expect(await codeOf(provider.create({ id: one }))).toBe('internal_error');
      await provider.destroy(one);
      expect((await docker.getVolume(volume).inspect()).Name).toBe(volume);
      await docker.getVolume(volume).remove();

      const foreign = await docker.createContainer({ Image: engine.plainImage, name: await nameOf(two) });
      expect(await codeOf(provider.create({ id: two }))).toBe('internal_error');
      await provider.destroy(two);
      expect((await foreign.inspect()).State.Status).toBe('created');
      await foreign.remove();
    });

    test('names an engine that does not answer, with the remedy', async () => {
      const none = withGuests(
        new DockerProvider({
          engine: { address: { kind: 'socket', path: '/nowhere/docker.sock' } },
          installation: 'none',
          image: engine.image,
          channels: '/nowhere',
        }),
      );
      const failure = await none.create({ id: sandboxId() }).catch((error: unknown) => error);
      expect(failure).toMatchObject({
        code: 'exec_transport_error',
        message: expect.stringMatching(
          /no answer from the container engine at unix:\/\/\/nowhere\/docker\.sock \(ENOENT\)\. Is it running, and is DOCKER_HOST right\?/,
        ),
      });
      await none.close();
    });

    test('stops its sandboxes when the engine is killed and started again, and resumes them with their files', async () => {
      const id = fresh();
      await provider.create({ id });
      await sh(id, 'echo kept > kept; sync');
      const process = await provider.exec(id, { argv: ['sh', '-c', 'echo up; exec sleep 1000'] });
      await until(process.stdout, 'up');
      const port = await serve(provider, id, 'gone');
      const stream = await provider.dial(id, port);
      await until(stream, 'gone:');
      const lost = once(stream, 'error');
      await engine.restart();
      expect(await codeOf(process.exited)).toBe('exec_transport_error');
      expect(await lost).toMatchObject([{ code: 'exec_transport_error' }]);
      expect(await provider.inspect(id)).toMatchObject({ state: 'stopped' });
      expect(await codeOf(provider.exec(id, { argv: ['true'] }))).toBe('sandbox_not_running');
      await provider.resume(id);
      expect((await sh(id, 'cat kept')).stdout).toBe('kept\n');
    });

    test('loses only the channel when the engine does not see its folder', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'porthole-unseen-'));
      await command(['mount', '-t', 'tmpfs', 'tmpfs', folder]);
      const unseen = engine.openProvider({ channels: folder });
      const id = sandboxId();
      try {
        await unseen.serveChannels({ calls: () => createServer() });
        expect(unseen.channelPath()).toBe('/run/porthole/porthole.sock');
        await unseen.create({ id });
        expect((await sh(id, 'echo up', unseen)).stdout).toBe('up\n');
        expect(unseen.channelPath()).toBeUndefined();
        await unseen.destroy(id);
      } finally {
        await unseen.close();
        await command(['umount', folder]);
        rmSync(folder, { recursive: true });
      }
    });

    test('ends the commands that a closed provider reads, and leaves the sandbox and what runs in its background', async () => {
      const installation = sandboxId();
      const first = engine.openProvider({ installation });
      const second = engine.openProvider({ installation });
      const id = sandboxId();
      await first.create({ id });
      await sh(id, `sh -c 'while :; do sleep 1; done' background-${id}: &`, first);
      const heard = await first.exec(id, { argv: ['sh', '-c', `echo up; sleep 1000; :`, `heard-${id}:`] });
      await until(heard.stdout, 'up');
      await first.close();
      expect(await codeOf(heard.exited)).toBe('exec_transport_error');
      expect(await lives(second, id, `heard-${id}`)).toBe(false);
      expect(await lives(second, id, `background-${id}`)).toBe(true);
      await second.destroy(id);
      await second.close();
    });

    test('says what it enforces: here no quotas, as this file system counts none', async () => {
      const probe = await provider.probe();
      expect(probe).toMatchObject({ name: expect.stringMatching(/^Docker \d+\./), unenforced: [] });
      expect(probe.warnings).toHaveLength(probe.hasQuotas ? 0 : 1);
    });
  });

  confinedContainer(() => engine);

  describe.each<[string, () => Promise<string>, readonly [string, ...string[]]]>([
    ['a shell and busybox', async () => engine.plainImage, ['busybox']],
    [
      'one program, without a shell, a libc or its own folder',
      () => engine.loadProgram('static', []),
      ['/busybox'],
    ],
    [
      'variables for another Node and another loader',
      () =>
        engine.loadProgram('variables', [
          'NODE_OPTIONS=--require=/none',
          'LD_PRELOAD=/none.so',
          'LD_LIBRARY_PATH=/x',
        ]),
      ['/busybox'],
    ],
  ])('with an image of %s', (_title, load, program) => {
    let provider: DockerProvider & TestProvider;
    const id = sandboxId();

    beforeAll(async () => {
      provider = engine.openProvider({ image: await load() });
      await provider.create({ id });
    });
    afterAll(async () => {
      await provider.destroy(id);
      await provider.close();
    });

    test('runs commands as the user, and gives /workspace to the user', async () => {
      expect(await run(provider, id, [...program, 'id', '-u'])).toEqual({
        exit: { code: 0 },
        stdout: '1000\n',
        stderr: '',
      });
      await run(provider, id, [...program, 'touch', 'mark']);
      expect((await run(provider, id, [...program, 'ls'])).stdout).toBe('mark\noutputs\n');
    });

    test('terminals have their size', async () => {
      const tty = { cols: 91, rows: 31 };
      expect((await run(provider, id, [...program, 'stty', 'size'], { tty })).stdout).toBe('31 91\r\n');
    });

    test('streams reach a port, and one where nothing listens is named', async () => {
      const argv = [...program, 'httpd', '-f', '-p', '127.0.0.1:4000', '-h', '/workspace'] as const;
      const server = await provider.exec(id, { argv });
      server.stdout.resume();
      server.stderr.resume();
      let stream: Duplex | undefined;
      const dialled = async (): Promise<boolean> => {
        stream = await provider.dial(id, 4000).catch(() => undefined);
        return stream !== undefined;
      };
      expect(await eventually(dialled)).toBe(true);
      stream?.write('GET /mark HTTP/1.0\r\n\r\n');
      expect((await bytes(stream as Duplex)).toString()).toMatch(/^HTTP\/1\.\d 200 OK\r\n/);
      expect(await codeOf(provider.dial(id, 4001))).toBe('nothing_listens');
    });

    test('orphans are buried', async () => {
      const processes = async (): Promise<number> =>
        (await run(provider, id, [...program, 'ps'])).stdout.split('\n').length;
      const before = await processes();
      await run(provider, id, [...program, 'sh', '-c', `${program.join(' ')} sleep 0.3 &`]);
      expect(await processes()).toBeGreaterThan(before);
      expect(await eventually(async () => (await processes()) <= before)).toBe(true);
    });
  });

  describe('with an image of a shell and busybox', () => {
    test('continues an archive after a file that cannot be read', async () => {
      const provider = engine.openProvider({ image: engine.plainImage });
      const id = sandboxId();
      await provider.create({ id });
      await run(provider, id, ['sh', '-c', 'touch mark shut; chmod 0 shut']);
      const { tar, leftOut } = await persistWorkspace({ sandboxes: provider }, id);
      expect((await bytes(tar)).toString()).toContain('./mark');
      expect(leftOut()).toBe(1);
      await provider.destroy(id);
      await provider.close();
    });
  });

  describe('the volume of the guest', () => {
    test('is made once, is shared by hosts that start at the same time, and is read-only', async () => {
      for (const { Id } of await engine.docker.listContainers({ all: true })) {
        await engine.docker.getContainer(Id).remove({ force: true });
      }
      const guests = async () =>
        (
          await engine.docker.listVolumes({ filters: { label: ['porthole.sandbox.users.io/guest'] } })
        ).Volumes.map(({ Name }) => Name);
      for (const name of await guests()) await engine.docker.getVolume(name).remove();
      const providers = [engine.openProvider(), engine.openProvider()];
      const ids = [sandboxId(), sandboxId()];
      await Promise.all(providers.map((each, at) => each.create({ id: ids[at] ?? '' })));
      expect((await guests()).toSorted()).toEqual([
        expect.stringMatching(/^porthole-guest-[0-9a-f]{16}$/),
        expect.stringMatching(/^porthole-guest-[0-9a-f]{16}-whole$/),
      ]);
      const [provider] = providers as [DockerProvider & TestProvider];
      const { stderr } = await run(provider, ids[0] ?? '', ['sh', '-c', 'echo x >/porthole/guest.js']);
      expect(stderr).toMatch(/read-only/i);
      for (const [at, each] of providers.entries()) {
        await each.destroy(ids[at] ?? '');
        await each.close();
      }
    });
  });
});
