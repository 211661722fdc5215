import { z } from 'zod';
import { later } from '#base/clock-and-ids.ts';
import { findArchive, restoreArchive } from '#core/archives/archive-sandbox.ts';
import { accessToSandbox, ownerOf } from '#core/callers.ts';
import { requestedNetwork } from '#core/network/change-network.ts';
import { createSandbox, defaultNetwork } from '#core/sandboxes/create-sandbox.ts';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { readySandbox, useSandbox } from '#core/sandboxes/use-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import type { Services } from '../services.ts';
import { NO_SECRETS } from '#core/network/network-secrets.ts';
import { requestedSecrets } from '#core/network/requested-secrets.ts';
import { fromNetworkFields, networkFields } from './network-fields.ts';
import { fromSizeRequest, SandboxDetailDto, SizeRequest, toSandboxDetailDto } from './sandbox-dto.ts';
import { SandboxPath } from './sandbox-path.ts';
import {
  Environment,
  OnTimeoutDto,
  SandboxName,
  SessionKey,
  Skills,
  Tags,
  TimeoutSeconds,
  TtlSeconds,
} from './sandbox-schemas.ts';

const Body = z
  .object({
    image: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe('Name of an image of the catalogue, if the provider has images. Default: the default image'),
    session_key: SessionKey.nullish().describe(
      'The conversation it belongs to: the same key gives the same sandbox, resumed if it is stopped',
    ),
    name: SandboxName.nullish().describe('Unique among yours'),
    tags: Tags.nullish(),
    ttl_seconds: TtlSeconds.nullish().describe(
      'After this time without a heartbeat it is stopped, and its files are kept. Checked each minute',
    ),
    timeout_seconds: TimeoutSeconds.nullish().describe(
      'It ends after this time, whatever it does; `PUT …/timeout` changes that. Checked each minute',
    ),
    on_timeout: OnTimeoutDto.nullish().describe('Whether it is stopped (the default) or deleted then'),
    delete_with_thread: z
      .boolean('must be true or false')
      .nullish()
      .describe('Whether deleting by tag includes it. Default: false'),
    resources: SizeRequest.nullish(),
    skills: Skills.nullish().describe(
      'Names of skills, yours or shared, to place below /workspace/skills and to update at each resume',
    ),
    ...networkFields,
    from_archive: z
      .string()
      .min(1)
      .max(200)
      .nullish()
      .describe('Id of an archive of yours, see `GET /api/archives`: a new sandbox starts with its files'),
    env: Environment.nullish().describe(
      'For every command and terminal in the sandbox. The values are never returned. At most 64 variables, 64 KiB together',
    ),
  })
  .meta({ id: 'CreateSandboxRequest' });

const Made = z
  .object({
    id: z.string(),
    sandbox_token: z
      .string()
      .optional()
      .describe(
        'Valid for the files, commands and terminals of this sandbox only. Shown once, when the sandbox is created',
      ),
  })
  .meta({ id: 'MadeSandbox' });

const createSandboxRoute = defineRoute('createSandbox', 'POST', '/v1/sandbox', {
  tag: 'Sandboxes',
  summary: 'Create a sandbox',
  bridge: true,
  body: Body,
  responses: {
    200: { description: 'Its id', schema: Made },
  },
  errors: [
    'image_not_supported',
    'sandbox_exists',
    'skill_not_found',
    'archive_not_found',
    'archive_error',
    'workspace_archive_write_error',
    'quota_exceeded',
    'capacity_exceeded',
    'forbidden',
    'network_not_supported',
    'resources_not_supported',
    'exec_transport_error',
  ],
  async handle({ body, person, signal }, services) {
    const owner = ownerOf(person);
    const archive =
      body.from_archive == null ? undefined : await findArchive(services, owner, body.from_archive);
    let isNew = true;
    const { id, generation } = await createSandbox(
      services,
      {
        owner,
        image: body.image,
        sessionKey: body.session_key ?? undefined,
        name: body.name ?? undefined,
        tags: body.tags ?? undefined,
        ttlSeconds: body.ttl_seconds ?? undefined,
        timeoutAt:
          body.timeout_seconds == null ? undefined : later(services.clock, body.timeout_seconds * 1_000),
        onTimeout: body.on_timeout ?? undefined,
        deleteWithThread: body.delete_with_thread ?? false,
        resources: fromSizeRequest(body.resources),
        skills: body.skills ?? undefined,
        ...(await networkOf(services, body)),
        env: body.env ?? undefined,
      },
      archive &&
        (async (sandbox) => {
          await restoreArchive(services, archive, sandbox.id, signal);
          return sandbox;
        }),
      // Other callers may wait for the session's sandbox: its creation is never aborted.
      body.session_key == null ? signal : undefined,
      (known) => {
        isNew = false;
        return readySandbox(services, known);
      },
    );
    const made: z.infer<typeof Made> = { id };
    if (isNew) {
      const by = { version: 0 };
      made.sandbox_token = await services.tokens.signSandbox({ sandboxId: id, generation, by });
    }
    return json(200, made, { 'cache-control': 'no-store' });
  },
});

/** Missing fields are as in a sandbox that requests nothing. */
async function networkOf({ network: access }: Services, body: z.infer<typeof Body>) {
  const { secrets: inputs, ...asked } = fromNetworkFields(body);
  const network = await requestedNetwork(access, await defaultNetwork(access), asked);
  const sandbox = { network, secrets: NO_SECRETS, env: body.env ?? {} };
  return { network, secrets: await requestedSecrets(access, sandbox, inputs) };
}

const getSandboxRoute = defineRoute('getSandbox', 'GET', '/v1/sandbox/{id}', {
  shared: { sandbox: 'view' },
  tag: 'Sandboxes',
  summary: 'Read a sandbox',
  description: 'Creates none: an unknown id is 404.',
  agents: true,
  params: SandboxPath,
  responses: { 200: { description: 'The sandbox', schema: SandboxDetailDto } },
  errors: ['sandbox_not_found'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id, { agents: true });
    const access = await accessToSandbox(services, caller, sandbox);
    return json(200, await toSandboxDetailDto(sandbox, access, services.sandboxes));
  },
});

const isSandboxRunningRoute = defineRoute('isSandboxRunning', 'GET', '/v1/sandbox/{id}/running', {
  shared: { sandbox: 'view' },
  tag: 'Sandboxes',
  summary: 'Whether commands can run in the sandbox',
  agents: true,
  // The response reveals nothing about files.
  delegates: { scope: 'fs:read', enforces: 'paths' },
  bridge: true,
  params: SandboxPath,
  responses: {
    200: {
      description: 'Whether it runs',
      schema: z.object({ running: z.boolean() }).meta({ id: 'RunningResponse' }),
    },
  },
  errors: ['sandbox_not_found', 'exec_transport_error'],
  async handle({ params, caller, signal }, services) {
    const sandbox = await useSandbox(services, caller, params.id, { agents: true, asItIs: true });
    return json(200, { running: (await services.sandboxes.inspect(sandbox.id, signal)).state === 'running' });
  },
});

export const sandboxRoutes = [createSandboxRoute, getSandboxRoute, isSandboxRunningRoute];
