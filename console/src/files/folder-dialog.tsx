import { ApiError, call, request } from '../api/client.ts';
import { addressOfFile, type Entry } from './file-names.ts';
import { NameDialog } from './name-dialog.tsx';

const ROOT = '/workspace';
const TAKEN = 17;

/**
 * Operations that the file routes lack are commands in the sandbox, with its own permissions. Paths
 * are arguments, never part of a script: no shell injection.
 */
const SCRIPTS = {
  makeFolder: `[ ! -e "$1" ] && [ ! -L "$1" ] || exit ${TAKEN}; exec mkdir -- "$1"`,
  rename: `[ ! -e "$2" ] && [ ! -L "$2" ] || exit ${TAKEN}; exec mv -- "$1" "$2"`,
  remove: 'exec rm -rf -- "$1"',
} as const;

/**
 * @param paths absolute, below the workspace
 * @throws ApiError, with the command's output if it failed
 */
async function changeFolder(
  sandboxId: string,
  what: keyof typeof SCRIPTS,
  ...paths: readonly string[]
): Promise<void> {
  const { exit_code: code, stderr } = await call('POST /v1/sandbox/{id}/exec', {
    path: { id: sandboxId },
    headers: { accept: 'application/json' },
    body: {
      argv: ['sh', '-c', SCRIPTS[what], 'sh', ...paths.map((path) => `.${path.slice(ROOT.length)}`)],
      cwd: ROOT,
      timeout_ms: 120_000,
    },
  });
  if (code === 0) return;
  const words = code === TAKEN ? 'Something of that name is there already.' : stderr.trim().slice(0, 500);
  throw new ApiError(409, 'exec_error', words === '' ? `The command ended with ${code}.` : words);
}

/** An action in a folder. */
export interface Asked {
  readonly what: 'file' | 'folder' | 'rename' | 'delete';
  readonly entry?: Entry;
}

interface FolderDialogProps {
  readonly sandboxId: string;
  readonly folder: string;
  readonly asked: Asked | undefined;
  readonly isTaken: (name: string) => boolean;
  readonly onClose: () => void;
  /** @param opened a new file to open */
  readonly onDone: (opened?: string) => void;
}

/** The dialog for creating, renaming or deleting in a folder. */
export function FolderDialog({ sandboxId, folder, asked, isTaken, onClose, onDone }: FolderDialogProps) {
  const entry = asked?.entry;
  const name = entry?.name ?? '';
  const isFolder = entry?.type === 'directory';
  const common = { isOpen: true, onClose };
  if (asked === undefined) return null;
  if (asked.what === 'file') {
    return (
      <NameDialog
        {...common}
        title="New file"
        action="Create it"
        initial=""
        onSubmit={async (typed) => {
          const path = `${folder}/${typed}`;
          // Writing would replace an existing file.
          if (!isTaken(typed)) await request(addressOfFile(sandboxId, path), { method: 'PUT', body: '' });
          onDone(path);
        }}
      />
    );
  }
  if (asked.what === 'folder') {
    return (
      <NameDialog
        {...common}
        title="New folder"
        action="Create it"
        initial=""
        onSubmit={async (typed) => {
          await changeFolder(sandboxId, 'makeFolder', `${folder}/${typed}`);
          onDone();
        }}
      />
    );
  }
  if (asked.what === 'rename') {
    return (
      <NameDialog
        {...common}
        title={`Rename ${name}`}
        action="Rename it"
        initial={name}
        onSubmit={async (typed) => {
          if (typed !== name)
            await changeFolder(sandboxId, 'rename', `${folder}/${name}`, `${folder}/${typed}`);
          onDone();
        }}
      />
    );
  }
  return (
    <NameDialog
      {...common}
      title={`Delete ${name}?`}
      action="Delete it"
      danger
      onSubmit={async () => {
        await changeFolder(sandboxId, 'remove', `${folder}/${name}`);
        onDone();
      }}
    >
      <p>{isFolder ? 'It goes with all that is in it.' : 'It is gone then.'} This cannot be undone.</p>
    </NameDialog>
  );
}
