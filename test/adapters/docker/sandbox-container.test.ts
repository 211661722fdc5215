import { describe, expect, test } from '@jest/globals';
import { sandboxContainer } from '#adapters/docker/sandbox-container.ts';
import { DEFAULT_LIMITS } from '#adapters/docker/container-limits.ts';
import { SandboxNames } from '#adapters/docker/sandbox-names.ts';

const OPTIONS = {
  id: 'box',
  name: 'porthole-box',
  image: 'image',
  labels: {},
  limits: DEFAULT_LIMITS,
  network: 'none',
  channelFolder: undefined,
  hasIpv6: true,
  guestSource: 'porthole-guest-1',
  imageEnv: [],
};

describe('the container of a sandbox', () => {
  test('is limited, has no right and no network, and can write to four folders alone', () => {
    const { HostConfig, User, Healthcheck } = sandboxContainer(OPTIONS);
    expect({ User, Healthcheck, ...HostConfig }).toMatchObject({
      User: '1000:1000',
      Healthcheck: { Test: ['NONE'] },
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      ReadonlyRootfs: true,
      NetworkMode: 'none',
      NanoCpus: 2_000_000_000,
      Memory: 2_147_483_648,
      MemorySwap: 2_147_483_648,
      PidsLimit: 4_096,
      Tmpfs: {
        '/tmp': 'rw,exec,nosuid,nodev,size=1024m,mode=1777',
        '/home/sandbox': 'rw,exec,nosuid,nodev,size=512m,mode=0755,uid=1000,gid=1000',
      },
      Mounts: [
        { Type: 'volume', Source: 'porthole-box', Target: '/workspace', ReadOnly: false },
        { Type: 'volume', Source: 'porthole-box-state', Target: '/run/porthole-guest', ReadOnly: false },
        { Type: 'volume', Source: 'porthole-guest-1', Target: '/porthole', ReadOnly: true },
      ],
    });
    expect(HostConfig).not.toHaveProperty('Binds');
    expect(HostConfig).not.toHaveProperty('PortBindings');
  });

  test('joins the network that is asked for, and is shown its channel read-only', () => {
    const { HostConfig } = sandboxContainer({ ...OPTIONS, network: 'build', channelFolder: '/var/channel' });
    expect(HostConfig?.NetworkMode).toBe('build');
    expect(HostConfig?.Mounts?.[3]).toEqual({
      Type: 'bind',
      Source: '/var/channel',
      Target: '/run/porthole',
      ReadOnly: true,
    });
  });

  test('has IPv6 on its loopback, where the kernel knows it', () => {
    expect(sandboxContainer(OPTIONS).HostConfig?.Sysctls).toEqual({ 'net.ipv6.conf.all.disable_ipv6': '0' });
    expect(sandboxContainer({ ...OPTIONS, hasIpv6: false }).HostConfig).not.toHaveProperty('Sysctls');
  });

  test('leaves half of a small memory to /tmp, and a quarter to the home folder', () => {
    const { HostConfig } = sandboxContainer({
      ...OPTIONS,
      limits: { ...DEFAULT_LIMITS, memoryMb: 64 },
    });
    const sizes = Object.values(HostConfig?.Tmpfs ?? {}).map((text) => /size=(\d+)m/.exec(text)?.[1]);
    expect(sizes).toEqual(['32', '16', undefined]);
  });
});

describe('the guest of a sandbox', () => {
  const settings = (imageEnv: readonly string[]) => {
    const { Entrypoint, Cmd, Env } = sandboxContainer({ ...OPTIONS, imageEnv });
    const text = (Cmd as string[])[0] ?? '';
    return { Entrypoint, Env, settings: JSON.parse(text) as { env: Record<string, string>; listen: object } };
  };

  test('is the first process, and listens where no file can be removed', () => {
    const { Entrypoint, settings: own } = settings([]);
    expect(Entrypoint).toEqual(expect.arrayContaining(['/porthole/node', '/porthole/guest.js']));
    expect(own.listen).toEqual({ path: '\0porthole-porthole-box' });
  });

  test('gives commands what the image sets, and runs without what would change its Node and loader', () => {
    const image = [
      'NODE_OPTIONS=--inspect=1',
      'LD_PRELOAD=/lib/a.so',
      'LANG=C',
      'PATH=/opt',
      'A=b=c',
      'HOME=/',
    ];
    const { Env, settings: own } = settings(image);
    expect(Env).toEqual(expect.arrayContaining(['NODE_OPTIONS=', 'LD_PRELOAD=', 'SANDBOX_ID=box']));
    expect(own.env).toEqual({
      NODE_OPTIONS: '--inspect=1',
      LD_PRELOAD: '/lib/a.so',
      LANG: 'C',
      PATH: '/opt',
      A: 'b=c',
      HOME: '/home/sandbox',
      WORKSPACE: '/workspace',
      SANDBOX_ID: 'box',
    });
  });
});

describe('the objects of a sandbox', () => {
  const here = new SandboxNames('here');
  const there = new SandboxNames('there');
  const id = 'a'.repeat(128);

  test('have a name of at most 64 characters, another one in each installation', () => {
    expect(here.objectName(id)).toMatch(/^porthole-[0-9a-f]{40}$/);
    expect(here.objectName(id)).not.toBe(there.objectName(id));
  });

  test('tell their id to their own installation alone, and only under their own name', () => {
    const labels = here.labels(id, 'image');
    expect(here.idOf(here.objectName(id), labels)).toBe(id);
    expect(there.idOf(here.objectName(id), labels)).toBeUndefined();
    expect(here.idOf(here.objectName('b'), labels)).toBeUndefined();
    expect(here.idOf(here.objectName(id), null)).toBeUndefined();
  });
});
