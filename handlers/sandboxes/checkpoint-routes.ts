import { z } from 'zod';
import { type Caller, performerOf } from '#core/callers.ts';
import type { ErrorCode } from '#base/errors.ts';
import { collectFamily } from '#core/checkpoints/collect-checkpoints.ts';
import { CHECKPOINT_CAUSES, type CheckpointRecord } from '#core/checkpoints/checkpoint-store.ts';
import { EMPTY_MANIFEST, fileChanges } from '#core/checkpoints/manifest.ts';
import { manifestOf, restoreCheckpoint } from '#core/checkpoints/restore-checkpoint.ts';
import { takeCheckpoint } from '#core/checkpoints/take-checkpoint.ts';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { readySandbox } from '#core/sandboxes/use-sandbox.ts';
import { defineRoute, ID_PATTERN, json } from '../route.ts';
import type { Services } from '../services.ts';
import { changesFields, toChangesDto } from './changes-dto.ts';
import { checkpointsOf, findCheckpoint } from './find-checkpoint.ts';
import { GUEST_ERRORS, SandboxPath } from './sandbox-path.ts';

export const CHECKPOINTS = '/v1/sandbox/{id}/checkpoints';

export const CheckpointPath = SandboxPath.extend({
  checkpoint: z.string().max(200).describe('Id of the checkpoint').meta({ pattern: ID_PATTERN }),
});

const Label = z.string().trim().min(1, 'must not be empty').max(200);

const CheckpointDto = z
  .object({
    id: z.string(),
    parent: z
      .string()
      .nullable()
      .describe('The checkpoint that the sandbox was at; null for the first, or if that was deleted'),
    label: z.string().nullable(),
    cause: z.enum(CHECKPOINT_CAUSES).describe('Why it was made; `restore`: before another one was restored'),
    created_at: z.iso.datetime(),
    memory: z.boolean().describe('Whether it has processes and their memory'),
    files: z.number().int(),
    bytes: z.number().int().describe('Of all files'),
    stored_bytes: z.number().int().describe('What it added to the store: changes since its parent'),
    left_out: z.number().int().describe('Files and folders that the user of the sandbox may not read'),
    consistent: z
      .boolean()
      .describe('False: files changed while they were read, as in a crash of the machine'),
    image: z.string().nullable(),
    servers: z
      .array(z.object({ name: z.string(), port: z.number().int().nullable() }))
      .describe('Declared servers, which a restore and a fork start'),
    variables: z.array(z.string()).describe('Names of the variables of the sandbox'),
  })
  .meta({ id: 'Checkpoint' });

export function toCheckpointDto(one: CheckpointRecord): z.infer<typeof CheckpointDto> {
  return {
    id: one.id,
    parent: one.parentId,
    label: one.label,
    cause: one.cause,
    created_at: one.createdAt.toISOString(),
    memory: one.memory !== null,
    files: one.files,
    bytes: one.bytes,
    stored_bytes: one.storedBytes,
    left_out: one.leftOut,
    consistent: one.isConsistent,
    image: one.image,
    servers: [...one.servers],
    variables: [...one.variables],
  };
}

/** The owner, and people with whom the work in the run is shared. */
async function findRunning(services: Services, caller: Caller, id: string): Promise<SandboxRecord> {
  const sandbox = await findSandbox(services, caller, id, { agents: true });
  return readySandbox(services, sandbox, { inspects: true });
}

const createCheckpointRoute = defineRoute('createCheckpoint', 'POST', CHECKPOINTS, {
  shared: { sandbox: 'work' },
  tag: 'Checkpoints',
  summary: 'Make a checkpoint of a sandbox',
  description:
    'Its files, its declared servers and the names of its variables; a stopped sandbox is resumed for it. What is stored is what has changed since its parent. Mounted buckets are not in it. It exists until it, or its sandbox, is deleted.',
  class: 'heavy',
  agents: true,
  params: SandboxPath,
  body: z
    .strictObject({
      label: Label.nullish().describe('For people'),
      memory: z
        .union([z.boolean(), z.literal('auto')])
        .default('auto')
        .describe(
          'Whether processes are kept, too: `limits.checkpoint` says where. Their connections to the host are closed, and not while a command or a terminal is attached. `auto`: where it is possible',
        ),
    })
    .meta({ id: 'CreateCheckpointRequest', example: { label: 'before the redesign' } }),
  responses: { 200: { description: 'The checkpoint', schema: CheckpointDto } },
  errors: [
    ...GUEST_ERRORS,
    'checkpoints_not_supported',
    'memory_not_supported',
    'disk_full',
    'payload_too_large',
    'archive_error',
    'conflict',
    'workspace_archive_read_error',
  ],
  async handle({ params, body, caller, signal }, services) {
    const deps = checkpointsOf(services);
    const sandbox = await findRunning(services, caller, params.id);
    const { label = null, memory } = body;
    const asked = { label, cause: 'manual', memory, by: performerOf(caller) } as const;
    const { checkpoint } = await takeCheckpoint(deps, sandbox, asked, signal);
    return json(200, toCheckpointDto(checkpoint));
  },
});

const List = z
  .object({
    checkpoints: z.array(CheckpointDto).describe('Oldest first'),
    current: z.string().nullable().describe('The one that the sandbox was at last: the parent of the next'),
  })
  .meta({ id: 'CheckpointList' });

