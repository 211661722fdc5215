/** The example of a further provider, on a real Podman. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import Docker from 'dockerode';
import type { SandboxSpec } from '#core/sandboxes/sandbox-provider.ts';
import { PodmanProvider } from '../../examples/podman/podman-provider.ts';
import { sandboxImage } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { command } from '#test/cluster/fixture/command.ts';
import { untilReady } from '#test/cluster/fixture/until-ready.ts';
import { findProgram } from '#test/cluster/images/find-program.ts';
import {
  codeOf,
  eventually,
  run,
  sandboxId,
  sandboxProviderContract,
} from '#test/contracts/sandbox-provider.contract.ts';
import { type Missing, suite } from '#test/support/suite.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';

const IMAGE = 'porthole.test/podman-sandbox:1';

function podmanMissing(): Missing {
  if (process.geteuid?.() !== 0) return 'Podman needs root here: run it with sudo';
  if (findProgram('podman').length === 0) return 'podman is missing: apt-get install podman';
  return undefined;
}

interface TestPodman {
  readonly openProvider: (installation?: string) => TestProvider;
  readonly docker: Docker;
  readonly socket: string;
  stop(): Promise<void>;
}

/** Starts Podman's service with separate storage, locks and cgroups. */
async function startPodman(): Promise<TestPodman> {
  // Podman takes a runroot of at most 50 characters.
  const folder = mkdtempSync(join(tmpdir(), 'podman-'));
  const [socket, root, configuration] = ['podman.sock', 'root', 'containers.conf'].map((each) =>
    join(folder, each),
  ) as [string, string, string];
  const engine = {
    cgroup_manager: 'cgroupfs',
    events_logger: 'none',
    lock_type: 'file',
    tmp_dir: join(folder, 'tmp'),
    // crun refuses a machine with cgroups of both versions.
    ...(findProgram('runc').length > 0 && { runtime: 'runc' }),
  };
  const lines = Object.entries(engine).map(([name, value]) => `${name} = "${value}"`);
  writeFileSync(configuration, ['[engine]', ...lines, ''].join('\n'));
  const env = { ...process.env, CONTAINERS_CONF: configuration };
  const argv = ['podman', '--root', root, '--runroot', join(folder, 'run')];
  const service = spawn(
    argv[0] ?? '',
    [...argv.slice(1), 'system', 'service', '--time', '0', `unix://${socket}`],
    {
      // Its monitors write a file `oom` there.
      cwd: folder,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const said = text(service.stderr);
  const ended = once(service, 'exit');
  const early = ended.then(async () => {
    throw new Error(`podman has ended: ${(await said).slice(-2_000)}`);
  });
  early.catch(() => {});
  const stop = async (): Promise<void> => {
    await command([...argv, 'rm', '--all', '--force', '--time', '0'], { env });
    service.kill('SIGTERM');
    await ended;
    // Podman mounts this folder on itself.
    await command(['umount', '--lazy', join(root, 'overlay')]).catch(() => {});
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.race([early, untilReady({ kind: 'socket', path: socket })]);
    const docker = new Docker({ socketPath: socket });
    const loaded = await docker.loadImage(Readable.from([await sandboxImage(IMAGE)]));
    expect(await text(loaded)).toContain('Loaded image');
    return {
      docker,
      socket,
      openProvider: (installation = folder) =>
        withGuests(new PodmanProvider({ socket, installation, image: IMAGE })),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

suite('podman provider', podmanMissing(), () => {
  let podman: TestPodman;
  beforeAll(async () => {
    podman = await startPodman();
  }, 120_000);
  afterAll(() => podman.stop(), 60_000);

  describe('its contract', () => {
    sandboxProviderContract(async () => podman.openProvider(), { ownNetwork: true });
  });

  describe('on an engine', () => {
    let provider: TestProvider;
    const made: string[] = [];
    const create = async (spec: Omit<SandboxSpec, 'id'> = {}, of = provider): Promise<string> => {
      const id = sandboxId();
      made.push(id);
      await of.create({ id, ...spec });
      return id;
    };
    const sh = async (id: string, script: string, of = provider) =>
      (await run(of, id, ['sh', '-c', script])).stdout;

    beforeAll(() => {
      provider = podman.openProvider();
    });
    afterAll(async () => {
      for (const id of made) await provider.destroy(id);
      await provider.close();
    });

    test('gives code no right, no network, and only its folders to write to', async () => {
      const id = await create();
      const script = `id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr '\\n' ' '
        tail -n +3 /proc/net/dev | grep -o '[a-z0-9]*:'
        for each in / /usr /etc /run /porthole /workspace /tmp "$HOME"; do
          touch "$each/mark" 2>/dev/null && echo "$each"; done`;
      expect((await sh(id, script)).split(/\s+/).join(' ')).toBe(
        '1000 CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 lo: /workspace /tmp /home/sandbox ',
      );
    });

    test('enforces the limits of memory and processes, which a resumed sandbox keeps', async () => {
      const id = await create({ resources: { memoryMb: 256 } });
      await provider.stop(id);
      await provider.resume(id);
      const eat = 'const all = []; for (;;) all.push(Buffer.alloc(16 * 1024 * 1024, 1));';
      expect((await run(provider, id, ['node', '-e', eat])).exit).toEqual({ signal: 'SIGKILL' });
      expect(await sh(id, 'echo up')).toBe('up\n');
      expect(await provider.enforcement(false)).toMatchObject({ memoryMb: 'cgroup', processes: 'cgroup' });
    });

    test('reports a sandbox as stopped with the reason when its container was killed, and resumes it', async () => {
      const id = await create();
      await sh(id, 'echo kept > kept');
      const { podName } = await provider.inspect(id);
      await podman.docker.getContainer(podName).kill();
      expect(await eventually(async () => (await provider.inspect(id)).state === 'stopped')).toBe(true);
      expect((await provider.inspect(id)).reason).toBe('its container has ended with code 137');
      expect(await codeOf(provider.exec(id, { argv: ['true'] }))).toBe('sandbox_not_running');
      await provider.resume(id);
      expect(await sh(id, 'cat kept')).toBe('kept\n');
    });

    test('finds a sandbox running after a restart of the host, and hides it from other installations', async () => {
      const id = await create();
      const [next, other] = [podman.openProvider(), podman.openProvider('other')];
      expect(await sh(id, 'echo up', next)).toBe('up\n');
      expect(await other.inspect(id)).toMatchObject({ state: 'absent' });
      for await (const each of other.list()) throw new Error(`it lists ${each}`);
      await other.destroy(id);
      expect(await sh(id, 'echo up', next)).toBe('up\n');
      await Promise.all([next.close(), other.close()]);
    });

    test('refuses an image that cannot be pulled, and a network, and leaves nothing', async () => {
      const id = sandboxId();
      expect(await codeOf(provider.create({ id, image: '127.0.0.1:1/none:1' }))).toBe('sandbox_not_running');
      expect(await codeOf(provider.create({ id, network: true }))).toBe('network_not_supported');
      expect(await provider.inspect(id)).toMatchObject({ state: 'absent' });
    });
  });

  test('runs a command by the example program, which destroys its sandbox', async () => {
    const main = new URL('../../examples/podman/main.ts', import.meta.url).pathname;
    const argv = ['--disable-warning=ExperimentalWarning', main, '--image', IMAGE, '--', 'echo', 'hello'];
    const env = { ...process.env, PODMAN_SOCKET: podman.socket };
    expect(await command([process.execPath, ...argv], { env })).toBe('hello\n');
    const left = await podman.docker.listContainers({ all: true });
    expect(left).toEqual([]);
  });
});
