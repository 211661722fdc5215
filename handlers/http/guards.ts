import { PortholeError } from '#base/errors.ts';
import { checkSandboxId } from '#core/sandboxes/sandbox-owner.ts';
import type { Step } from './admit.ts';

/** Which segment of the path is the id; undefined: none that the bridge checks. */
export function bridgeIdSegment(path: string): number | undefined {
  return /\/v1\/sandbox\/\{id\}/.test(path) ? path.split('/').indexOf('{id}') : undefined;
}

/**
 * Like the bridge, validates the raw id in the URL before the credential. Percent-encoded ids are
 * invalid.
 * @throws PortholeError `invalid_request`
 */
export function checkBridgeId(segment: number): Step {
  return {
    before: ({ event }) => {
      checkSandboxId(event.rawPath.split('/')[segment] ?? '');
    },
  };
}

/**
 * CSRF: the error for requests that a browser makes for another site. Previews run in the same
 * browser as the API, so a page of a preview (or any page, if no key is configured) could otherwise
 * act as the user. Programs send neither header and pass.
 * @param page whether a person may arrive by a link from elsewhere
 */
export function originError(
  headers: Readonly<Record<string, string | undefined>>,
  {
    page = false,
    publicOrigin,
  }: { readonly page?: boolean | undefined; readonly publicOrigin?: string | undefined },
): PortholeError | undefined {
  const origin = headers['origin'];
  if (origin !== undefined && origin !== publicOrigin && !isOriginOf(origin, headers['host'], publicOrigin)) {
    return new PortholeError(
      'origin_not_allowed',
      `Requests from the origin ${JSON.stringify(origin.slice(0, 100))} are not accepted here`,
      { remedy: 'call the API from its own origin or from a program.' },
    );
  }
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return undefined;
  const isLink = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  if (page && isLink) return undefined;
  return new PortholeError(
    'origin_not_allowed',
    `Requests with Sec-Fetch-Site: ${site.slice(0, 40)} are not accepted here`,
    { remedy: 'call the API from its own origin or from a program.' },
  );
}

/**
 * The scheme at a proxy in front is unknown here, except for the host that people reach by https: a
 * man in the middle could serve its `http://`.
 */
function isOriginOf(origin: string, host: string | undefined, publicOrigin: string | undefined): boolean {
  if (host === undefined) return false;
  if (origin === `https://${host}`) return true;
  return origin === `http://${host}` && publicOrigin?.toLowerCase() !== `https://${host.toLowerCase()}`;
}

export function guardOrigin(options: {
  readonly page?: boolean | undefined;
  readonly publicOrigin?: string | undefined;
}): Step {
  return {
    before({ event }) {
      const error = originError(event.headers, options);
      if (error !== undefined) throw error;
    },
  };
}
