import { z } from 'zod';
import { viewerKeys } from '#protocol/guest/visit-tickets.ts';
import { defineRoute, json } from '../route.ts';

const Key = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  alg: z.literal('EdDSA'),
  use: z.literal('sig'),
  kid: z.string(),
  x: z.string(),
});

export const viewerKeysRoute = defineRoute('getViewerKeys', 'GET', '/.well-known/jwks.json', {
  tag: 'Previews',
  summary: 'The keys that verify who visits a preview',
  description:
    'A JWK set (RFC 7517). Apps verify the header `X-Porthole-Viewer` with it, a JWT of the type `porthole-viewer+jwt`.',
  access: 'anyone',
  anyOrigin: true,
  responses: {
    200: { description: 'The keys', schema: z.object({ keys: z.array(Key) }).meta({ id: 'ViewerKeys' }) },
  },
  handle: (_request, { tokens }) =>
    Promise.resolve(
      json(200, viewerKeys(tokens.ticketKeys), {
        'access-control-allow-origin': '*',
        'cache-control': 'public, max-age=300',
      }),
    ),
});
