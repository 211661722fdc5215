import type { Preview } from '#core/previews/preview-plane.ts';
import { previewHost, zoneOfHost } from '#core/previews/preview-token.ts';
import type { PreviewAccess } from '#protocol/preview-access.ts';
import { isReason } from '../client/kubernetes-error.ts';
import { pointer } from '../client/kubernetes-object.ts';
import type { PreviewStore } from './preview-store.ts';

/** The URL by name of a preview, in the zone of its other URL; undefined without a name. */
export function namedUrlOf({
  access: { name },
  url,
}: {
  readonly access: PreviewAccess;
  readonly url: string;
}): string | undefined {
  if (name === undefined) return undefined;
  const named = new URL(url);
  named.hostname = previewHost(name, zoneOfHost(named.hostname));
  return named.origin;
}

/** Gives the route of a preview the hosts of its access, if it has others. */
export async function nameRoute(
  { client, routes }: PreviewStore,
  { name, uid, namedHost }: Preview,
  { access, url }: { readonly access: PreviewAccess; readonly url: string },
  signal?: AbortSignal,
): Promise<void> {
  const namedUrl = namedUrlOf({ access, url });
  const wanted = namedUrl && new URL(namedUrl).hostname;
  if (wanted === namedHost) return;
  const hostnames = [new URL(url).hostname, ...(wanted === undefined ? [] : [wanted])];
  const patch = [
    { op: 'test', path: pointer('metadata', 'uid'), value: uid },
    { op: 'add', path: pointer('spec', 'hostnames'), value: hostnames },
  ] as const;
  await client.jsonPatch(routes, name, [...patch], signal).catch((error: unknown) => {
    // It has ended, and the next start makes its route with the name.
    if (!isReason(error, 'NotFound')) throw error;
  });
}
