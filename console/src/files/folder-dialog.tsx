import { request } from '../api/client.ts';
import { addressOfFile } from './address-of-file.ts';
import { changeFolder } from './folder-commands.ts';
import type { Entry } from './folder-entries.ts';
import { NameDialog } from './name-dialog.tsx';

/** What somebody wants to do in a folder. */
export interface Asked {
  readonly what: 'file' | 'folder' | 'rename' | 'delete';
  readonly entry?: Entry;
}

export interface FolderDialogProps {
  readonly sandboxId: string;
  readonly folder: string;
  readonly asked: Asked | undefined;
  readonly isTaken: (name: string) => boolean;
  readonly onClose: () => void;
  /** @param opened a new file, which is to be seen */
  readonly onDone: (opened?: string) => void;
}

/** What is to be known before something in a folder is made, renamed or deleted. */
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
          // Writing would replace one that is there.
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
