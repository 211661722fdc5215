import type Docker from 'dockerode';
import { GUEST_COMMAND, GUEST_FOLDER } from '#protocol/guest/guest-pod.ts';
import { NETWORK } from '#protocol/guest/network.ts';
import type { GuestSettingsInput } from '#protocol/guest/settings-protocol.ts';
import { guestSocket } from './guest-relays.ts';
import type { SandboxLimits } from './container-limits.ts';

export const WORKSPACE = '/workspace';

/** Mount point of the folder with the channel's socket. */
export const CHANNEL_FOLDER = '/run/porthole';

/** Parent of the mount points of buckets that are not in /workspace. */
const MOUNTS = '/mnt';

/**
 * User and group of all processes in a sandbox, as in a cluster; the image's own user is ignored.
 */
export const USER = 1_000;

/**
 * Disables IPv6 in a network. A kernel without IPv6 does not have it, and a container that sets it
 * does not start there.
 */
const IPV6_SWITCH = 'net.ipv6.conf.all.disable_ipv6';

export const HOME = '/home/sandbox';

/** Mount point of the volume of the guest's state. */
export const STATE_VOLUME = '/run/porthole-guest';

/** Folder in that volume owned by the sandbox's user: the root of a volume is root's. */
export const STATE_FOLDER = 'state';

const STATE = `${STATE_VOLUME}/${STATE_FOLDER}`;

/** Variables that would change how the guest itself runs. */
const FOR_RUNTIMES = /^(?:NODE_|LD_|GLIBC_|MALLOC_|OPENSSL_|SSL_|UV_)/;

/** The engines' PATH for an image that sets none. */
const SYSTEM_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const MIB = 1024 * 1024;

/**
 * Share of memory that /tmp and the home folder may each fill, and their maximum in MiB: enough for
 * a build's temporary files and npm's caches.
 */
const SCRATCH = {
  tmp: { share: 2, most: 1_024 },
  home: { share: 4, most: 512 },
} as const;

/**
 * Name of the volume of the guest's state: the output of processes, and the variables of declared
 * servers. They last as long as the sandbox. They are not in `/workspace`, because its archives
 * must not hold secrets.
 */
export function stateVolume(name: string): string {
  return `${name}-state`;
}

export interface SandboxContainerOptions {
  readonly id: string;
  /** Name of the container and of its volume. */
  readonly name: string;
  readonly image: string;
  readonly labels: Record<string, string>;
  readonly limits: SandboxLimits;
  /** Name of the engine's network it joins; `none`: loopback only. */
  readonly network: string;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Folder of this machine that holds the channel's socket; undefined: no channel. */
  readonly channelFolder: string | undefined;
  /** Whether the engine's kernel knows IPv6. */
  readonly hasIpv6: boolean;
  /** Volume with the guest. */
  readonly guestSource: string;
  /** What the image sets for every process, each as `NAME=value`. */
  readonly imageEnv: readonly string[];
}

/**
 * A sandbox as a container with its own volume. It runs as an ordinary user without capabilities
 * and with no_new_privs, under the engine's seccomp profile, within limits. Writable are only
 * /workspace and the guest's state, which outlive the container, its home and /tmp.
 */
