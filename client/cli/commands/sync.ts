import { syncFolder } from '../../node/sync-folder.ts';
import { type CommandSpec, UsageError } from '../command.ts';
import { holdSandbox, realFolder, untilStopped } from '../hold-sandbox.ts';
import { plain } from '../print.ts';
import { bringEdits } from '../up/bring-edits.ts';
import { FolderEdits } from '../up/folder-edits.ts';

export const syncCommand: CommandSpec = {
  name: 'sync',
  usage: '<folder> <sandbox>[:path]',
  summary: 'sync a folder into a sandbox',
  details:
    'Sends everything the first time, then changes. Files you delete are deleted there, and no others. .git, and what .gitignore and .portholeignore name, is not sent.',
  options: {
    exclude: {
      type: 'string',
      multiple: true,
      value: 'PATTERN',
      help: 'leave out more, as in .gitignore',
    },
    'keep-deleted': { type: 'boolean', help: 'delete nothing there' },
    watch: { type: 'boolean', help: 'follow edits, until Ctrl-C or until the sandbox stops' },
    both: {
      type: 'boolean',
      help: 'with --watch: also sync edits there back, if unchanged here',
    },
    restart: {
      type: 'string',
      value: 'SERVER',
      help: 'with --watch: restart this server of the sandbox after each edit',
    },
    full: { type: 'boolean', help: 'send everything, even if unchanged' },
  },
  json: 'print one object per line: the sync, then a {"message"} for each edit',
  examples: [
    ['porthole sync . try', 'this folder, to /workspace'],
    ["porthole sync web try:app --exclude '*.env'", 'a folder, to /workspace/app, without some'],
  ],
  async run(context) {
    const { given, signal, print, show, note } = context;
    if (given.is('both') && !given.is('watch')) throw new UsageError('--both needs --watch: add it.');
    const restarts = given.text('restart');
    if (restarts !== undefined && !given.is('watch'))
      throw new UsageError('--restart needs --watch: add it.');
    const [path = '', target = ''] = given.positionals;
    const folder = await realFolder(path);
    const colon = target.indexOf(':');
    const sandbox = await holdSandbox(context, colon === -1 ? target : target.slice(0, colon));
    try {
      const options = {
        to: colon === -1 ? undefined : target.slice(colon + 1),
        excludes: given.texts('exclude'),
        delete: !given.is('keep-deleted'),
        signal,
      };
      const result = await syncFolder(sandbox, folder, { ...options, full: given.is('full') });
      const { sent, removed, unchanged, bytes, skipped } = result;
      const leftOut = given.is('json') ? [] : skipped;
      for (const { path, reason } of leftOut) await note(plain(`left out: ${path}, ${reason}`));
      const line = `${sent} sent, ${removed} removed, ${unchanged} unchanged`;
      await show({ sent, removed, unchanged, bytes, skipped }, line);
      if (!given.is('watch')) return 0;
      const following = {
        ...options,
        note: (message: string) => (given.is('json') ? print(JSON.stringify({ message })) : note(message)),
      };
      const edits = new FolderEdits(sandbox, folder, { ...following, restarts });
      if (given.is('both')) void bringEdits(sandbox, folder, following);
      edits.follow(result.folders);
      if (sent + removed > 0) edits.edited();
      try {
        await untilStopped(sandbox, signal);
        return 0;
      } finally {
        edits.close();
      }
    } finally {
      await sandbox.close();
    }
  },
};
