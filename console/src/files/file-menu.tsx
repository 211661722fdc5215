import { useRef, useState } from 'react';
import { Menu, MenuItem, Popover } from 'react-aria-components';
import { addressOf, request } from '../api/client.ts';
import { usePageRights } from '../live/page-rights.ts';
import { lazyPart } from '../parts/lazy-part.tsx';
import { deletePath, makeFolder, movePath } from './change-folder.ts';
import { addressOfFile, type Entry, shownName } from './file-names.ts';
import { NameDialog } from './name-dialog.tsx';

// Loaded with its first use.
const MoveDialog = lazyPart(() => import('./move-dialog.tsx'), null);

type NamedEntry = Pick<Entry, 'name' | 'path' | 'type'>;

/** What a dialog asks about. */
type Asked =
  | { readonly what: 'file' | 'folder'; readonly folder: string }
  | { readonly what: 'rename' | 'move' | 'delete'; readonly entry: NamedEntry };

interface FolderDialogProps {
  readonly sandboxId: string;
  readonly asked: Asked;
  /** Whether the folder has something of that name. */
  readonly isTaken?: (name: string) => boolean;
  readonly onMade?: (path: string, what: 'file' | 'folder') => void;
  readonly onDeleted: (path: string) => void;
  readonly onMoved: (from: string, to: string) => void;
  readonly onClose: () => void;
}

interface FileMenuOptions extends Omit<FolderDialogProps, 'asked' | 'onClose'> {
  /** @default true */
  readonly hasDownloads?: boolean;
  /** Uploads into a folder; absent: the menu does not offer it. */
  readonly onUpload?: (folder: string) => void;
}

/** What can be done with a file or a folder, and the dialogs for it: `menus` is for the page. */
export function useFileMenu({ sandboxId, hasDownloads = true, onUpload, ...dialog }: FileMenuOptions) {
  const { canWork } = usePageRights();
  const [entry, setEntry] = useState<NamedEntry>();
  const [asked, setAsked] = useState<Asked>();
  const anchor = useRef<HTMLElement>(null);
  const closeMenu = () => setEntry(undefined);
  const menus = (
    <>
      <Popover
        className="popover"
        aria-label="Actions"
        triggerRef={anchor}
        isOpen={entry !== undefined}
        onOpenChange={(isOpen) => {
          if (!isOpen) closeMenu();
        }}
      >
        {entry === undefined ? null : (
          <Menu
            className="options"
            aria-label={`Actions for ${shownName(entry.name)}`}
            autoFocus="first"
            onClose={closeMenu}
          >
            {!hasDownloads ? null : entry.type === 'directory' ? (
              <>
                <MenuItem href={archiveOf(sandboxId, entry.path, 'zip')} download>
                  Download as zip
                </MenuItem>
                <MenuItem href={archiveOf(sandboxId, entry.path, 'tar')} download>
                  Download as tar
                </MenuItem>
              </>
            ) : (
              <MenuItem
                href={addressOfFile(sandboxId, entry.path)}
                download={entry.name}
                isDisabled={entry.type === 'other'}
              >
                Download
              </MenuItem>
            )}
            {canWork ? (
              <>
                {onUpload === undefined || entry.type !== 'directory' ? null : (
                  <MenuItem onAction={() => onUpload(entry.path)}>Upload files here…</MenuItem>
                )}
                <MenuItem onAction={() => setAsked({ what: 'rename', entry })}>Rename…</MenuItem>
                <MenuItem onAction={() => setAsked({ what: 'move', entry })}>Move…</MenuItem>
                <MenuItem onAction={() => setAsked({ what: 'delete', entry })}>Delete…</MenuItem>
              </>
            ) : null}
          </Menu>
        )}
      </Popover>
      {asked === undefined ? null : (
        <FolderDialog
          {...dialog}
          sandboxId={sandboxId}
          asked={asked}
          onClose={() => {
            setAsked(undefined);
            // The menu that opened the dialog is gone.
            if ('entry' in asked) requestAnimationFrame(() => anchor.current?.focus());
          }}
        />
      )}
    </>
  );
  /** Opens the menu of an entry at its button. */
  const openMenu = (about: NamedEntry, button: HTMLElement | null) => {
    anchor.current = button;
    setEntry(about);
  };
  return { openMenu, ask: setAsked, menus };
}

export function archiveOf(id: string, path: string, format: 'tar' | 'zip'): string {
  return addressOf('GET /v1/sandbox/{id}/archive', { id }, { path, format });
}

/** The dialog for creating, renaming, moving or deleting. */
function FolderDialog({
  sandboxId,
  asked,
  isTaken = () => false,
  onMade,
  onDeleted,
  onMoved,
  onClose,
}: FolderDialogProps) {
  if ('folder' in asked) {
    const { what, folder } = asked;
    return (
      <NameDialog
        title={`New ${what}`}
        action="Create"
        initial=""
        onClose={onClose}
        onSubmit={async (typed) => {
          const path = `${folder}/${typed}`;
          if (what === 'folder') await makeFolder(sandboxId, path, isTaken(typed));
          // Writing would replace an existing file.
          else if (!isTaken(typed)) {
            await request(addressOfFile(sandboxId, path), { method: 'PUT', body: '' });
          }
          onMade?.(path, what);
        }}
      />
    );
  }
  const { path, name, type } = asked.entry;
  const isFolder = type === 'directory';
  if (asked.what === 'rename') {
    return (
      <NameDialog
        title={`Rename ${name}`}
        action="Rename it"
        initial={name}
        onClose={onClose}
        onSubmit={async (typed) => {
          if (typed === name) return;
          const to = `${path.slice(0, -name.length)}${typed}`;
          await movePath(sandboxId, path, to);
          onMoved(path, to);
        }}
      />
    );
  }
  if (asked.what === 'move') {
    return (
      <MoveDialog sandboxId={sandboxId} path={path} isFolder={isFolder} onClose={onClose} onMoved={onMoved} />
    );
  }
  return (
    <NameDialog
      title={`Delete ${name}?`}
      action="Delete it"
      danger
      onClose={onClose}
      onSubmit={async () => {
        await deletePath(sandboxId, path);
        onDeleted(path);
      }}
    >
      <p>{isFolder ? 'It goes with all that is in it.' : 'It is gone then.'} This cannot be undone.</p>
    </NameDialog>
  );
}

interface MoreButtonProps {
  readonly name: string;
  readonly onPress: (button: HTMLButtonElement) => void;
}

/** The button of a file's menu. */
export function MoreButton({ name, onPress }: MoreButtonProps) {
  return (
    <button
      type="button"
      className="button more"
      aria-haspopup="menu"
      aria-label={`Actions for ${shownName(name)}`}
      onClick={(event) => onPress(event.currentTarget)}
    >
      ⋯
    </button>
  );
}

interface FileActionsProps extends Pick<FileMenuOptions, 'sandboxId' | 'onMoved' | 'onDeleted'> {
  readonly path: string;
}

/** The menu of an open file. */
export function FileActions({ path, ...actions }: FileActionsProps) {
  const { openMenu, menus } = useFileMenu({ ...actions, hasDownloads: false });
  const name = path.slice(path.lastIndexOf('/') + 1);
  return (
    <>
      <MoreButton name={name} onPress={(button) => openMenu({ path, name, type: 'file' }, button)} />
      {menus}
    </>
  );
}
