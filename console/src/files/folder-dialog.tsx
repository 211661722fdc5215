import { lazy, Suspense } from 'react';
import { request } from '../api/client.ts';
import { loadPart } from '../live/new-build.ts';
import { deletePath, makeFolder, movePath } from './change-folder.ts';
import { addressOfFile, type Entry } from './file-names.ts';
import { NameDialog } from './name-dialog.tsx';

// Loaded with its first use.
const MoveDialog = lazy(() => loadPart(() => import('./move-dialog.tsx')));

/** An action in a folder. */
export interface Asked {
  readonly what: 'file' | 'folder' | 'rename' | 'move' | 'delete';
  readonly entry?: Pick<Entry, 'name' | 'path' | 'type'>;
}

interface FolderDialogProps {
  readonly sandboxId: string;
  readonly folder: string;
  readonly asked: Asked | undefined;
  readonly isTaken: (name: string) => boolean;
  readonly onClose: () => void;
  /** @param opened a new file to open */
  readonly onDone: (opened?: string) => void;
  readonly onMoved: (from: string, to: string) => void;
}

/** The dialog for creating, renaming, moving or deleting in a folder. */
export function FolderDialog({
  sandboxId,
  folder,
  asked,
  isTaken,
  onClose,
  onDone,
  onMoved,
}: FolderDialogProps) {
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
          await makeFolder(sandboxId, `${folder}/${typed}`, isTaken(typed));
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
          if (typed === name) return;
          await movePath(sandboxId, `${folder}/${name}`, `${folder}/${typed}`);
          onMoved(`${folder}/${name}`, `${folder}/${typed}`);
        }}
      />
    );
  }
  if (asked.what === 'move') {
    return (
      <Suspense>
        <MoveDialog
          sandboxId={sandboxId}
          path={`${folder}/${name}`}
          isFolder={isFolder}
          onClose={onClose}
          onMoved={onMoved}
        />
      </Suspense>
    );
  }
  return (
    <NameDialog
      {...common}
      title={`Delete ${name}?`}
      action="Delete it"
      danger
      onSubmit={async () => {
        await deletePath(sandboxId, `${folder}/${name}`);
        onDone();
      }}
    >
      <p>{isFolder ? 'It goes with all that is in it.' : 'It is gone then.'} This cannot be undone.</p>
    </NameDialog>
  );
}
