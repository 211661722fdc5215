import type { NetworkAttempt } from './network.ts';
import { readHost } from './network-host.ts';

const VERSION = '1.3.0';
const CATEGORY = 4;
const CLASS = 4001;

/** By decision: activity, action, disposition and status of OCSF. */
const CODES = {
  allowed: {
    activity: [2, 'Close'],
    action: [1, 'Allowed'],
    disposition: [1, 'Allowed'],
    status: [1, 'Success'],
  },
  blocked: {
    activity: [5, 'Refuse'],
    action: [2, 'Denied'],
    disposition: [2, 'Blocked'],
    status: [2, 'Failure'],
  },
  failed: {
    activity: [4, 'Fail'],
    action: [1, 'Allowed'],
    disposition: [1, 'Allowed'],
    status: [2, 'Failure'],
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
  const { activity, action, disposition, status } = CODES[decision];
  const isAddress = readHost(host)?.kind === 'address';
  return {
    metadata: {
      version: VERSION,
      profiles: ['security_control'],
      product: { name: 'Porthole', vendor_name: 'Porthole' },
    },
    category_uid: CATEGORY,
    category_name: 'Network Activity',
    class_uid: CLASS,
    class_name: 'Network Activity',
    activity_id: activity[0],
    activity_name: activity[1],
    type_uid: CLASS * 100 + activity[0],
    severity_id: 1,
    severity: 'Informational',
    time: at.getTime(),
    duration: ms,
    count: attempts,
    action_id: action[0],
    action: action[1],
    disposition_id: disposition[0],
    disposition: disposition[1],
    status_id: status[0],
    status: status[1],
    status_detail: rule,
    firewall_rule: { name: rule },
    src_endpoint: { instance_uid: sandboxId },
    dst_endpoint: { ...(isAddress ? { ip: host } : { hostname: host }), port },
    connection_info: { direction_id: 2, direction: 'Outbound', protocol_name: 'tcp', protocol_num: 6 },
    traffic: { bytes: bytesIn + bytesOut, bytes_in: bytesIn, bytes_out: bytesOut },
  };
}
