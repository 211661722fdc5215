/** The command of `porthole` about the run's inbox. */
import { EXIT } from './guest-calls.ts';
import { call, readAccess } from './host-calls.ts';

/** The fields of the API's `InboxMessage` that are read. */
interface Message {
  readonly message_id: string;
  readonly by: string;
  readonly reply_to: string | null;
  readonly text: string;
  readonly pin: {
    readonly port: number;
    readonly path: string;
    readonly selector: string;
    readonly component: string | null;
    readonly file: string | null;
    readonly line: number | null;
  } | null;
}

export async function printInbox(
  env: NodeJS.ProcessEnv,
  { all, asJson }: { readonly all: boolean; readonly asJson: boolean },
): Promise<number> {
  const access = readAccess(env);
  const { messages } = await call<{ messages: Message[] }>(access, 'GET', `inbox?unread=${!all}`);
  if (asJson) process.stdout.write(`${JSON.stringify(messages)}\n`);
  else process.stdout.write(messages.length === 0 ? 'Nothing new.\n' : messages.map(textOf).join('\n'));
  if (messages.length > 0) {
    const ids = messages.map(({ message_id: id }) => id);
    await call(access, 'POST', 'inbox/read', { messages: ids });
  }
  return EXIT.done;
}

export async function replyToMessage(env: NodeJS.ProcessEnv, id: string, text: string): Promise<number> {
  const path = `inbox/${encodeURIComponent(id)}/replies`;
  await call(readAccess(env), 'POST', path, { text }, [0]);
  return EXIT.done;
}

function textOf({ message_id: id, by, reply_to: root, text, pin }: Message): string {
  const lines = [`${id} from the ${by}${root === null ? '' : `, reply to ${root}`}`, text];
  if (pin !== null) {
    const { port, path, selector, component, file, line } = pin;
    const source = file === null || line === null ? file : `${file}:${line}`;
    const where = [`port ${port} ${path}`, selector, component && `<${component}>`, source];
    lines.push(`at ${where.filter(Boolean).join(', ')}`);
  }
  return `${lines.join('\n')}\n`;
}
