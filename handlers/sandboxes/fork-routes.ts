import { z } from 'zod';
import { ownsSandbox, performerOf, requirePerson } from '#core/callers.ts';
import { forkCheckpoint } from '#core/checkpoints/fork-checkpoint.ts';
import { checkIsFork, keepFork } from '#core/checkpoints/keep-fork.ts';
import { openForkPreviews } from '#core/previews/fork-previews.ts';
import { endSandbox } from '#core/sandboxes/end-sandbox.ts';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { readySandbox } from '#core/sandboxes/use-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import {
  CheckpointPath,
  CHECKPOINTS,
  Restored,
  RESTORE_ERRORS,
  toCheckpointDto,
} from './checkpoint-routes.ts';
import { checkpointsOf, findCheckpoint } from './find-checkpoint.ts';
import { SandboxPath } from './sandbox-path.ts';

const MAX_FORKS = 20;

const Forks = z
  .object({
    sandboxes: z.array(
      z.object({
        id: z.string(),
        memory: z.boolean().describe('Whether the processes of the checkpoint go on in it'),
        memory_error: z.string().optional().describe('Why not, if the checkpoint has them'),
        run: z.string().nullable().describe('With `previews`: the run that has them'),
        previews: z.array(
          z.object({
            id: z.string().describe('`session_id` of the preview'),
            url: z.string().nullable().describe('Null where previews have no URLs'),
            port: z.number().int(),
          }),
        ),
      }),
    ),
    errors: z
      .array(
        z.object({
          code: z.string(),
          error: z.string(),
          sandbox: z.string().nullable().describe('The fork that lacks a run or a preview; null: no fork'),
        }),
      )
      .describe('Why there are fewer forks than `count`, or fewer previews than in the original'),
  })
  .meta({ id: 'ForkedSandboxes' });

const forkCheckpointRoute = defineRoute('forkCheckpoint', 'POST', `${CHECKPOINTS}/{checkpoint}/fork`, {
  tag: 'Checkpoints',
  summary: 'Make sandboxes from a checkpoint',
  description:
    'Each is an independent sandbox with the files and declared servers of the checkpoint, and the image, sizes and network rules of the original: without its mounts, approvals and variables. A file with secrets in /workspace, such as `.env`, is copied.',
  class: 'heavy',
  params: CheckpointPath,
  body: z
    .strictObject({
      count: z.number().int().min(1).max(MAX_FORKS, `must be at most ${MAX_FORKS}`).default(1),
      previews: z
        .boolean()
        .default(false)
        .describe(
          'Makes a private run for each fork, and opens the ports in it that have previews in the original, at their levels: new URLs, without the links, passwords and names of the original. `password` becomes `owner`. Only for people',
        ),
      variables: z
        .array(z.string().max(256))
        .max(264)
        .default([])
        .describe('Names of variables and secrets of the sandbox that the forks get, too'),
      memory: z
        .boolean()
        .default(true)
        .describe('Whether the processes of a checkpoint with memory go on, with their variables'),
    })
    .meta({ id: 'ForkCheckpointRequest', example: { count: 3, previews: true } }),
  responses: { 200: { description: 'The forks', schema: Forks } },
  errors: [
    'sandbox_not_found',
    'checkpoints_not_supported',
    'checkpoint_not_found',
    'checkpoint_damaged',
    'quota_exceeded',
    'capacity_exceeded',
    'image_not_supported',
    'archive_error',
    'workspace_archive_write_error',
    'exec_transport_error',
  ],
  async handle({ params, body, caller, signal }, services) {
    const deps = checkpointsOf(services);
    const opener = body.previews ? requirePerson(caller, 'open previews of forks') : undefined;
    const sandbox = await findSandbox(services, caller, params.id);
    const checkpoint = await findCheckpoint(services, sandbox, params.checkpoint);
    const made = await forkCheckpoint(
      deps,
      sandbox,
      checkpoint,
      { ...body, by: performerOf(caller) },
      signal,
    );
    const forks = made.flatMap((fork) => ('sandbox' in fork ? [fork] : []));
    const opened =
      opener === undefined
        ? []
        : await openForkPreviews(
            services,
            opener,
            sandbox,
            forks.map((each) => each.sandbox),
            checkpoint,
            signal,
          );
    const errors = made.flatMap((fork) => ('error' in fork ? [{ error: fork.error, sandbox: null }] : []));
    const missing = opened.flatMap((each, index) =>
      each.errors.map((error) => ({ error, sandbox: forks[index]?.sandbox.id ?? null })),
    );
    return json(200, {
      sandboxes: forks.map(({ sandbox: { id }, memory, memoryError }, index) => ({
        id,
        memory,
        memory_error: memoryError,
        run: opened[index]?.runId ?? null,
        previews: (opened[index]?.previews ?? []).map(({ token, url, targetPort }) => ({
          id: token,
          url,
          port: targetPort,
        })),
      })),
      errors: [...errors, ...missing].map(({ error, sandbox: of }) => ({
        code: error.code,
        error: error.message,
        sandbox: of,
      })),
    });
  },
});

const keepForkRoute = defineRoute('keepFork', 'POST', '/v1/sandbox/{id}/keep', {
  tag: 'Checkpoints',
  summary: 'Keep a fork',
  description:
    'The files and declared servers of a sandbox become those of its fork, after a checkpoint of the present. Its runs, its variables and the URLs of its previews stay. The fork goes on, unless it is deleted.',
  class: 'heavy',
  params: SandboxPath,
  body: z
    .strictObject({
      fork: z.string().max(400).describe('Id of the fork'),
      delete: z.boolean().default(false).describe('Whether the fork is deleted then'),
    })
    .meta({ id: 'KeepForkRequest', example: { fork: 'k3v9m2q7x1b4n8c5', delete: true } }),
  responses: { 200: { description: 'Kept', schema: Restored } },
  errors: RESTORE_ERRORS,
  async handle({ params, body, caller, signal }, services) {
    const deps = checkpointsOf(services);
    const sandbox = await findSandbox(services, caller, params.id);
    const fork = await findSandbox(services, caller, body.fork);
    await checkIsFork(deps, sandbox, fork);
    const kept = await readySandbox(services, fork, { inspects: true });
    const into = await readySandbox(services, sandbox, { inspects: true });
    const { checkpoint, before, ...done } = await keepFork(deps, into, kept, performerOf(caller), signal);
    if (body.delete) await endSandbox(services, fork, ownsSandbox(caller, fork) ? 'owner' : 'admin');
    return json(200, { checkpoint: checkpoint.id, before: toCheckpointDto(before), ...done });
  },
});

export const forkRoutes = [forkCheckpointRoute, keepForkRoute];
