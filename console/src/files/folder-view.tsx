import { type ReactNode, useMemo, useRef, useState } from 'react';
import { ToggleButton } from 'react-aria-components';
import { usePageRights } from '../live/page-rights.ts';
import { useAnswer } from '../live/use-live.ts';
import { Button, Empty, Pending, Problem, TextInput } from '../parts/elements.tsx';
import { archiveOf, useFileMenu } from './file-menu.tsx';
import { arranged, type Entry, type Order } from './file-names.ts';
import { FolderRow } from './folder-row.tsx';

/** Rows rendered at a time without a noticeable delay. */
const STEP = 300;
/** A listing with more names can be searched, and one with many more is polled less often. */
const LARGE = 50;
const MANY = 1_000;
const SLOW_MS = 30_000;
const QUICK_MS = 5_000;

interface FolderViewProps {
  readonly sandboxId: string;
  readonly folder: string;
  readonly seen: string;
  readonly onFolder: (path: string) => void;
  readonly onFile: (path: string) => void;
  readonly onMoved: (from: string, to: string) => void;
  /** What can be done besides, at the start of the tools. */
  readonly children: ReactNode;
}

/** The contents of one folder. */
export function FolderView({
  sandboxId,
  folder,
  seen,
  onFolder,
  onFile,
  onMoved,
  children,
}: FolderViewProps) {
  const [pollMs, setPollMs] = useState(QUICK_MS);
  const { canWork } = usePageRights();
  const { value, problem, reload } = useAnswer(
    'GET /v1/sandbox/{id}/files',
    { path: { id: sandboxId }, query: { path: folder } },
    pollMs,
    seen,
  );
  const [hidden, setHidden] = useState(true);
  const [wanted, setWanted] = useState('');
  const [order, setOrder] = useState<Order>('name');
  const [most, setMost] = useState(STEP);
  const entries = value?.entries;
  const nextMs = (entries?.length ?? 0) > MANY ? SLOW_MS : QUICK_MS;
  if (nextMs !== pollMs) setPollMs(nextMs);
  const { openMenu, ask, menus } = useFileMenu({
    sandboxId,
    isTaken: (name) => entries?.some((each) => each.name === name) === true,
    onMade: (path, what) => {
      if (what === 'file') onFile(path);
      else reload();
    },
    onDeleted: reload,
    onMoved: (from, to) => {
      reload();
      onMoved(from, to);
    },
  });
  const found = useMemo(
    () => arranged(entries ?? [], { hidden, wanted, order }),
    [entries, hidden, wanted, order],
  );
  const ways = useRef({ onFolder, onFile });
  ways.current = { onFolder, onFile };
  const open = ({ type, path }: Entry) =>
    type === 'directory' ? ways.current.onFolder(path) : ways.current.onFile(path);
  const hiddenCount = entries?.filter(({ name }) => name.startsWith('.')).length ?? 0;
  const total = entries?.length ?? 0;
  return (
    <>
      <div className="tools folder-tools">
        {children}
        {canWork ? (
          <>
            <Button onPress={() => ask({ what: 'file', folder })}>New file</Button>
            <Button onPress={() => ask({ what: 'folder', folder })}>New folder</Button>
          </>
        ) : null}
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
      {entries === undefined ? null : <Problem words={problem} onRetry={reload} />}
      {entries === undefined ? (
        <Pending words={problem} onRetry={reload} />
      ) : found.length === 0 ? (
        total === 0 ? (
          <Empty title="This folder is empty">
            {canWork ? <Button onPress={() => ask({ what: 'file', folder })}>Create a file</Button> : null}
          </Empty>
        ) : (
          <Empty title="Nothing of that name is shown">
            <Button
              onPress={() => {
                setWanted('');
                setHidden(true);
              }}
            >
              Show all
            </Button>
          </Empty>
        )
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
                <FolderRow
                  key={entry.path}
                  entry={entry}
                  sandboxId={sandboxId}
                  onOpen={open}
                  onMenu={openMenu}
                />
              ))}
            </tbody>
          </table>
          <p className="quiet" role="status">
            {found.length > most
              ? `${most.toLocaleString()} of ${found.length.toLocaleString()} are shown.`
              : `${found.length.toLocaleString()} ${found.length === 1 ? 'entry' : 'entries'}.`}
            {value?.truncated === true ? ' There are more than can be listed here.' : ''}
            {canWork ? <span className="drop-hint"> Drop files and folders here to upload them.</span> : null}
          </p>
          {found.length > most ? (
            <Button onPress={() => setMost((before) => before + STEP)}>Show more</Button>
          ) : null}
          <p className="links">
            <a download href={archiveOf(sandboxId, folder, 'zip')}>
              Download as zip
            </a>
            <a download href={archiveOf(sandboxId, folder, 'tar')}>
              Download as tar
            </a>
          </p>
        </>
      )}
      {menus}
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
