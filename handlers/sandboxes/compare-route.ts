import { z } from 'zod';
import { sameOwner } from '#base/clock-and-ids.ts';
import { PortholeError } from '#base/errors.ts';
import type { Caller } from '#core/callers.ts';
import { compareSandboxes, fileText } from '#core/checkpoints/compare-sandboxes.ts';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { readySandbox } from '#core/sandboxes/use-sandbox.ts';
import { SERVER_STATES } from '#protocol/guest/servers-protocol.ts';
import { defineRoute, json } from '../route.ts';
import type { Services } from '../services.ts';
import { changesFields, toChangesDto } from './changes-dto.ts';
import { checkpointsOf } from './find-checkpoint.ts';
import { GUEST_ERRORS, SandboxPath } from './sandbox-path.ts';

const Server = z
  .object({ state: z.enum(SERVER_STATES), port: z.number().int().nullable(), argv: z.array(z.string()) })
  .nullable()
  .describe('Null: it is not declared');

const FileText = z.object({
  text: z.string().nullable(),
  missing: z.enum(['no_file', 'too_large', 'not_text']).nullable().describe('Why there is no text'),
});

export const Comparison = z
  .object({
    ...changesFields,
    servers: z
      .array(z.object({ name: z.string(), one: Server, other: Server }))
      .describe('Those that differ'),
    texts: z.array(z.object({ path: z.string(), one: FileText, other: FileText })),
  })
  .meta({ id: 'SandboxComparison' });

/** The sandbox of the request is `one`. */
export async function compare(
  services: Services,
  [one, other]: readonly [SandboxRecord, SandboxRecord],
  texts: readonly string[],
  signal?: AbortSignal,
): Promise<z.output<typeof Comparison>> {
  const deps = checkpointsOf(services);
  const { changes, servers } = await compareSandboxes(deps, one, other, signal);
  const read = [];
  for (const path of texts) {
    const [first, second] = await Promise.all([one, other].map((each) => fileText(deps, each, path, signal)));
    if (first !== undefined && second !== undefined) read.push({ path, one: first, other: second });
  }
  return {
    ...toChangesDto(changes),
    servers: servers.map((each) => ({
      name: each.name,
      one: toServer(each.one),
      other: toServer(each.other),
    })),
    texts: read,
  };
}

function toServer(
  server: { state: (typeof SERVER_STATES)[number]; port: number | null; argv: string[] } | null,
) {
  return server && { state: server.state, port: server.port, argv: server.argv };
}

/**
 * Another sandbox of the caller. The agent of a run finds only forks of its sandbox, which its
 * owner has approved.
 * @throws PortholeError `sandbox_not_found`
 */
export async function findCompared(
  services: Services,
  caller: Caller,
  one: SandboxRecord,
  id: string,
): Promise<SandboxRecord> {
  if (id === one.id) return one;
  const found = await services.records.sandboxes.get(id);
  const isFork =
    found?.tags['forked-from'] === one.id &&
    found.desired !== 'destroyed' &&
    sameOwner(found.owner, one.owner);
  const other = caller.kind === 'agent' && isFork ? found : await findSandbox(services, caller, id);
  return readySandbox(services, other, { inspects: true });
}

const compareSandboxesRoute = defineRoute('compareSandboxes', 'POST', '/v1/sandbox/{id}/compare', {
  tag: 'Checkpoints',
  summary: 'Compare a sandbox with a fork',
  description:
    'Files and declared servers of the present, from this sandbox (`one`) to the other one, and texts of files on request. Both come from one sandbox; a stopped one is resumed. Nothing is stored. An agent may compare its sandbox with forks of it, without `texts`.',
  class: 'heavy',
  agents: true,
  params: SandboxPath,
  body: z
    .strictObject({
      with: z.string().max(400).describe('Id of the other sandbox'),
      texts: z
        .array(z.string().min(1).max(4_096))
        .max(20)
        .default([])
        .describe('Paths within /workspace: the texts of these files are returned, of at most 128 KiB each'),
    })
    .meta({ id: 'CompareSandboxesRequest', example: { with: 'fork-1' } }),
  responses: { 200: { description: 'What differs', schema: Comparison } },
  errors: [
    ...GUEST_ERRORS,
    'checkpoints_not_supported',
    'payload_too_large',
    'archive_error',
    'path_outside_workspace',
    'workspace_archive_read_error',
    'forbidden',
  ],
  async handle({ params, body, caller, signal }, services) {
    const one = await findSandbox(services, caller, params.id, { agents: true });
    const other = await findCompared(services, caller, one, body.with);
    const ready = await readySandbox(services, one, { inspects: true });
    if (caller.kind === 'agent' && other.id !== one.id && body.texts.length > 0) throw noTexts();
    return json(200, await compare(services, [ready, other], body.texts, signal));
  },
});

function noTexts(): PortholeError {
  return new PortholeError('forbidden', 'texts: an agent does not read the files of a fork', {
    remedy: 'leave it out, or ask the owner of the sandbox.',
  });
}

export const compareRoutes = [compareSandboxesRoute];
