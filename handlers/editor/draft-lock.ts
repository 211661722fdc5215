import { z } from 'zod';
import type { DraftLock } from '#core/ports/editor.ts';
import { releaseDraftLock, renewDraftLock, takeDraftLock } from '#core/use-cases/editor/draft-lock.ts';
import { defineRoute, json } from '../route.ts';
import { lockToken, ToolPath } from './editor-path.ts';

const LockDto = z.object({ holder: z.string(), expires_at: z.iso.datetime() }).meta({ id: 'DraftLock' });

const path = '/api/v1/editor/tools/{tool_id}/draft/lock';

export const takeDraftLockRoute = defineRoute({
  id: 'takeDraftLock',
  method: 'POST',
  path,
  tag: 'Editor',
  summary: 'Take the lock of a draft',
  description:
    'Good for ten minutes; one that is over can be taken by anybody who may use the tool. `lock_token` is answered here and never again.',
  access: 'caller',
  params: ToolPath,
  body: z
    .strictObject({
      take_over: z
        .boolean()
        .default(false)
        .describe('Also an active one: your own, whose token you have lost; as an admin anybody’s'),
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
    return json(200, { lock_token: taken.token, ...toDto(taken.lock) });
  },
});

export const renewDraftLockRoute = defineRoute({
  id: 'renewDraftLock',
  method: 'PUT',
  path,
  tag: 'Editor',
  summary: 'Keep the lock of a draft for another ten minutes',
  access: 'caller',
  draftLock: true,
  params: ToolPath,
  responses: { 200: { description: 'Renewed', schema: LockDto } },
  errors: ['tool_not_found', 'draft_locked'],
  async handle({ params, caller, headers }, services) {
    return json(200, toDto(await renewDraftLock(services, caller, params.tool_id, lockToken(headers))));
  },
});

export const releaseDraftLockRoute = defineRoute({
  id: 'releaseDraftLock',
  method: 'DELETE',
  path,
  tag: 'Editor',
  summary: 'Give the lock of a draft back',
  access: 'caller',
  draftLock: true,
  params: ToolPath,
  responses: { 204: { description: 'It is nobody’s now' } },
  errors: ['tool_not_found', 'draft_locked'],
  async handle({ params, caller, headers }, services) {
    await releaseDraftLock(services, caller, params.tool_id, lockToken(headers));
    return { statusCode: 204, headers: {} };
  },
});

function toDto({ holder, expiresAt }: DraftLock): z.infer<typeof LockDto> {
  return { holder: holder.user, expires_at: expiresAt.toISOString() };
}
