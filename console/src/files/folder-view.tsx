import { memo, useEffect, useMemo, useRef, useState } from 'react';
import { Menu, MenuItem, Popover, ToggleButton } from 'react-aria-components';
import { type Answer, addressOf, request } from '../api/client.ts';
import { sizeWords } from '../live/time-words.ts';
import { useAnswer } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Empty, Loading, Problem } from '../parts/feedback.tsx';
import { Icon } from '../parts/icon.tsx';
import { TextInput } from '../parts/text-input.tsx';
import { Ago } from '../sandboxes/ago.tsx';
import { placeAfter } from '../sandboxes/use-place.ts';
import { addressOfFile } from './address-of-file.ts';
import { changeFolder } from './folder-commands.ts';
import { NameDialog } from './name-dialog.tsx';
import { isReachable, shownName } from './shown-name.ts';

export type Entry = Answer<'GET /v1/sandbox/{id}/files'>['entries'][number];

/** As many rows as a page shows without being felt. */
const STEP = 300;
/** From so many names on a listing is large: it is asked for less often, and can be searched. */
const LARGE = 50;
const SLOW_MS = 30_000;
const QUICK_MS = 5_000;

type Order = 'name' | 'size' | 'mtime';

interface Asked {
  readonly what: 'file' | 'folder' | 'rename' | 'delete';
  readonly entry?: Entry;
}

export interface FolderViewProps {
  readonly sandboxId: string;
  readonly folder: string;
  readonly seen: string;
  /** Told what is there. */
  readonly onNames: (names: ReadonlySet<string>) => void;
  readonly onFolder: (path: string) => void;
  readonly onFile: (path: string) => void;
}

/** What is in one folder. */
export function FolderView({ sandboxId, folder, seen, onNames, onFolder, onFile }: FolderViewProps) {
  const [isLarge, setIsLarge] = useState(false);
  const { value, problem, reload } = useAnswer(
    'GET /v1/sandbox/{id}/files',
    { path: { id: sandboxId }, query: { path: folder } },
    isLarge ? SLOW_MS : QUICK_MS,
    seen,
  );
  const [hidden, setHidden] = useState(true);
  const [wanted, setWanted] = useState('');
  const [order, setOrder] = useState<Order>('name');
  const [most, setMost] = useState(STEP);
  const [asked, setAsked] = useState<Asked>();
  const [menu, setMenu] = useState<Entry>();
  const anchor = useRef<HTMLButtonElement>(null);
  const entries = value?.entries;
  useEffect(() => {
    if (entries === undefined) return;
    setIsLarge(entries.length > 1_000);
    onNames(new Set(entries.map(({ name }) => name)));
    // It is the same function in all but its identity.
  }, [entries]);
  const found = useMemo(
    () => arranged(entries ?? [], { hidden, wanted, order }),
    [entries, hidden, wanted, order],
  );
  const ways = useRef({ onFolder, onFile });
  ways.current = { onFolder, onFile };
  const open = useMemo(
    () => (entry: Entry) =>
      entry.type === 'directory' ? ways.current.onFolder(entry.path) : ways.current.onFile(entry.path),
    [],
  );
  const ask = useMemo(
    () => (entry: Entry, button: HTMLButtonElement) => {
      anchor.current = button;
      setMenu(entry);
    },
    [],
  );
  const hiddenCount = entries?.filter(({ name }) => name.startsWith('.')).length ?? 0;
  const total = entries?.length ?? 0;
  return (
    <>
      <div className="section-head folder-tools">
        <div className="tools">
          <Button onPress={() => setAsked({ what: 'file' })}>New file</Button>
          <Button onPress={() => setAsked({ what: 'folder' })}>New folder</Button>
          <a className="button" download href={archiveOf(sandboxId, folder, 'zip')}>
            Download as zip
          </a>
          <a className="button" download href={archiveOf(sandboxId, folder, 'tar')}>
            as tar
          </a>
        </div>
        <div className="tools">
          {hiddenCount === 0 ? null : (
            <ToggleButton className="button" isSelected={hidden} onChange={setHidden}>
              Hidden files
            </ToggleButton>
          )}
          {total <= LARGE ? null : (
            <TextInput
              label="Find in this folder"
              placeholder="Find in this folder"
              value={wanted}
              onChange={(text) => {
                setWanted(text);
                setMost(STEP);
              }}
            />
          )}
        </div>
      </div>
      {problem === undefined ? null : <Problem words={problem} onRetry={reload} />}
      {entries === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : null
      ) : found.length === 0 ? (
        <Empty title={total === 0 ? 'This folder is empty' : 'Nothing of that name is shown'} />
      ) : (
        <>
          <table className="list files-list">
            <thead>
              <tr>
                <Column name="name" order={order} onOrder={setOrder}>
                  Name
                </Column>
                <Column name="size" order={order} onOrder={setOrder}>
                  Size
                </Column>
                <Column name="mtime" order={order} onOrder={setOrder} wide>
                  Changed
                </Column>
                <th scope="col">
                  <span className="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {found.slice(0, most).map((entry) => (
                <Row key={entry.path} entry={entry} sandboxId={sandboxId} onOpen={open} onMenu={ask} />
              ))}
            </tbody>
          </table>
          <p className="quiet" role="status">
            {found.length > most
              ? `${most.toLocaleString()} of ${found.length.toLocaleString()} are shown.`
              : `${found.length.toLocaleString()} ${found.length === 1 ? 'entry' : 'entries'}.`}
            {value?.truncated === true ? ' There are more than can be listed here.' : ''}
          </p>
          {found.length > most ? (
            <Button onPress={() => setMost((before) => before + STEP)}>Show more</Button>
          ) : null}
        </>
      )}
      <Popover
        className="popover"
        aria-label="Actions"
        triggerRef={anchor}
        isOpen={menu !== undefined}
        onOpenChange={(isOpen) => {
          if (!isOpen) setMenu(undefined);
        }}
      >
        {menu === undefined ? null : (
          <Menu
            className="options"
            aria-label={`Actions for ${shownName(menu.name)}`}
            autoFocus="first"
            onClose={() => setMenu(undefined)}
          >
            {menu.type === 'directory' ? (
              <>
                <MenuItem href={archiveOf(sandboxId, menu.path, 'zip')} download>
                  Download as zip
                </MenuItem>
                <MenuItem href={archiveOf(sandboxId, menu.path, 'tar')} download>
                  Download as tar
                </MenuItem>
              </>
            ) : (
              <MenuItem
                href={addressOfFile(sandboxId, menu.path)}
                download={menu.name}
                isDisabled={menu.type === 'other'}
              >
                Download
              </MenuItem>
            )}
            <MenuItem onAction={() => setAsked({ what: 'rename', entry: menu })}>Rename…</MenuItem>
            <MenuItem onAction={() => setAsked({ what: 'delete', entry: menu })}>Delete…</MenuItem>
          </Menu>
        )}
      </Popover>
      <FolderDialog
        sandboxId={sandboxId}
        folder={folder}
        asked={asked}
        isTaken={(name) => entries?.some((each) => each.name === name) === true}
        onClose={() => {
          setAsked(undefined);
          // The menu that asked is no more.
          if (asked?.entry !== undefined) requestAnimationFrame(() => anchor.current?.focus());
        }}
        onDone={(opened) => {
          if (opened === undefined) reload();
          else onFile(opened);
        }}
      />
    </>
  );
}

