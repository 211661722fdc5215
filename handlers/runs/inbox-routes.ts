import { z } from 'zod';
import type { InboxMessage } from '#core/inbox/inbox-store.ts';
import {
  findMessage,
  listMessages,
  MAX_MESSAGE_CHARS,
  markRead,
  MAX_MESSAGES,
  postMessage,
} from '#core/inbox/use-inbox.ts';
import type { Picture } from '#core/pages/page-browser.ts';
import { queryFlag } from '../http/read-input.ts';
import { elementFields, pagePath, PictureDto, toPictureDto } from '../pages/page-dto.ts';
import { ID_PATTERN, json } from '../route.ts';
import { defineRunRoute, RunPath } from './run-routes.ts';

/** Characters of base64: 128 KiB of picture. */
const MAX_PICTURE_CHARS = 174_764;

const PinDto = z
  .object({ port: z.int().min(1).max(65_535), path: pagePath, ...elementFields })
  .meta({ id: 'InboxPin' });

const MessageDto = z
  .object({
    message_id: z.string().describe('`msg_` + ULID'),
    reply_to: z.string().nullable().describe('`message_id` of the comment; null for a comment'),
    by: z.enum(['owner', 'admin', 'member', 'agent']),
    at: z.iso.datetime(),
    read_at: z.iso.datetime().nullable().describe('When the recipient read it'),
    text: z.string(),
    pin: PinDto.nullable().describe('The element that the comment is about'),
    has_picture: z.boolean(),
  })
  .meta({ id: 'InboxMessage' });

export const InboxDto = z
  .object({ messages: z.array(MessageDto).describe(`The oldest first, ${MAX_MESSAGES} at most`) })
  .meta({ id: 'Inbox' });

const MessageWithPicture = MessageDto.extend({ picture: PictureDto.nullable() }).meta({
  id: 'InboxMessageWithPicture',
});

export function toMessageDto(message: InboxMessage): z.output<typeof MessageDto> {
  const { id, replyTo, by, at, readAt, text, pin, hasPicture } = message;
  return {
    message_id: id,
    reply_to: replyTo,
    by,
    at: at.toISOString(),
    read_at: readAt?.toISOString() ?? null,
    text,
    pin: pin && {
      port: pin.port,
      path: pin.path,
      selector: pin.selector,
      role: pin.role,
      name: pin.name,
      component: pin.component,
      file: pin.place?.file ?? null,
      line: pin.place?.line ?? null,
      column: pin.place?.column ?? null,
    },
    has_picture: hasPicture,
  };
}

export const messageText = z
  .string()
  .trim()
  .min(1)
  .max(MAX_MESSAGE_CHARS, `at most ${MAX_MESSAGE_CHARS} characters`);

const PictureBody = z.strictObject({
  media_type: z.enum(['image/png', 'image/jpeg']),
  width: z.int().min(1).max(10_000),
  height: z.int().min(1).max(10_000),
  data: z.base64().min(1).max(MAX_PICTURE_CHARS, 'at most 128 KiB of picture').describe('Base64'),
});

const CommentBody = z
  .strictObject({
    text: messageText,
    pin: z
      .strictObject({ port: z.int().min(1).max(65_535), path: pagePath, ...elementFields })
      .optional()
      .describe('From `POST …/previews/{port}/element`'),
    picture: PictureBody.optional(),
  })
  .meta({ id: 'InboxComment' });

const MessagePath = RunPath.extend({
  message: z.string().max(64).describe('`message_id`').meta({ pattern: ID_PATTERN }),
});

const postCommentRoute = defineRunRoute('postComment', 'POST', '/api/runs/{id}/inbox', {
  shared: { run: 'work' },
  tag: 'Inbox',
  summary: 'Send a comment to the agent of a run',
  description:
    'For people. The agent reads it with `GET …/inbox`, the MCP tool `read_inbox` or `porthole inbox`. The timeline has it as `inbox.posted`, without its text.',
  body: CommentBody,
  responses: { 201: { description: 'The comment', schema: MessageDto } },
  errors: ['run_ended', 'too_many_messages'],
  async handle({ body, caller }, run, services) {
    const { text, pin, picture } = body;
    const message = await postMessage(
      services,
      { run, caller },
      {
        text,
        pin: pin === undefined ? null : toPin(pin),
        picture: picture === undefined ? null : toPicture(picture),
      },
    );
    return json(201, toMessageDto(message));
  },
});

function toPin({ file, line, column, ...pin }: NonNullable<z.output<typeof CommentBody>['pin']>) {
  return { ...pin, place: file === null ? null : { file, line, column } };
}

function toPicture({ media_type, width, height, data }: z.output<typeof PictureBody>): Picture {
  return { mediaType: media_type, width, height, base64: data };
}

const listInboxRoute = defineRunRoute('listInbox', 'GET', '/api/runs/{id}/inbox', {
  shared: { run: 'view' },
  tag: 'Inbox',
  summary: 'List the comments and replies of a run',
  description: 'For the owner of the run and its agent. Listing marks nothing as read.',
  agents: true,
  channel: true,
  query: z.object({
    unread: queryFlag().describe('Only what the other side sent and this side has not read'),
  }),
  responses: { 200: { description: 'The messages', schema: InboxDto } },
  async handle({ query, caller }, run, services) {
    const messages = await listMessages(services, { run, caller }, query);
    return json(200, { messages: messages.map(toMessageDto) });
  },
});

const getMessageRoute = defineRunRoute('getInboxMessage', 'GET', '/api/runs/{id}/inbox/{message}', {
  shared: { run: 'view' },
  tag: 'Inbox',
  summary: 'Read one message with its picture',
  agents: true,
  channel: true,
  params: MessagePath,
  responses: { 200: { description: 'The message', schema: MessageWithPicture } },
  errors: ['message_not_found'],
  async handle({ params }, run, services) {
    const found = await findMessage(services, run, params.message);
    return json(200, { ...toMessageDto(found), picture: found.picture && toPictureDto(found.picture) });
  },
});

const replyRoute = defineRunRoute('replyToComment', 'POST', '/api/runs/{id}/inbox/{message}/replies', {
  shared: { run: 'work' },
  tag: 'Inbox',
  summary: 'Reply to a comment',
  description: 'For the agent of the run and its owner. The timeline has it as `inbox.replied`.',
  agents: true,
  channel: true,
  params: MessagePath,
  body: z.strictObject({ text: messageText }).meta({ id: 'InboxReply' }),
  responses: { 201: { description: 'The reply', schema: MessageDto } },
  errors: ['run_ended', 'message_not_found', 'too_many_messages'],
  async handle({ params, body, caller }, run, services) {
    const reply = { text: body.text, replyTo: params.message };
    return json(201, toMessageDto(await postMessage(services, { run, caller }, reply)));
  },
});

const markReadRoute = defineRunRoute('markInboxRead', 'POST', '/api/runs/{id}/inbox/read', {
  tag: 'Inbox',
  summary: 'Mark messages as read',
  description:
    'Of the other side: an agent marks what people sent, and people what the agent sent. Other ids are ignored.',
  agents: true,
  channel: true,
  body: z
    .strictObject({ messages: z.array(z.string().max(64)).min(1).max(MAX_MESSAGES) })
    .meta({ id: 'InboxRead' }),
  responses: { 204: { description: 'Marked' } },
  async handle({ body, caller }, run, services) {
    await markRead(services, { run, caller }, body.messages);
    return { statusCode: 204, headers: {} };
  },
});

export const inboxRoutes = [postCommentRoute, listInboxRoute, getMessageRoute, replyRoute, markReadRoute];
