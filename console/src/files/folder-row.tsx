import { memo } from 'react';
import { formatSize } from '../live/clock.ts';
import { Ago, Icon } from '../parts/elements.tsx';
import { placeAfter } from '../sandboxes/use-place.ts';
import { MoreButton } from './file-menu.tsx';
import { addressOfFile, type Entry, isReachable, shownName } from './file-names.ts';

interface FolderRowProps {
  readonly entry: Entry;
  readonly sandboxId: string;
  readonly onOpen: (entry: Entry) => void;
  readonly onMenu: (entry: Entry, button: HTMLButtonElement) => void;
}

/** Re-rendered only when its file changes: there may be thousands. */
export const FolderRow = memo(
  ({ entry, sandboxId, onOpen, onMenu }: FolderRowProps) => {
    const { path, name, type, size, mtime } = entry;
    const words = shownName(name);
    const canBeOpened = type !== 'other' && isReachable(path);
    const query = type === 'directory' ? { path, file: undefined } : { file: path };
    return (
      <tr>
        <td>
          <span className="file-name">
            <Icon name={type === 'directory' ? 'folder' : type === 'symlink' ? 'link' : 'file'} />
            {canBeOpened ? (
              <a
                href={`${location.pathname}${placeAfter(location.search, query)}`}
                onClick={(event) => {
                  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
                  event.preventDefault();
                  onOpen(entry);
                }}
              >
                <bdi>{words}</bdi>
                {type === 'directory' ? <span className="hidden">, folder</span> : null}
              </a>
            ) : (
              <bdi className="quiet">{words}</bdi>
            )}
          </span>
        </td>
        <td>{size === null ? '' : formatSize(size)}</td>
        <td className="wide">{mtime === null ? '' : <Ago at={mtime} />}</td>
        <td>
          {canBeOpened ? (
            <span className="tools">
              {type === 'file' ? (
                <a
                  className="wide"
                  href={addressOfFile(sandboxId, path)}
                  download={name}
                  aria-label={`Download ${words}`}
                >
                  Download
                </a>
              ) : null}
              <MoreButton name={name} onPress={(button) => onMenu(entry, button)} />
            </span>
          ) : null}
        </td>
      </tr>
    );
  },
  (before, after) =>
    before.entry.path === after.entry.path &&
    before.entry.type === after.entry.type &&
    before.entry.size === after.entry.size &&
    before.entry.mtime === after.entry.mtime,
);
FolderRow.displayName = 'FolderRow';
