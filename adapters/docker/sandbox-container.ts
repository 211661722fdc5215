import type Docker from 'dockerode';
import { GUEST_COMMAND, GUEST_FOLDER } from '#adapters/guest/guest-runtime.ts';
import { NETWORK } from '#guest/protocol/network.ts';
import type { GuestSettingsInput } from '#guest/protocol/settings-protocol.ts';
import { guestSocket } from './guest-relays.ts';
import type { SandboxLimits } from './container-limits.ts';

export const WORKSPACE = '/workspace';

/** Where the folder of the channel's socket is shown. */
export const CHANNEL_FOLDER = '/run/porthole';

/** Where buckets are mounted, beside /workspace. */
const MOUNTS = '/mnt';

/**
 * User and group of everything in a sandbox, as on a cluster; an image's own root is not asked for.
 */
export const USER = 1_000;

/**
 * What switches IPv6 off in a network. There is none in a kernel without IPv6, and a container that
 * sets it does not start.
 */
const IPV6_SWITCH = 'net.ipv6.conf.all.disable_ipv6';

const HOME = '/home/sandbox';

/** Of the volume that holds the guest's state, in the sandbox. */
export const STATE_VOLUME = '/run/porthole-guest';

/** In that volume, the user's: an engine makes the root of a volume root's. */
export const STATE_FOLDER = 'state';

const STATE = `${STATE_VOLUME}/${STATE_FOLDER}`;

/** Variables that would change how the guest itself runs. */
const FOR_RUNTIMES = /^(?:NODE_|LD_|GLIBC_|MALLOC_|OPENSSL_|SSL_|UV_)/;

/** Where engines look for programs in an image that does not say. */
const SYSTEM_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const MIB = 1024 * 1024;

/**
 * The share of the memory that /tmp and the home folder may each fill, and their most in MiB: what
 * a build's temporary files and npm's caches need.
 */
const SCRATCH = {
  tmp: { share: 2, most: 1_024 },
  home: { share: 4, most: 512 },
} as const;

/**
 * Name of the volume of the guest's state: the output of processes, and the variables of declared
 * servers. They last as long as the sandbox, and not in `/workspace`, whose archives must not hold
 * secrets.
 */
export function stateVolume(name: string): string {
  return `${name}-state`;
}

export interface SandboxContainerOptions {
  readonly id: string;
  /** Of the container, and of its volume. */
  readonly name: string;
  readonly image: string;
  readonly labels: Record<string, string>;
  readonly limits: SandboxLimits;
  /** Name of the engine's network it joins; `none`: no network but its own loopback. */
  readonly network: string;
  /** Of every command, beside the image's own. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Folder of this machine that holds the channel's socket; undefined: no channel. */
  readonly channelFolder: string | undefined;
  /** Whether the engine's kernel knows IPv6. */
  readonly hasIpv6: boolean;
  /** Name of the volume that holds the guest's folder. */
  readonly guestVolume: string;
  /** What the image sets for every process, each as `NAME=value`. */
  readonly imageEnv: readonly string[];
}

/**
 * A sandbox as a container on a volume of its own. It runs as an ordinary user without capabilities
 * and without a way to more, under the engine's seccomp profile, within limits; only /workspace and
 * the guest's state, which outlive the container, its home and /tmp can be written to.
 */
export function sandboxContainer({
  id,
  name,
  image,
  labels,
  limits,
  network,
  environment = {},
  channelFolder,
  hasIpv6,
  guestVolume,
  imageEnv,
}: SandboxContainerOptions): Docker.ContainerCreateOptions & { name: string } {
  const memory = limits.memoryMebibytes * MIB;
  const largestFile = limits.diskMebibytes * MIB;
  const added = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const own = [`HOME=${HOME}`, `WORKSPACE=${WORKSPACE}`, `SANDBOX_ID=${id}`];
  return {
    name,
    Image: image,
    Entrypoint: [...GUEST_COMMAND],
    Cmd: [JSON.stringify(guestSettings(name, [...imageEnv, ...own, ...added], channelFolder !== undefined))],
    User: `${USER}:${USER}`,
    // An engine starts nothing in a folder that its user has shut.
    WorkingDir: '/',
    // What an image sets for its own Node and loader is for commands, not for the guest.
    Env: [
      ...own,
      ...imageEnv.filter((each) => FOR_RUNTIMES.test(each)).map((each) => each.replace(/=.*/s, '=')),
    ],
    Labels: labels,
    // An image's own health check would run in it.
    Healthcheck: { Test: ['NONE'] },
    StopSignal: 'SIGKILL',
    HostConfig: {
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      ReadonlyRootfs: true,
      NetworkMode: network,
      // Without a network no name server answers: programs learn it at once.
      ...(network === 'none' && {
        Dns: ['127.0.0.1'],
        DnsSearch: ['.'],
        DnsOptions: ['timeout:1', 'attempts:1'],
      }),
      // Engines switch IPv6 off where their network has none; a server bound to ::1 needs it all
      // the same.
      ...(hasIpv6 && { Sysctls: { [IPV6_SWITCH]: '0' } }),
      IpcMode: 'private',
      NanoCpus: Math.round(limits.cpus * 1e9),
      Memory: memory,
      // The sum of both: nothing is swapped.
      MemorySwap: memory,
      PidsLimit: limits.pids,
      Ulimits: [
        { Name: 'fsize', Soft: largestFile, Hard: largestFile },
        { Name: 'core', Soft: 0, Hard: 0 },
      ],
      Tmpfs: {
        '/tmp': `${scratch(limits, SCRATCH.tmp)},mode=1777`,
        [HOME]: `${scratch(limits, SCRATCH.home)},mode=0755,uid=${USER},gid=${USER}`,
        // For folders that buckets are mounted on: root's, so that nothing in the sandbox can put
        // something else in their place.
        [MOUNTS]: 'rw,noexec,nosuid,nodev,size=64k,mode=0755',
      },
      Mounts: [
        { Type: 'volume', Source: name, Target: WORKSPACE, ReadOnly: false },
        { Type: 'volume', Source: stateVolume(name), Target: STATE_VOLUME, ReadOnly: false },
        { Type: 'volume', Source: guestVolume, Target: GUEST_FOLDER, ReadOnly: true },
        ...(channelFolder === undefined
          ? []
          : [{ Type: 'bind' as const, Source: channelFolder, Target: CHANNEL_FOLDER, ReadOnly: true }]),
      ],
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'no' },
    },
  };
}

/** @param env each as `NAME=value`; of two with one name the later counts */
function guestSettings(
  containerName: string,
  env: readonly string[],
  hasChannel: boolean,
): GuestSettingsInput {
  const pairs = [SYSTEM_PATH, ...env].map((each) => {
    const at = each.indexOf('=');
    return at < 1 ? [each, ''] : [each.slice(0, at), each.slice(at + 1)];
  });
  const variables = Object.fromEntries(pairs.filter(([name]) => name !== '')) as Record<string, string>;
  return {
    env: variables,
    state: STATE,
    listen: { path: guestSocket(containerName) },
    pty: GUEST_FOLDER,
    ...(hasChannel && { network: NETWORK.socket }),
  };
}

function scratch(
  { memoryMebibytes }: SandboxLimits,
  { share, most }: { readonly share: number; readonly most: number },
): string {
  const size = Math.max(1, Math.min(most, Math.floor(memoryMebibytes / share)));
  return `rw,exec,nosuid,nodev,size=${size}m`;
}
