import type { InboxMessage } from '../../resources/inbox.ts';
import { type CommandSpec, UsageError } from '../command.ts';
import { plain } from '../print.ts';
import { runOf } from '../run-of.ts';
import { ago } from './list.ts';

export const inboxCommand: CommandSpec = {
  name: 'inbox',
  usage: '<sandbox|run> [text]',
  summary: "list the comments to a run's agent and its replies; with a text, send one",
  options: {
    unread: { type: 'boolean', help: 'only what is new to you' },
    reply: { type: 'string', value: 'MESSAGE', help: 'send the text as a reply to this message' },
  },
  examples: [
    ['porthole inbox try', 'comments and replies, the oldest first'],
    ["porthole inbox try 'The button is too small'", 'the agent reads it in its inbox'],
  ],
  async run(context) {
    const { given, signal, show, note } = context;
    const [word = '', text] = given.positionals;
    const run = await runOf(context, word, 'make');
    const reply = given.text('reply');
    if (text !== undefined) {
      const sent =
        reply === undefined
          ? await run.inbox.post(text, { signal })
          : await run.inbox.reply(reply, text, { signal });
      return show(sent, sent.message_id);
    }
    if (reply !== undefined)
      throw new UsageError('--reply needs a text: porthole inbox try --reply ID "Done".');
    const messages = await run.inbox.list({ unread: given.is('unread') || undefined, signal });
    await show(messages, ...messages.flatMap(linesOf));
    if (messages.length === 0) await note(given.is('unread') ? 'No new messages.' : 'No messages.');
    const theirs = messages.filter(({ by, read_at }) => by === 'agent' && read_at === null);
    const ids = theirs.map((each) => each.message_id);
    if (ids.length > 0) await run.inbox.markRead(ids, { signal });
    return 0;
  },
};

function linesOf({
  message_id: id,
  by,
  at,
  reply_to: root,
  text,
  pin,
  read_at: read,
}: InboxMessage): string[] {
  const state = by === 'agent' || read === null ? '' : ', read';
  const about = root === null ? '' : `, reply to ${root}`;
  const where = pin && [
    `port ${pin.port} ${pin.path}`,
    pin.selector,
    pin.file && `${pin.file}:${pin.line ?? ''}`,
  ];
  return [
    `${id} (${by}, ${ago(at, new Date())} ago${about}${state})`,
    ...text.split('\n').map((line) => `  ${plain(line)}`),
    ...(where ? [`  at ${plain(where.filter(Boolean).join(', '))}`] : []),
  ];
}
