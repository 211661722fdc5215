import { z } from 'zod';
import type { InboxMessage } from '#core/inbox/inbox-store.ts';
import { findMessage, listMessages, markRead, postMessage } from '#core/inbox/use-inbox.ts';
import { placeText } from '#core/pages/page-cause.ts';
import { InboxDto, messageText, toMessageDto } from '../../runs/inbox-routes.ts';
import { defineTool, fitting } from '../mcp-tool.ts';
import { runId, runOf } from './run-sandbox-tool.ts';

/** In characters of JSON. */
const MAX_JSON_CHARS = 24_000;

export const readInboxTool = defineTool({
  name: 'read_inbox',
  title: 'Read what people wrote to you',
  description:
    'Read the comments of people on the pages of the run, and mark them as read. One that is pinned to an element has its selector, and component and source file where known. ' +
    'With message_id one message, with a picture of its element. Call it when people may have looked at a preview; answer with reply_inbox.',
  input: z.strictObject({
    run_id: runId,
    message_id: z.string().max(64).optional().describe('Only this message, with its picture'),
    all: z.boolean().default(false).describe('Also what was read before, and replies'),
  }),
  output: InboxDto.extend({ left_out: z.number().int().describe('Messages for the next call') }),
  annotations: { readOnlyHint: false, destructiveHint: false },
  async run({ run_id, message_id: id, all }, context) {
    const { services, caller } = context;
    const run = await runOf(context, run_id);
    const one = id === undefined ? undefined : await findMessage(services, run, id);
    const found = one === undefined ? await listMessages(services, { run, caller }, { unread: !all }) : [one];
    const shown = fitting(found.map(toMessageDto), MAX_JSON_CHARS);
    const messages = found.slice(0, shown.length);
    if (messages.length > 0) {
      const ids = messages.map((each) => each.id);
      await markRead(services, { run, caller }, ids);
    }
    const picture = one?.picture;
    return {
      data: { messages: shown, left_out: found.length - shown.length },
      text: messages.length === 0 ? 'Nothing new in the inbox.' : messages.map(messageLine).join('\n\n'),
      image: picture ? { mimeType: picture.mediaType, data: picture.base64 } : undefined,
    };
  },
});

export const replyInboxTool = defineTool({
  name: 'reply_inbox',
  title: 'Reply to a comment',
  description: 'Answer a comment, e.g. after you changed what it asks for.',
  input: z.strictObject({
    run_id: runId,
    message_id: z.string().max(64).describe('From read_inbox'),
    text: messageText,
  }),
  output: z.object({ message_id: z.string() }),
  annotations: { readOnlyHint: false, destructiveHint: false },
  async run({ run_id, message_id: replyTo, text }, context) {
    const { services, caller } = context;
    const run = await runOf(context, run_id);
    const { id } = await postMessage(services, { run, caller }, { text, replyTo });
    return { data: { message_id: id }, text: `Replied to ${replyTo}.` };
  },
});

function messageLine({ id, by, replyTo, text, pin, hasPicture }: InboxMessage): string {
  const about = replyTo === null ? '' : ` in reply to ${replyTo}`;
  const head = `${id} from the ${by}${about}${hasPicture ? ' (with a picture)' : ''}:`;
  if (pin === null) return `${head}\n${text}`;
  const named = [pin.role, pin.name === null ? null : JSON.stringify(pin.name)].filter(Boolean).join(' ');
  const where = [
    `port ${pin.port} ${pin.path}`,
    named,
    pin.selector,
    pin.component === null ? '' : `<${pin.component}>`,
    pin.place === null ? '' : placeText(pin.place),
  ];
  return `${head}\n${text}\nAt: ${where.filter((part) => part !== '').join(', ')}`;
}
