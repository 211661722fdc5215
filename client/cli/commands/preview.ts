import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type CommandSpec } from '../command.ts';
import { plain } from '../print.ts';
import { runAndPort } from '../run-of.ts';

export const previewCommand: CommandSpec = {
  name: 'preview',
  usage: '<sandbox|run> <port>',
  summary: 'open a live preview of a port, print its URL, and keep it alive',
  details: 'Stays alive until Ctrl-C and ends some time after. Anyone with the link can see the app.',
  options: {
    once: { type: 'boolean', help: 'print the URL, and exit' },
    rotate: { type: 'boolean', help: 'revoke the current URL, and open a new one' },
    stop: { type: 'boolean', help: 'stop the preview at Ctrl-C' },
  },
  examples: [
    ['porthole preview try 3000', 'what listens there on port 3000'],
    ['open "$(porthole preview try 3000 --once)"', 'in your browser'],
  ],
  async run(context) {
    const { given, signal, show, note } = context;
    const { run, port } = await runAndPort(context);
    const preview = await run.preview(port, {
      rotate: given.is('rotate') || undefined,
      keepAliveMs: given.is('once') ? 0 : undefined,
      signal,
    });
    await show({ run_id: run.id, ...preview.info }, preview.url);
    if (!preview.ready) {
      const advice = preview.info.problem ?? (await run.doctor(port, { signal })).advice;
      await note(plain(`porthole: the preview is live, but does not show the app yet. ${advice}`));
    }
    if (given.is('once')) return 0;
    // Heartbeats and keepalives do not keep the process alive; this timer does.
    const stay = setInterval(() => undefined, 60_000);
    try {
      const ended = await Promise.race([preview.over, once(signal, 'abort').then(() => undefined)]);
      if (ended !== undefined) throw ended;
      if (given.is('stop')) await preview.stop();
      return 0;
    } finally {
      clearInterval(stay);
      preview.letGo();
    }
  },
};

export const openCommand: CommandSpec = {
  name: 'open',
  usage: '<sandbox|run> <port>',
  summary: 'open a live preview of a port in your browser, and print its URL',
  examples: [['porthole open try 3000', 'in your browser']],
  async run(context) {
    const { signal, show, note } = context;
    const { run, port } = await runAndPort(context);
    const preview = await run.preview(port, { keepAliveMs: 0, signal });
    await show({ run_id: run.id, ...preview.info }, preview.url);
    if (!(await openInBrowser(preview.url))) await note('No browser could be opened: open the URL yourself.');
    return 0;
  },
};

const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** Opens a URL in the user's browser; resolves to whether that was possible. */
export async function openInBrowser(url: string): Promise<boolean> {
  const [program, ...words] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...words, url], { stdio: 'ignore', detached: true });
  try {
    await once(child, 'spawn');
    child.unref();
    return true;
  } catch {
    return false;
  }
}
