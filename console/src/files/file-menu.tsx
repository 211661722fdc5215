import type { RefObject } from 'react';
import { Menu, MenuItem, Popover } from 'react-aria-components';
import { addressOf } from '../api/client.ts';
import { usePageRights } from '../live/page-rights.ts';
import { addressOfFile, type Entry, shownName } from './file-names.ts';
import type { Asked } from './folder-dialog.tsx';

interface FileMenuProps {
  readonly sandboxId: string;
  /** What it is about; undefined: closed. */
  readonly entry: Entry | undefined;
  /** The button that opened it. */
  readonly anchor: RefObject<HTMLElement | null>;
  readonly onAsk: (asked: Asked) => void;
  /** Uploads into a folder; absent: the menu does not offer it. */
  readonly onUpload?: (folder: string) => void;
  readonly onClose: () => void;
}

/** What can be done with a file or a folder of a list. */
export function FileMenu({ sandboxId, entry, anchor, onAsk, onUpload, onClose }: FileMenuProps) {
  const { canWork } = usePageRights();
  return (
    <Popover
      className="popover"
      aria-label="Actions"
      triggerRef={anchor}
      isOpen={entry !== undefined}
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose();
      }}
    >
      {entry === undefined ? null : (
        <Menu
          className="options"
          aria-label={`Actions for ${shownName(entry.name)}`}
          autoFocus="first"
          onClose={onClose}
        >
          {entry.type === 'directory' ? (
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
              <MenuItem onAction={() => onAsk({ what: 'rename', entry })}>Rename…</MenuItem>
              <MenuItem onAction={() => onAsk({ what: 'move', entry })}>Move…</MenuItem>
              <MenuItem onAction={() => onAsk({ what: 'delete', entry })}>Delete…</MenuItem>
            </>
          ) : null}
        </Menu>
      )}
    </Popover>
  );
}

export function archiveOf(id: string, path: string, format: 'tar' | 'zip'): string {
  return addressOf('GET /v1/sandbox/{id}/archive', { id }, { path, format });
}
