/** What a container with a network reaches, tried on a real engine, with a network of the test's own in the place of the internet. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findCarrier } from '#adapters/local/egress/carriers.ts';
import type { DockerProvider } from '#adapters/docker/docker-provider.ts';
import { comesTrue, processesWith } from '#test/adapters/local/host-processes.ts';
import { run, sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';

/** Of the range that nobody routes (RFC 2544), and apart from what other suites use of it. */
const HERE = '198.18.77.1';
const INTERNET = '198.18.77.2';
const PRIVATE = '10.255.77.2';
const PORT = 8080;
const DEVICE = 'porthole-net';
const SERVER = `require('net').createServer((c) => { c.on('error', () => {}); c.end('reached'); }).listen(${PORT}, '0.0.0.0', () => console.log('up'))`;

const found = findCarrier(['slirp4netns']);
const carrierMissing = 'missing' in found ? found.missing : undefined;
const CARRIER = 'slirp4netns\0--configure';

async function started(program: string, ...args: string[]): Promise<ChildProcess> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const up = once(lines, 'line').then(() => true);
  if (await Promise.race([up, once(child, 'exit').then(() => false)])) return child;
  throw new Error(`${program} ended before it was up`);
}

suite('docker sandboxes with a network', engineMissing() ?? carrierMissing, () => {
  let engine: TestEngine;
  let provider: DockerProvider;
  const children: ChildProcess[] = [];
  const id = sandboxId();

  beforeAll(async () => {
    const beyond = await started('unshare', '--net', '--', 'sh', '-c', 'echo up; exec sleep infinity');
    children.push(beyond);
    const laid = spawnSync(
      'sh',
      [
        '-ec',
        `ip link add ${DEVICE} type veth peer name in netns ${beyond.pid}
         ip addr add ${HERE}/30 dev ${DEVICE}
         ip link set ${DEVICE} up
         ip route add ${PRIVATE}/32 via ${INTERNET}
         nsenter --target ${beyond.pid} --net sh -ec '
           ip link set lo up; ip addr add ${INTERNET}/30 dev in; ip addr add ${PRIVATE}/32 dev lo; ip link set in up'`,
      ],
      { encoding: 'utf8' },
    );
    if (laid.status !== 0) throw new Error(laid.stderr);
    const inBeyond = ['--target', String(beyond.pid), '--net', '--', process.execPath, '-e', SERVER];
    children.push(await started('nsenter', ...inBeyond), await started(process.execPath, '-e', SERVER));
    engine = await openTestEngine();
    provider = engine.openProvider({ alsoReachable: ['198.18.0.0/15'] });
  }, 120_000);
  afterAll(async () => {
    await provider.destroy(id);
    await provider.close();
    await engine.stop();
    for (const child of children) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }, 60_000);

  const reaches = async (address: string, sandbox = id) => {
    const script = `exec 3<>/dev/tcp/${address}/${PORT} && cat <&3`;
    return (await run(provider, sandbox, ['timeout', '5', 'bash', '-c', script])).stdout === 'reached';
  };

  test('reach the internet, and nothing private or of the machine', async () => {
    await provider.create({ id, network: true });
    expect(await reaches(INTERNET)).toBe(true);
    for (const address of [PRIVATE, HERE, '10.0.2.2', '169.254.169.254']) {
      expect([address, await reaches(address)]).toEqual([address, false]);
    }
    const { stdout } = await run(provider, id, ['cat', '/etc/resolv.conf']);
    expect(stdout).toContain('nameserver 10.0.2.3\n');
    expect(await provider.enforcement(true)).toMatchObject({
      network: 'packet filter of its network namespace',
    });
  }, 60_000);

  test('are let out by the same filter when they come back, by a process that ends with them', async () => {
    expect(processesWith(CARRIER)).not.toEqual([]);
    await provider.stop(id);
    expect(await comesTrue(() => processesWith(CARRIER).length === 0)).toBe(true);
    await provider.resume(id);
    expect([await reaches(INTERNET), await reaches(PRIVATE), await reaches(HERE)]).toEqual([
      true,
      false,
      false,
    ]);
  }, 60_000);

  test('are the only ones that are let out', async () => {
    const plain = sandboxId();
    await provider.create({ id: plain });
    try {
      expect([await reaches(INTERNET, plain), await reaches(PRIVATE, plain)]).toEqual([false, false]);
    } finally {
      await provider.destroy(plain);
    }
  }, 60_000);

  test('are refused where every sandbox joins a network of the engine, and nothing is made', async () => {
    const open = engine.openProvider({ network: 'shared' });
    const refused = sandboxId();
    await expect(open.create({ id: refused, network: true })).rejects.toMatchObject({
      code: 'network_not_supported',
    });
    expect((await open.inspect(refused)).state).toBe('absent');
    expect(await open.enforcement(false)).toMatchObject({ network: null });
    await open.close();
  });

  test('have the size that was asked for, also after a stop, and no more CPUs than there are', async () => {
    const sized = sandboxId();
    await provider.create({ id: sized, resources: { cpu: 0.5, memoryMb: 128, diskMb: 64 } });
    try {
      const host = async () => {
        const { podName } = await provider.inspect(sized);
        const { HostConfig } = await engine.docker.getContainer(podName).inspect();
        return [
          HostConfig.NanoCpus,
          HostConfig.Memory,
          HostConfig.Ulimits?.find(({ Name }) => Name === 'fsize')?.Hard,
        ];
      };
      expect(await host()).toEqual([5e8, 128 * 2 ** 20, 64 * 2 ** 20]);
      await provider.stop(sized);
      await provider.resume(sized);
      expect(await host()).toEqual([5e8, 128 * 2 ** 20, 64 * 2 ** 20]);
      await expect(provider.create({ id: sandboxId(), resources: { cpu: 1_000 } })).rejects.toMatchObject({
        code: 'resources_not_supported',
      });
    } finally {
      await provider.destroy(sized);
    }
  }, 60_000);
});