const listCheckpointsRoute = defineRoute('listCheckpoints', 'GET', CHECKPOINTS, {
  shared: { sandbox: 'view' },
  tag: 'Checkpoints',
  summary: 'List the checkpoints of a sandbox',
  description: 'A tree by `parent`.',
  agents: true,
  params: SandboxPath,
  responses: { 200: { description: 'The checkpoints', schema: List } },
  errors: ['sandbox_not_found'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id, { agents: true });
    const { checkpoints } = services.records;
    const [list, head] = await Promise.all([checkpoints.list(sandbox), checkpoints.head(sandbox)]);
    return json(200, { checkpoints: list.map(toCheckpointDto), current: head?.checkpointId ?? null });
  },
});

const getCheckpointRoute = defineRoute('getCheckpoint', 'GET', `${CHECKPOINTS}/{checkpoint}`, {
  shared: { sandbox: 'view' },
  tag: 'Checkpoints',
  summary: 'Read a checkpoint',
  agents: true,
  params: CheckpointPath,
  responses: { 200: { description: 'The checkpoint', schema: CheckpointDto } },
  errors: ['sandbox_not_found', 'checkpoint_not_found'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id, { agents: true });
    return json(200, toCheckpointDto(await findCheckpoint(services, sandbox, params.checkpoint)));
  },
});

const deleteCheckpointRoute = defineRoute('deleteCheckpoint', 'DELETE', `${CHECKPOINTS}/{checkpoint}`, {
  shared: { sandbox: 'work' },
  tag: 'Checkpoints',
  summary: 'Delete a checkpoint',
  description: 'What other checkpoints share with it stays. Succeeds if it does not exist.',
  params: CheckpointPath,
  responses: { 204: { description: 'Deleted' } },
  errors: ['sandbox_not_found', 'checkpoints_not_supported', 'archive_error'],
  async handle({ params, caller }, services) {
    const deps = checkpointsOf(services);
    const sandbox = await findSandbox(services, caller, params.id);
    const list = await services.records.checkpoints.list(sandbox);
    const found = list.find(({ id }) => id === params.checkpoint);
    if (found !== undefined && (await services.records.checkpoints.markDeleted([found.id]))) {
      await collectFamily(deps, found.family);
    }
    return { statusCode: 204, headers: {} };
  },
});

const Changes = z
  .object({
    since: z.string().nullable().describe('The other checkpoint; null: an empty workspace'),
    ...changesFields,
  })
  .meta({ id: 'CheckpointChanges' });

const checkpointChangesRoute = defineRoute(
  'checkpointChanges',
  'GET',
  `${CHECKPOINTS}/{checkpoint}/changes`,
  {
    shared: { sandbox: 'view' },
    tag: 'Checkpoints',
    summary: 'List files that differ between two checkpoints',
    class: 'heavy',
    agents: true,
    params: CheckpointPath,
    query: z.object({
      since: z.string().max(200).optional().describe('Another checkpoint. Default: the parent'),
    }),
    responses: { 200: { description: 'The files', schema: Changes } },
    errors: [
      'sandbox_not_found',
      'checkpoints_not_supported',
      'checkpoint_not_found',
      'checkpoint_damaged',
      'archive_error',
    ],
    async handle({ params, query, caller }, services) {
      const deps = checkpointsOf(services);
      const sandbox = await findSandbox(services, caller, params.id, { agents: true });
      const checkpoint = await findCheckpoint(services, sandbox, params.checkpoint);
      const sinceId = query.since ?? checkpoint.parentId;
      const since = sinceId === null ? undefined : await findCheckpoint(services, sandbox, sinceId);
      const from = since === undefined ? EMPTY_MANIFEST : await manifestOf(deps, since);
      const changes = fileChanges(from, await manifestOf(deps, checkpoint));
      return json(200, { since: since?.id ?? null, ...toChangesDto(changes) });
    },
  },
);

export const Restored = z
  .object({
    checkpoint: z.string(),
    before: CheckpointDto.describe('What the sandbox was: restore it to go back'),
    written: z.number().int().describe('Files, folders and links that were written'),
    removed: z.number().int(),
  })
  .meta({ id: 'RestoredCheckpoint' });

export const RESTORE_ERRORS: readonly ErrorCode[] = [
  ...GUEST_ERRORS,
  'checkpoints_not_supported',
  'checkpoint_not_found',
  'checkpoint_damaged',
  'disk_full',
  'payload_too_large',
  'archive_error',
  'conflict',
  'workspace_archive_read_error',
  'workspace_archive_write_error',
];

const restoreCheckpointRoute = defineRoute(
  'restoreCheckpoint',
  'POST',
  `${CHECKPOINTS}/{checkpoint}/restore`,
  {
    shared: { sandbox: 'work' },
    tag: 'Checkpoints',
    summary: 'Restore a checkpoint',
    description:
      'Files and declared servers become those of the checkpoint, after a checkpoint of the present. Servers restart; other processes and open terminals go on. Previews keep their URLs. A damaged checkpoint changes nothing.',
    class: 'heavy',
    agents: true,
    params: CheckpointPath,
    body: z.strictObject({}).optional(),
    responses: { 200: { description: 'Restored', schema: Restored } },
    errors: RESTORE_ERRORS,
    async handle({ params, caller, signal }, services) {
      const deps = checkpointsOf(services);
      const sandbox = await findRunning(services, caller, params.id);
      const checkpoint = await findCheckpoint(services, sandbox, params.checkpoint);
      const { before, ...done } = await restoreCheckpoint(
        deps,
        sandbox,
        checkpoint,
        performerOf(caller),
        signal,
      );
      return json(200, { checkpoint: checkpoint.id, before: toCheckpointDto(before), ...done });
    },
  },
);

export const checkpointRoutes = [
  createCheckpointRoute,
  listCheckpointsRoute,
  getCheckpointRoute,
  deleteCheckpointRoute,
  checkpointChangesRoute,
  restoreCheckpointRoute,
];
