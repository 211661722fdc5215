import { z } from 'zod';
import type { DraftRecord } from '#core/ports/editor.ts';
import { activeLock } from '#core/rules/editor/draft-lock.ts';
import { findDraft } from '#core/use-cases/editor/find-tool.ts';
import { saveDraft } from '#core/use-cases/editor/save-draft.ts';
import { defineRoute, json } from '../route.ts';
import { lockToken, ToolPath } from './editor-path.ts';
import { EDITOR_JSON_BYTES, shownToolFields, toFields, toolFields, toSource } from './tool-fields.ts';

const DraftDto = z
  .object({
    tool_id: z.string(),
    version_id: z.string().describe('The version that it was made from'),
    revision: z.int().describe('One more with each change'),
    updated_at: z.iso.datetime(),
    updated_by: z.string(),
    lock: z.object({ holder: z.string(), expires_at: z.iso.datetime() }).nullable(),
    ...shownToolFields,
  })
  .meta({ id: 'ToolDraft' });

const Body = z
  .strictObject({
    ...toolFields,
    version_id: z.string().max(200).describe('Begin again from this version of the tool'),
    revision: z.int().min(1).describe('Save only on top of this revision'),
  })
  .partial()
  .meta({ id: 'SaveToolDraftRequest' });

export const getToolDraftRoute = defineRoute({
  id: 'getToolDraft',
  method: 'GET',
  path: '/api/v1/editor/tools/{tool_id}/draft',
  tag: 'Editor',
  summary: 'Read the draft of a tool',
  access: 'caller',
  params: ToolPath,
  responses: { 200: { description: 'The draft, and who holds its lock', schema: DraftDto } },
  errors: ['tool_not_found'],
  async handle({ params, caller }, services) {
    const { found } = await findDraft(services, caller, params.tool_id);
    return json(200, toDto(found, services.clock.now()));
  },
});

export const saveToolDraftRoute = defineRoute({
  id: 'saveToolDraft',
  method: 'PUT',
  path: '/api/v1/editor/tools/{tool_id}/draft',
  tag: 'Editor',
  summary: 'Change the draft of a tool',
  description: 'Fields that are left out stay as they are. Only whoever holds the lock may.',
  access: 'caller',
  draftLock: true,
  params: ToolPath,
  body: Body,
  jsonBytes: EDITOR_JSON_BYTES,
  responses: { 200: { description: 'The draft as it is now', schema: DraftDto } },
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
