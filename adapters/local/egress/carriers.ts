import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { SYSTEM_PATH } from '../spawn-sandbox.ts';
import { EGRESS } from './egress-network.ts';

/** What makes the connections of a sandbox's packets, on the machine beside it. */
export type Carrier = 'pasta' | 'slirp4netns';

interface CarrierPlan {
  /** Debian's package. */
  readonly package: string;
  /** @param pid of a process in the sandbox's network, and (where `joinsUser`) in the user namespace that owns it */
  readonly argv: (pid: number, joinsUser: boolean) => readonly string[];
}

/**
 * Neither lets a port of the machine in, or reaches its loopback. pasta works where it is an ordinary user who joins the user namespace that owns the network; slirp4netns where it is root, of the machine or of that namespace.
 */
const CARRIERS: Readonly<Record<Carrier, CarrierPlan>> = {
  pasta: {
    package: 'passt',
    argv: (pid, joinsUser) => [
      'pasta',
      '--foreground',
      '--quiet',
      '--ipv4-only',
      '--config-net',
      '--no-map-gw',
      ...['--tcp-ports', '--udp-ports', '--tcp-ns', '--udp-ns'].flatMap((ports) => [ports, 'none']),
      '--ns-ifname',
      EGRESS.device,
      '--address',
      EGRESS.address,
      '--netmask',
      String(EGRESS.prefix),
      '--gateway',
      EGRESS.gateway,
      '--dns-forward',
      EGRESS.nameServer,
      ...(joinsUser ? ['--userns', `/proc/${pid}/ns/user`] : []),
      '--netns',
      `/proc/${pid}/ns/net`,
    ],
  },
  // Its network is 10.0.2.0/24 as well, with the same addresses in it.
  slirp4netns: {
    package: 'slirp4netns',
    argv: (pid, joinsUser) => [
      'slirp4netns',
      '--configure',
      '--mtu=65520',
      '--disable-host-loopback',
      '--enable-seccomp',
      ...(joinsUser ? [`--userns-path=/proc/${pid}/ns/user`] : ['--enable-sandbox']),
      '--netns-type=path',
      `/proc/${pid}/ns/net`,
      EGRESS.device,
    ],
  },
};

const FILTER = { program: 'nft', package: 'nftables' } as const;
const TUN = '/dev/net/tun';

/** The first of the carriers that this machine has, with what else a network takes; otherwise what is missing, and the remedy. */
export function findCarrier(
  possible: readonly Carrier[],
): { readonly carrier: Carrier } | { readonly missing: string } {
  const carrier = possible.find(isInstalled);
  const packages = [
    ...(carrier === undefined && possible[0] !== undefined ? [CARRIERS[possible[0]].package] : []),
    ...(isInstalled(FILTER.program) ? [] : [FILTER.package]),
  ];
  if (carrier === undefined || packages.length > 0) {
    return {
      missing: `this machine lacks ${packages.join(' and ')} (apt-get install ${packages.join(' ')})`,
    };
  }
  try {
    accessSync(TUN, constants.R_OK | constants.W_OK);
    return { carrier };
  } catch {
    return { missing: `${TUN} cannot be opened here (modprobe tun, and let this user read and write it)` };
  }
}

export function carrierCommand(carrier: Carrier, pid: number, joinsUser: boolean): readonly string[] {
  return CARRIERS[carrier].argv(pid, joinsUser);
}

function isInstalled(program: string): boolean {
  return SYSTEM_PATH.PATH.split(':').some((folder) => existsSync(join(folder, program)));
}