export function sandboxContainer(
  options: SandboxContainerOptions,
): Docker.ContainerCreateOptions & { name: string } {
  const { name, image, labels, limits, network, channelFolder, hasIpv6, guestSource } = options;
  const memory = limits.memoryMb * MIB;
  const largestFile = limits.diskMb * MIB;
  const guest = guestProcess(options, channelFolder === undefined ? undefined : NETWORK.socket);
  return {
    name,
    Image: image,
    Entrypoint: GUEST_COMMAND,
    Cmd: [guest.settings],
    User: `${USER}:${USER}`,
    // An engine starts nothing in a folder that its user has made inaccessible.
    WorkingDir: '/',
    Env: guest.env,
    Labels: labels,
    // An image's own health check would run in the sandbox.
    Healthcheck: { Test: ['NONE'] },
    StopSignal: 'SIGKILL',
    HostConfig: {
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      ReadonlyRootfs: true,
      NetworkMode: network,
      // Without a network no name server answers: programs fail at once.
      ...(network === 'none' && {
        Dns: ['127.0.0.1'],
        DnsSearch: ['.'],
        DnsOptions: ['timeout:1', 'attempts:1'],
      }),
      // Engines disable IPv6 if their network has none, but a server bound to ::1 needs it.
      ...(hasIpv6 && { Sysctls: { [IPV6_SWITCH]: '0' } }),
      IpcMode: 'private',
      NanoCpus: Math.round(limits.cpu * 1e9),
      Memory: memory,
      // Memory plus swap: equal to `memory` means no swap.
      MemorySwap: memory,
      PidsLimit: limits.pids,
      Ulimits: [
        { Name: 'fsize', Soft: largestFile, Hard: largestFile },
        { Name: 'core', Soft: 0, Hard: 0 },
      ],
      Tmpfs: {
        '/tmp': `${scratch(limits, SCRATCH.tmp)},mode=1777`,
        [HOME]: `${scratch(limits, SCRATCH.home)},mode=0755,uid=${USER},gid=${USER}`,
        // Parents of bucket mounts: owned by root, so that nothing in the sandbox can replace them.
        [MOUNTS]: 'rw,noexec,nosuid,nodev,size=64k,mode=0755',
      },
      Mounts: [
        { Type: 'volume', Source: name, Target: WORKSPACE, ReadOnly: false },
        { Type: 'volume', Source: stateVolume(name), Target: STATE_VOLUME, ReadOnly: false },
        { Type: 'volume', Source: guestSource, Target: GUEST_FOLDER, ReadOnly: true },
        ...(channelFolder === undefined
          ? []
          : [{ Type: 'bind' as const, Source: channelFolder, Target: CHANNEL_FOLDER, ReadOnly: true }]),
      ],
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'no' },
    },
  };
}

/** A container that is never started: the engine unpacks archives into its volume. */
export function unstartedContainer(
  name: string,
  image: string,
  labels: Record<string, string>,
  { volume, target }: { readonly volume: string; readonly target: string },
): Docker.ContainerCreateOptions {
  return {
    name,
    Image: image,
    Entrypoint: ['false'],
    Labels: labels,
    HostConfig: {
      NetworkMode: 'none',
      Mounts: [{ Type: 'volume', Source: volume, Target: target, ReadOnly: false }],
    },
  };
}

/**
 * The guest as the first program of a container, on the abstract socket of `guestSocket`.
 * @param network path of the broker's socket in the container
 */
export function guestProcess(
  container: Pick<SandboxContainerOptions, 'id' | 'name' | 'imageEnv' | 'environment'>,
  network?: string,
): {
  /** The argument of `GUEST_COMMAND`. */
  readonly settings: string;
  /** The guest's own variables, each as `NAME=value`. */
  readonly env: string[];
} {
  const { id, name, imageEnv, environment = {} } = container;
  const own = [`HOME=${HOME}`, `WORKSPACE=${WORKSPACE}`, `SANDBOX_ID=${id}`];
  const pairs = [SYSTEM_PATH, ...imageEnv, ...own].map((each) => {
    const at = each.indexOf('=');
    return at < 1 ? [each, ''] : [each.slice(0, at), each.slice(at + 1)];
  });
  const variables = Object.fromEntries(pairs.filter(([name]) => name !== '')) as Record<string, string>;
  const settings: GuestSettingsInput = {
    env: { ...variables, ...environment },
    state: STATE,
    listen: { path: guestSocket(name) },
    pty: GUEST_FOLDER,
    ...(network !== undefined && { network }),
  };
  return {
    settings: JSON.stringify(settings),
    // An image's settings for its own Node and loader are for commands, not for the guest.
    env: [
      ...own,
      ...imageEnv.filter((each) => FOR_RUNTIMES.test(each)).map((each) => each.replace(/=.*/s, '=')),
    ],
  };
}

function scratch(
  { memoryMb }: SandboxLimits,
  { share, most }: { readonly share: number; readonly most: number },
): string {
  const size = Math.max(1, Math.min(most, Math.floor(memoryMb / share)));
  return `rw,exec,nosuid,nodev,size=${size}m`;
}
