import { ocsfEvent } from '../ocsf-event.ts';
import type { NetworkAttempt } from './network.ts';
import { readHost } from './network-host.ts';

const NETWORK_ACTIVITY = { category: [4, 'Network Activity'], class: [4001, 'Network Activity'] } as const;

/** By decision: activity, action and disposition of OCSF. */
const CODES = {
  allowed: {
    activity: [2, 'Close'],
    action: [1, 'Allowed'],
    disposition: [1, 'Allowed'],
  },
  blocked: {
    activity: [5, 'Refuse'],
    action: [2, 'Denied'],
    disposition: [2, 'Blocked'],
  },
  failed: {
    activity: [4, 'Fail'],
    action: [1, 'Allowed'],
    disposition: [1, 'Allowed'],
  },
} as const;

/**
 * An attempt of a sandbox as an OCSF event: Network Activity with the profile Security Control. The
 * sandbox is the source. `time` is when the connection ended or was refused.
 */
export function ocsfNetworkActivity(
  sandboxId: string,
  at: Date,
  attempt: NetworkAttempt & { readonly attempts: number },
) {
  const { host, port, decision, rule, attempts, bytesIn, bytesOut, ms } = attempt;
  const { activity, action, disposition } = CODES[decision];
  const isAddress = readHost(host)?.kind === 'address';
  return {
    ...ocsfEvent(NETWORK_ACTIVITY, activity, {
      at,
      succeeded: decision === 'allowed',
      metadata: { profiles: ['security_control'] },
    }),
    duration: ms,
    count: attempts,
    action_id: action[0],
    action: action[1],
    disposition_id: disposition[0],
    disposition: disposition[1],
    status_detail: rule,
    firewall_rule: { name: rule },
    src_endpoint: { instance_uid: sandboxId },
    dst_endpoint: { ...(isAddress ? { ip: host } : { hostname: host }), port },
    connection_info: { direction_id: 2, direction: 'Outbound', protocol_name: 'tcp', protocol_num: 6 },
    traffic: { bytes: bytesIn + bytesOut, bytes_in: bytesIn, bytes_out: bytesOut },
  };
}
