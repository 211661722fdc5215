import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { ownUrls } from './validation-route.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

const Metadata = z
  .object({
    resource: z.string().describe('URL of the MCP endpoint; tokens for it have this audience'),
    authorization_servers: z.array(z.string()).describe('The OpenID Connect issuer'),
    bearer_methods_supported: z.array(z.string()),
    resource_name: z.string(),
  })
  .meta({ id: 'ProtectedResourceMetadata' });

/** RFC 9728 section 3.1 inserts the well-known part before the resource's own path. */
function metadataRoute(id: string, path: string, summary: string): Route {
  return defineRoute(id, 'GET', path, {
    tag: 'MCP',
    summary,
    description:
      'OAuth 2.0 Protected Resource Metadata (RFC 9728): MCP clients find the issuer with it, also from a page of another origin.',
    access: 'anyone',
    signsIn: true,
    anyOrigin: true,
    responses: { 200: { description: 'The MCP endpoint and its issuer', schema: Metadata } },
    errors: ['not_found'],
    handle({ headers }, { oidcIssuer, publicUrl }) {
      if (oidcIssuer === undefined) {
        throw new PortholeError('not_found', 'No identity provider is configured', {
          remedy: 'set OIDC_ISSUER, or send a key as a bearer token.',
        });
      }
      const answer: z.infer<typeof Metadata> = {
        resource: `${ownUrls(publicUrl, headers['host'] ?? '')[0]}/mcp`,
        authorization_servers: [oidcIssuer],
        bearer_methods_supported: ['header'],
        resource_name: 'Porthole',
      };
      return Promise.resolve(json(200, answer, { 'access-control-allow-origin': '*' }));
    },
  });
}

const resourceMetadataRoute = metadataRoute('getResourceMetadata', WELL_KNOWN, 'Where OAuth clients sign in');

const mcpResourceMetadataRoute = metadataRoute(
  'getMcpResourceMetadata',
  `${WELL_KNOWN}/mcp`,
  'Where OAuth clients of the MCP endpoint sign in',
);

/** A 401 of the MCP endpoint leads OAuth clients to the issuer: RFC 9728 section 5.1. */
export const mcpChallenge: Route['challenge'] = ({ oidcIssuer, publicUrl }, { host = '' }) =>
  oidcIssuer === undefined
    ? undefined
    : `Bearer resource_metadata="${ownUrls(publicUrl, host)[0]}${WELL_KNOWN}/mcp"`;

export const oauthMetadataRoutes = [resourceMetadataRoute, mcpResourceMetadataRoute];
