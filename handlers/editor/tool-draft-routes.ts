import { z } from 'zod';
import { saveDraft } from '#core/editor/change-tool.ts';
import { releaseDraftLock, renewDraftLock, takeDraftLock } from '#core/editor/draft-lock.ts';
import { activeLock } from '#core/editor/editor-limits.ts';
import type { DraftLock, DraftRecord } from '#core/editor/editor-store.ts';
import { findDraft } from '#core/editor/find-tool.ts';
import { defineRoute, json } from '../route.ts';
import {
  EDITOR_JSON_BYTES,
  lockToken,
  shownToolFields,
  toFields,
  toolFields,
  ToolPath,
  toSource,
} from './tool-routes.ts';

const LockDto = z.object({ holder: z.string(), expires_at: z.iso.datetime() }).meta({ id: 'DraftLock' });

const path = '/api/v1/editor/tools/{tool_id}/draft/lock';

const takeDraftLockRoute = defineRoute('takeDraftLock', 'POST', path, {
  tag: 'Editor',
  summary: 'Take the lock of a draft',
  description:
    'Valid for ten minutes. Any user of the tool can take an expired lock. `lock_token` is returned only once.',
  params: ToolPath,
  body: z
    .strictObject({
      take_over: z
        .boolean()
        .default(false)
        .describe('Take over an active lock: your own if you lost its token, or any lock as an admin'),
    })
    .meta({ id: 'TakeDraftLockRequest' }),
  responses: {
    200: {
      description: 'Taken',
      schema: LockDto.extend({ lock_token: z.string() }).meta({ id: 'TakenDraftLock' }),
    },
  },
  errors: ['tool_not_found', 'draft_locked'],
  async handle({ params, body, caller }, services) {
    const taken = await takeDraftLock(services, caller, params.tool_id, { takeOver: body.take_over });
    return json(200, { lock_token: taken.token, ...toLockDto(taken.lock) });
  },
});

const renewDraftLockRoute = defineRoute('renewDraftLock', 'PUT', path, {
  tag: 'Editor',
  summary: 'Renew the lock of a draft for ten minutes',
  draftLock: true,
  params: ToolPath,
  responses: { 200: { description: 'Renewed', schema: LockDto } },
  errors: ['tool_not_found', 'draft_locked'],
  async handle({ params, caller, headers }, services) {
    return json(200, toLockDto(await renewDraftLock(services, caller, params.tool_id, lockToken(headers))));
  },
});

const releaseDraftLockRoute = defineRoute('releaseDraftLock', 'DELETE', path, {
  tag: 'Editor',
  summary: 'Release the lock of a draft',
  draftLock: true,
  params: ToolPath,
  responses: { 204: { description: 'Released' } },
  errors: ['tool_not_found', 'draft_locked'],
  async handle({ params, caller, headers }, services) {
    await releaseDraftLock(services, caller, params.tool_id, lockToken(headers));
    return { statusCode: 204, headers: {} };
  },
});

function toLockDto({ holder, expiresAt }: DraftLock): z.infer<typeof LockDto> {
  return { holder: holder.user, expires_at: expiresAt.toISOString() };
}

const DraftDto = z
  .object({
    tool_id: z.string(),
    version_id: z.string().describe('The version that it was created from'),
    revision: z.int().describe('Increases with each change'),
    updated_at: z.iso.datetime(),
    updated_by: z.string(),
    lock: z.object({ holder: z.string(), expires_at: z.iso.datetime() }).nullable(),
    ...shownToolFields,
  })
  .meta({ id: 'ToolDraft' });

const Body = z
  .strictObject({
    ...toolFields,
    version_id: z.string().max(200).describe('Start over from this version of the tool'),
    revision: z.int().min(1).describe('Save only if this is the current revision'),
  })
  .partial()
  .meta({ id: 'SaveToolDraftRequest' });

const getToolDraftRoute = defineRoute('getToolDraft', 'GET', '/api/v1/editor/tools/{tool_id}/draft', {
  tag: 'Editor',
  summary: 'Read the draft of a tool',
  params: ToolPath,
  responses: { 200: { description: 'The draft, and who holds its lock', schema: DraftDto } },
  errors: ['tool_not_found'],
  async handle({ params, caller }, services) {
    const { found } = await findDraft(services, caller, params.tool_id);
    return json(200, toDto(found, services.clock.now()));
  },
});

const saveToolDraftRoute = defineRoute('saveToolDraft', 'PUT', '/api/v1/editor/tools/{tool_id}/draft', {
  tag: 'Editor',
  summary: 'Change the draft of a tool',
  description: 'Omitted fields stay unchanged. Requires the lock.',
  draftLock: true,
  params: ToolPath,
  body: Body,
  jsonBytes: EDITOR_JSON_BYTES,
  responses: { 200: { description: 'The updated draft', schema: DraftDto } },
  errors: ['tool_not_found', 'tool_version_not_found', 'invalid_schema', 'draft_locked', 'draft_conflict'],
  async handle({ params, body, caller, headers }, services) {
    const { version_id: versionId, revision, ...fields } = body;
    const wish = { fields: toSource(fields), versionId, revision, lockToken: lockToken(headers) };
    const draft = await saveDraft(services, caller, params.tool_id, wish);
    return json(200, toDto(draft, services.clock.now()));
  },
});

function toDto(draft: DraftRecord, now: Date): z.infer<typeof DraftDto> {
  const lock = activeLock(draft.lock, now);
  return {
    tool_id: draft.toolId,
    version_id: draft.versionId,
    revision: draft.revision,
    updated_at: draft.updatedAt.toISOString(),
    updated_by: draft.updatedBy,
    lock: lock ? { holder: lock.holder.user, expires_at: lock.expiresAt.toISOString() } : null,
    ...toFields(draft),
  };
}

export const toolDraftRoutes = [
  getToolDraftRoute,
  saveToolDraftRoute,
  takeDraftLockRoute,
  renewDraftLockRoute,
  releaseDraftLockRoute,
];
