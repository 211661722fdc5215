import { z } from 'zod';
import { changeNetwork } from '#core/network/change-network.ts';
import { ocsfNetworkActivity } from '#core/network/ocsf-network-activity.ts';
import { SANDBOX_EVENTS_KEPT } from '#core/sandboxes/sandbox-event-publisher.ts';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { defineRoute, json, jsonLines } from '../route.ts';
import { fromNetworkFields, networkDtoFields, networkFields, toNetworkDto } from './network-fields.ts';
import type { Services } from '../services.ts';
import { SandboxPath } from './sandbox-path.ts';

export const NetworkAttemptDto = z
  .object({
    at: z.iso.datetime(),
    host: z.string(),
    port: z.int(),
    decision: z
      .enum(['allowed', 'blocked', 'failed'])
      .describe('`failed`: allowed, and the host does not answer'),
    rule: z.string().describe('What decided, or why it failed'),
    attempts: z.int().describe('Equal ones within a second are one'),
    bytes_in: z.int(),
    bytes_out: z.int(),
    ms: z.int().describe('The longest of them'),
  })
  .meta({ id: 'NetworkAttempt' });

const Network = z
  .object({
    ...networkDtoFields,
    attempts: z
      .array(NetworkAttemptDto)
      .describe('Newest first, as far as the sandbox’s last 1,000 events reach'),
  })
  .meta({ id: 'SandboxNetwork' });

const Policy = z.object(networkDtoFields).meta({ id: 'NetworkPolicy' });

/** Newest first. */
export async function networkAttempts(
  { network, records }: Pick<Services, 'network' | 'records'>,
  sandboxId: string,
): Promise<z.infer<typeof NetworkAttemptDto>[]> {
  await network.settled();
  const { events } = await records.sandboxEvents.read(sandboxId, { after: 0, limit: SANDBOX_EVENTS_KEPT });
  return events
    .filter(({ type }) => type === 'network')
    .map(({ at, data }) => NetworkAttemptDto.parse({ ...data, at: at.toISOString() }))
    .toReversed();
}

const getSandboxNetworkRoute = defineRoute('getSandboxNetwork', 'GET', '/v1/sandbox/{id}/network', {
  shared: { sandbox: 'view' },
  tag: 'Sandboxes',
  summary: 'Read the network rules and the connection log of a sandbox',
  agents: true,
  params: SandboxPath,
  query: z.object({
    format: z
      .enum(['json', 'ocsf'], 'must be json or ocsf')
      .default('json')
      .describe(
        '`ocsf`: the attempts alone, as OCSF events of the class Network Activity (4001), one a line (NDJSON)',
      ),
  }),
  responses: {
    200: {
      description: 'The policy and the attempts',
      schema: Network,
      contentType: 'application/x-ndjson',
    },
  },
  errors: ['sandbox_not_found'],
  async handle({ params, query, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id, { agents: true });
    const attempts = await networkAttempts(services, sandbox.id);
    if (query.format === 'ocsf') {
      return jsonLines(
        attempts.map(({ at, bytes_in: bytesIn, bytes_out: bytesOut, ...rest }) =>
          ocsfNetworkActivity(sandbox.id, new Date(at), { ...rest, bytesIn, bytesOut }),
        ),
      );
    }
    return json(200, { ...toNetworkDto(sandbox), attempts });
  },
});

const Change = z.strictObject(networkFields).meta({ id: 'ChangeSandboxRequest' });

const changeSandboxRoute = defineRoute('changeSandbox', 'PATCH', '/v1/sandbox/{id}', {
  tag: 'Sandboxes',
  summary: 'Change the network rules and the secrets of a sandbox',
  description:
    'For its owner. Takes effect at once: open connections that are no longer allowed end. A list replaces the previous one.',
  params: SandboxPath,
  body: Change,
  responses: { 200: { description: 'The new policy', schema: Policy } },
  errors: ['sandbox_not_found', 'forbidden', 'network_not_supported'],
  async handle({ params, body, person }, services) {
    const sandbox = await findSandbox(services, person, params.id);
    return json(200, toNetworkDto(await changeNetwork(services, sandbox, fromNetworkFields(body))));
  },
});

export const sandboxNetworkRoutes = [changeSandboxRoute, getSandboxNetworkRoute];
