/** Where everything of one bed is: addresses, names, and the folders as the machine inside sees them. */
export interface BedPlan {
  readonly number: number;
  readonly nodeName: string;
  /** The host's end of the one link between host and bed. */
  readonly hostLink: string;
  /** A listener of the host on this address is reached from pods. */
  readonly hostAddress: string;
  /** API server, gateway, DNS and kubelet listen here; reached from host and pods. */
  readonly nodeAddress: string;
  readonly podRange: string;
  readonly serviceRange: string;
  /** The API server's service address: the first of the service range. */
  readonly apiServiceAddress: string;
  /** Folder of the bed's containers in every cgroup hierarchy. */
  readonly cgroup: string;
}

/** The zone that the gateway's own certificate covers: `*.preview.test` and `preview.test`. */
export const GATEWAY_ZONE = 'preview.test';

export const API_SERVER_PORT = 6443;

/** The run folder, the cache of built programs, and scratch space, as processes inside the bed see them. */
export const INSIDE = { run: '/run/bed', programs: '/run/programs', scratch: '/run/tmp' } as const;

/**
 * Addresses come from 198.18.0.0/15, which RFC 2544 sets apart for test networks. Beds with different numbers
 * (0 to 126) can be up side by side; service addresses are the same in all, because they never leave a bed.
 */
export function bedPlan(number: number): BedPlan {
  if (!Number.isInteger(number) || number < 0 || number > 126) {
    throw new RangeError(`a bed's number is a whole number from 0 to 126, not ${number}`);
  }
  const pods = `198.18.${2 * number}`;
  const nodes = `198.18.${2 * number + 1}`;
  return {
    number,
    nodeName: 'porthole-node',
    hostLink: `porthole${number}`,
    hostAddress: `${nodes}.254`,
    nodeAddress: `${nodes}.1`,
    podRange: `${pods}.0/24`,
    serviceRange: '198.19.0.0/16',
    apiServiceAddress: '198.19.0.1',
    cgroup: `porthole-bed-${number}`,
  };
}
