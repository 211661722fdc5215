import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { requestedNetwork, type NetworkRequest } from '#core/network/change-network.ts';
import type { NetworkPolicy } from '#core/network/network-policy.ts';
import { defaultNetwork } from '#core/sandboxes/create-sandbox.ts';
import type { Services } from '../services.ts';

const Hosts = z.array(z.string().min(1).max(300)).max(1_000);

/** Rules for connections of a sandbox to the outside, as E2B's clients write them. */
export const EgressRules = z.strictObject({
  allowOut: Hosts.default([]),
  denyOut: Hosts.default([]),
});

export const NewNetwork = EgressRules.extend({
  /** Clients want hosts of ports. Who may open those is for the owner to say. */
  allowPublicTraffic: z.boolean().optional(),
});

export const NetworkUpdate = EgressRules.extend({ allow_internet_access: z.boolean().optional() });

type Rules = z.infer<typeof EgressRules>;

const EVERYTHING = new Set(['0.0.0.0/0', '::/0']);

/**
 * Everything that is not allowed is denied if everything is; otherwise the internet is open.
 * @throws PortholeError `invalid_request` for exceptions: in E2B what is allowed takes precedence,
 * here what is denied
 */
export function toNetworkRequest(
  { allowOut, denyOut }: Rules,
  internet: boolean | undefined,
): NetworkRequest {
  const deniesAll = internet === false || denyOut.some((host) => EVERYTHING.has(host));
  if (!deniesAll && internet === undefined && allowOut.length + denyOut.length === 0) return {};
  if (!deniesAll && allowOut.length > 0 && denyOut.length > 0) {
    throw new PortholeError(
      'invalid_request',
      'allowOut: exceptions from a part of denyOut are not supported',
      {
        remedy: 'deny everything (0.0.0.0/0), or leave allowOut out.',
      },
    );
  }
  const mode = !deniesAll ? 'open' : allowOut.length === 0 ? 'off' : 'allowlist';
  return {
    network: mode,
    allow: mode === 'allowlist' ? allowOut : [],
    deny: mode === 'open' ? denyOut : denyOut.filter((host) => !EVERYTHING.has(host)),
    ask: false,
  };
}

/**
 * Undefined: that of the installation.
 * @throws PortholeError `invalid_request` where ports have no hosts, and as `requestedNetwork` does
 */
export async function newNetwork(
  { network, plane }: Pick<Services, 'network' | 'plane'>,
  rules: z.infer<typeof NewNetwork> | undefined,
  internet: boolean | undefined,
): Promise<NetworkPolicy | undefined> {
  if (rules?.allowPublicTraffic === true && plane.ports === undefined) {
    throw new PortholeError('invalid_request', 'network.allowPublicTraffic: ports have no hosts here', {
      remedy: 'leave it out, and open a preview of the port.',
    });
  }
  if (rules === undefined && internet === undefined) return undefined;
  const request = toNetworkRequest(rules ?? { allowOut: [], denyOut: [] }, internet);
  return requestedNetwork(network, await defaultNetwork(network), request);
}
