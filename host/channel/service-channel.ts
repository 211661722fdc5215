import { lookup } from 'node:dns/promises';
import type { Channel } from '#core/ports/channel.ts';

/**
 * The channel of sandboxes in a cluster: a Service in front of the functions. Sandboxes have no name service, so they are told its address, which it keeps for life.
 * @param find looks up a name; default: the system's way
 */
export function serviceChannel(
  service: URL,
  find: (name: string) => Promise<string> = async (name) => (await lookup(name)).address,
): Channel {
  return {
    async address() {
      const url = new URL(service);
      const address = await find(url.hostname.replace(/^\[(.*)\]$/, '$1'));
      url.hostname = address.includes(':') ? `[${address}]` : address;
      return { kind: 'url', url: url.href };
    },
  };
}