interface ColumnProps {
  readonly name: Order;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
  readonly wide?: boolean;
  readonly children: string;
}

function Column({ name, order, onOrder, wide = false, children }: ColumnProps) {
  return (
    <th
      scope="col"
      className={wide ? 'wide' : ''}
      aria-sort={order !== name ? 'none' : name === 'name' ? 'ascending' : 'descending'}
    >
      <button type="button" className="button plain" onClick={() => onOrder(name)}>
        {children}
        <span aria-hidden="true">{order !== name ? '' : name === 'name' ? ' ↑' : ' ↓'}</span>
      </button>
    </th>
  );
}

interface RowProps {
  readonly entry: Entry;
  readonly sandboxId: string;
  readonly onOpen: (entry: Entry) => void;
  readonly onMenu: (entry: Entry, button: HTMLButtonElement) => void;
}

/** Drawn again only when its file is another: there may be thousands. */
const Row = memo(
  ({ entry, sandboxId, onOpen, onMenu }: RowProps) => {
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
        <td>{size === null ? '' : sizeWords(size)}</td>
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
              <button
                type="button"
                className="button more"
                aria-haspopup="menu"
                aria-label={`Actions for ${words}`}
                onClick={(event) => onMenu(entry, event.currentTarget)}
              >
                ⋯
              </button>
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
Row.displayName = 'Row';

interface FolderDialogProps {
  readonly sandboxId: string;
  readonly folder: string;
  readonly asked: Asked | undefined;
  readonly isTaken: (name: string) => boolean;
  readonly onClose: () => void;
  /** @param opened a new file, which is to be seen */
  readonly onDone: (opened?: string) => void;
}

function FolderDialog({ sandboxId, folder, asked, isTaken, onClose, onDone }: FolderDialogProps) {
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

function archiveOf(id: string, path: string, format: 'tar' | 'zip'): string {
  return addressOf('GET /v1/sandbox/{id}/archive', { id }, { path, format });
}

const BY_NAME = new Intl.Collator(undefined, { numeric: true });

/** Folders first, then as asked for. */
function arranged(
  entries: readonly Entry[],
  { hidden, wanted, order }: { readonly hidden: boolean; readonly wanted: string; readonly order: Order },
): readonly Entry[] {
  const sought = wanted.toLowerCase();
  return entries
    .filter(({ name }) => (hidden || !name.startsWith('.')) && name.toLowerCase().includes(sought))
    .sort(
      (a, b) =>
        Number(b.type === 'directory') - Number(a.type === 'directory') ||
        (order === 'size' ? (b.size ?? 0) - (a.size ?? 0) : 0) ||
        (order === 'mtime' ? (b.mtime ?? '').localeCompare(a.mtime ?? '') : 0) ||
        BY_NAME.compare(a.name, b.name),
    );
}
