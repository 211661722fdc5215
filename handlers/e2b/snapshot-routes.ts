/** E2B's snapshots and forks, by checkpoints. */
import { z } from 'zod';
import { type Caller, listedOwner, performerOf } from '#core/callers.ts';
import type { CheckpointRecord } from '#core/checkpoints/checkpoint-store.ts';
import { collectFamily } from '#core/checkpoints/collect-checkpoints.ts';
import { forkCheckpoint } from '#core/checkpoints/fork-checkpoint.ts';
import { takeCheckpoint } from '#core/checkpoints/take-checkpoint.ts';
import { readySandbox } from '#core/sandboxes/use-sandbox.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { checkpointsOf } from '../sandboxes/find-checkpoint.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';
import type { Services } from '../services.ts';
import { afterSeconds, control, SandboxView, Seconds, toView } from './control-routes.ts';
import { findE2bSandbox } from './find-sandbox.ts';
import { findSnapshot } from './from-snapshot.ts';
import { TemplateName } from './template-routes.ts';

const SnapshotView = z.object({ snapshotID: z.string(), names: z.array(z.string()) });

function toSnapshot({ id, label }: CheckpointRecord): z.infer<typeof SnapshotView> {
  return { snapshotID: id, names: label === null ? [] : [label] };
}

async function makeSnapshot(
  services: Services,
  caller: Caller,
  id: string,
  label: string | null,
  signal: AbortSignal | undefined,
) {
  const deps = checkpointsOf(services);
  const found = await findE2bSandbox(services, caller, id);
  const sandbox = await readySandbox(services, found, { inspects: true });
  const asked = { label, cause: 'manual', memory: 'auto', by: performerOf(caller) } as const;
  const { checkpoint } = await takeCheckpoint(deps, sandbox, asked, signal);
  return { sandbox, checkpoint };
}

const createRoute = defineRoute('e2bCreateSnapshot', 'POST', '/e2b/sandboxes/{id}/snapshots', {
  ...control,
  summary: 'Make a snapshot of a sandbox',
  description: 'A checkpoint. It is deleted with its sandbox.',
  class: 'heavy',
  params: SandboxPath,
  body: z.strictObject({ name: z.string().trim().min(1).max(200).optional() }).optional(),
  responses: { 201: { description: 'The snapshot', schema: SnapshotView } },
  errors: [
    'sandbox_not_found',
    'checkpoints_not_supported',
    'disk_full',
    'archive_error',
    'exec_transport_error',
  ],
  async handle({ params, body, caller, signal }, services) {
    const label = body?.name ?? null;
    const { checkpoint } = await makeSnapshot(services, caller, params.id, label, signal);
    return json(201, toSnapshot(checkpoint));
  },
});

const listRoute = defineRoute('e2bListSnapshots', 'GET', '/e2b/snapshots', {
  ...control,
  summary: 'List snapshots',
  query: z.object({
    sandboxID: z.string().max(400).optional(),
    name: z.string().max(200).optional(),
    limit: z.coerce.number().int().min(1).max(100).default(100),
    nextToken: z.string().max(512).optional(),
  }),
  responses: { 200: { description: 'Newest first', schema: z.array(SnapshotView) } },
  async handle({ query, person }, services) {
    const filter = { sandboxId: query.sandboxID, name: query.name };
    const page = { limit: query.limit, after: query.nextToken };
    const { items, next } = await services.records.checkpoints.listManual(listedOwner(person), filter, page);
    return json(200, items.map(toSnapshot), next === null ? {} : { 'x-next-token': next });
  },
});

const deleteRoute = defineRoute('e2bDeleteTemplate', 'DELETE', '/e2b/templates/{template}', {
  ...control,
  summary: 'Delete a snapshot',
  description: 'Images of the catalogue, which are templates as well, cannot be deleted.',
  params: z.object({ template: TemplateName }),
  responses: { 204: { description: 'Deleted' } },
  errors: ['checkpoint_not_found', 'checkpoints_not_supported', 'archive_error'],
  async handle({ params, person }, services) {
    const { snapshot } = await findSnapshot(services, person, params.template);
    if (await services.records.checkpoints.markDeleted([snapshot.id])) {
      await collectFamily(checkpointsOf(services), snapshot.family);
    }
    return { statusCode: 204, headers: {} };
  },
});

const MAX_FORKS = 20;
/** What E2B means if a client names no time, in seconds. */
const USUAL_FORK_SECONDS = 15;

const forkRoute = defineRoute('e2bForkSandbox', 'POST', '/e2b/sandboxes/{id}/fork', {
  ...control,
  summary: 'Make sandboxes with the files of this one',
  class: 'heavy',
  params: SandboxPath,
  body: z
    .strictObject({
      timeout: Seconds.default(USUAL_FORK_SECONDS),
      count: z.int().min(1).max(MAX_FORKS, `must be at most ${MAX_FORKS}`).default(1),
    })
    .optional(),
  responses: {
    201: {
      description: 'A sandbox or an error for each fork',
      schema: z.array(
        z.object({
          sandbox: SandboxView.optional(),
          error: z.object({ code: z.int(), message: z.string() }).optional(),
        }),
      ),
    },
  },
  errors: [
    'sandbox_not_found',
    'checkpoints_not_supported',
    'quota_exceeded',
    'capacity_exceeded',
    'archive_error',
    'exec_transport_error',
  ],
  async handle({ params, body, caller, signal }, services) {
    const { sandbox, checkpoint } = await makeSnapshot(services, caller, params.id, null, signal);
    const { count = 1, timeout = USUAL_FORK_SECONDS } = body ?? {};
    const fields = {
      timeoutAt: afterSeconds(services, timeout),
      onTimeout: sandbox.onTimeout,
      env: sandbox.env,
      tags: sandbox.tags,
    };
    const options = { count, variables: [], by: performerOf(caller), fields };
    const forks = await forkCheckpoint(checkpointsOf(services), sandbox, checkpoint, options, signal);
    const results = forks.map(async (fork) =>
      'sandbox' in fork
        ? { sandbox: await toView(services, fork.sandbox) }
        : { error: { code: fork.error.status, message: fork.error.message } },
    );
    return json(201, await Promise.all(results), { 'cache-control': 'no-store' });
  },
});

export const e2bSnapshotRoutes: readonly Route[] = [createRoute, listRoute, deleteRoute, forkRoute];
