import { z } from 'zod';
import { type Caller, mayUseSandbox } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { type Grant, WHOLE_GRANT } from '#core/delegations/delegation-store.ts';
import { defineRoute, json } from '../route.ts';
import { ScopeName, SandboxConfig } from './delegation-routes.ts';

const { sandbox_id, credential, dataplane_url } = SandboxConfig.shape;

const Body = z
  .strictObject({
    sandbox_id,
    credential: credential.optional().describe('What the client handed over'),
    sandbox_credential: credential.optional().describe('An older name of `credential`'),
    org: z.string().max(400).describe('Your org'),
    dataplane_url: dataplane_url.optional().describe('From the client; any other URL than ours is refused'),
  })
  .refine(
    (body) => (body.credential ?? body.sandbox_credential) !== undefined,
    'credential: name what the client handed over',
  )
  .meta({ id: 'ValidateSandboxRequest' });

const Decision = z
  .object({
    sandbox_id: z.string(),
    exists: z.boolean().describe('Whether the org has such a sandbox'),
    valid: z.boolean().describe('Whether the credential is valid for the sandbox'),
    owner: z.boolean().describe('Whether it has all permissions of the owner'),
    scopes: z.array(ScopeName),
    commands: z.array(z.string()).nullable(),
    paths: z.array(z.string()).nullable(),
    expires_at: z.iso.datetime().nullable().describe('null: it does not expire'),
  })
  .meta({ id: 'SandboxValidation' });

export const validateSandboxRoute = defineRoute('validateSandbox', 'POST', '/v1/sandbox/validate', {
  tag: 'Delegations',
  summary: 'Validate a sandbox credential',
  description:
    'For servers that a client tells which sandbox to use, with their own key: whether it exists, belongs to their org, and what the credential allows. Do not trust other claims of the client.',
  body: Body,
  responses: { 200: { description: 'What the credential allows', schema: Decision } },
  async handle({ body, person, headers }, services) {
    const id = body.sandbox_id;
    if (body.org !== person.org) {
      throw new PortholeError('forbidden', `org: ${JSON.stringify(body.org.slice(0, 80))} is not yours`, {
        remedy: 'name the org of the key that you call with.',
      });
    }
    const own = ownUrls(services.publicUrl, headers['host'] ?? '').map((base) => `${base}/v1/sandbox/${id}`);
    if (body.dataplane_url !== undefined && !own.includes(body.dataplane_url)) {
      throw new PortholeError(
        'invalid_request',
        `dataplane_url: does not match sandbox ${id}; expected ${own[0]}: do not connect to it.`,
      );
    }
    const sandbox = await services.records.sandboxes.get(id);
    const exists =
      sandbox !== undefined && sandbox.desired !== 'destroyed' && sandbox.owner.org === person.org;
    const credential = body.credential ?? body.sandbox_credential ?? '';
    const grant = exists
      ? grantOf(await services.authenticator.authenticate(credential), sandbox)
      : undefined;
    return json(200, {
      sandbox_id: id,
      exists,
      valid: grant !== undefined,
      owner: grant?.owner ?? false,
      scopes: [...(grant?.scopes ?? [])],
      commands: grant?.commands == null ? null : [...grant.commands],
      paths: grant?.paths == null ? null : [...grant.paths],
      expires_at: grant?.expiresAt?.toISOString() ?? null,
    } satisfies z.infer<typeof Decision>);
  },
});

/** Undefined: the credential is invalid. */
function grantOf(
  bearer: Caller | undefined,
  sandbox: SandboxRecord,
): (Grant & { readonly owner: boolean; readonly expiresAt: Date | null }) | undefined {
  if (bearer === undefined || !mayUseSandbox(bearer, sandbox, true)) return undefined;
  if (bearer.kind === 'delegate') return { ...bearer.grant, owner: false, expiresAt: bearer.expiresAt };
  const scope = bearer.kind === 'person' ? (bearer.key?.scope ?? 'full') : 'agent';
  return {
    ...WHOLE_GRANT,
    ...(scope === 'read' && { scopes: ['fs:read'] }),
    owner: scope === 'full',
    expiresAt: bearer.expiresAt ?? null,
  };
}

/** Equivalent names of this machine: a client and a server on it may use different ones. */
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/**
 * The URLs of Porthole, the preferred one first: the public one, with its path. Without one, the
 * URL that the server itself called, directly or through a TLS proxy; the request's Host was
 * validated before.
 */
export function ownUrls(publicUrl: URL | undefined, host: string): readonly string[] {
  if (publicUrl !== undefined) return [publicUrl.origin + publicUrl.pathname.replace(/(?<!\/)\/+$/, '')];
  const [, name = host, port = ''] = /^(.*?)(:\d+)?$/.exec(host) ?? [];
  const hosts = LOOPBACK.includes(name) ? [host, ...LOOPBACK.map((each) => each + port)] : [host];
  return ['http', 'https'].flatMap((scheme) => hosts.map((each) => `${scheme}://${each}`));
}
