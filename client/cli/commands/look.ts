import { writeFile } from 'node:fs/promises';
import { fromBase64 } from '../../streams/from-base64.ts';
import type { CheckOptions, PageCheck, PageLook } from '../../resources/page-check.ts';
import { type CommandSpec, type Context, readChoice } from '../command.ts';
import { readDuration } from '../read-values.ts';
import { plain } from '../print.ts';
import { runAndPort } from '../run-of.ts';

const DEVICES = ['desktop', 'tablet', 'phone'] as const;

const OPTIONS = {
  path: { type: 'string', value: 'PATH', help: 'path and query on the preview; default /' },
  device: { type: 'string', value: 'KIND', choices: DEVICES, help: DEVICES.join(', ') },
} as const;

export const checkCommand: CommandSpec = {
  name: 'check',
  usage: '<sandbox|run> <port>',
  summary: 'say whether a page of a preview works for a person, and what is broken if not',
  details: 'It opens the preview in a browser on the machine of Porthole. Exit code 0 if it works.',
  options: {
    wait: { type: 'string', value: 'TIME', help: 'first wait for a change of a file or server, at most 4m' },
    ...OPTIONS,
  },
  examples: [['porthole check try 3000 --path /login', 'works, or what is broken, with file and line']],
  async run(context) {
    const { port, run, page } = await target(context);
    const wait = context.given.text('wait');
    const seconds = wait === undefined ? undefined : readDuration('wait', wait);
    const seen = await run.check(port, { ...page, wait_for_change: seconds });
    await say(context, seen);
    return seen.result === 'works' ? 0 : 1;
  },
};

export const lookCommand: CommandSpec = {
  name: 'look',
  usage: '<sandbox|run> <port>',
  summary: 'take a picture of a page of a preview, and say whether it works',
  options: {
    out: { type: 'string', value: 'FILE', help: 'write the picture here' },
    'full-page': { type: 'boolean', help: 'all of the page, not only the first screen' },
    ...OPTIONS,
  },
  examples: [['porthole look try 3000 --path /login --out login.png', 'a picture of the login page']],
  async run(context) {
    const { given, note } = context;
    const { port, run, page } = await target(context);
    const seen = await run.look(port, { ...page, full_page: given.is('full-page') });
    const out = given.text('out');
    if (out !== undefined && seen.screenshot !== null) {
      await writeFile(out, fromBase64(seen.screenshot.data));
      await note(`porthole: ${out} is ${seen.screenshot.media_type}.`);
    } else if (out !== undefined) await note('porthole: there is no picture of this page.');
    await say(context, seen);
    if (!given.is('json')) await sayBarriers(context, seen);
    if (out === undefined && !given.is('json') && seen.outline !== null) {
      for (const line of seen.outline.split('\n')) await context.print(plain(line));
    }
    return seen.result === 'works' ? 0 : 1;
  },
};

async function sayBarriers({ print }: Context, { accessibility }: PageLook): Promise<void> {
  for (const { rule, help, count, elements } of accessibility ?? []) {
    const more = count > elements.length ? ` and ${count - elements.length} more` : '';
    await print(plain(`  accessibility: ${help} (${rule}): ${elements.join(', ')}${more}`));
  }
}

async function target(context: Context) {
  const { given, signal } = context;
  const device = readChoice(given, 'device', DEVICES);
  const page: CheckOptions = { path: given.text('path'), device, signal };
  return { ...(await runAndPort(context)), page };
}

async function say(
  { show }: Context,
  { summary, causes, ...seen }: Omit<PageCheck, 'changed'>,
): Promise<void> {
  const others = causes.slice(1).map(({ message }) => plain(`  also: ${message}`));
  await show({ summary, causes, ...seen }, plain(summary), ...others);
}
