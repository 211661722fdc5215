import { useEffect, useRef, useState } from 'react';
import {
  Button,
  Collection,
  type DropItem,
  FileTrigger,
  Tree,
  TreeItem,
  TreeItemContent,
  useDragAndDrop,
} from 'react-aria-components';
import { call } from '../api/client.ts';
import { usePageRights } from '../live/page-rights.ts';
import { useAttempt, usePolled } from '../live/use-live.ts';
import { Icon, Problem } from '../parts/elements.tsx';
import { moveInto } from './change-folder.ts';
import { chosenFiles } from './dropped-files.ts';
import { useFileMenu } from './file-menu.tsx';
import { arranged, type Entry, type Incoming, isReachable, movedPath, shownName } from './file-names.ts';

interface FileTreeProps {
  readonly sandboxId: string;
  readonly root: string;
  /** The open file. */
  readonly open: string | null;
  /** Changes after each change in the workspace. */
  readonly seen: string;
  readonly onFile: (path: string) => void;
  readonly onMoved: (from: string, to: string) => void;
  readonly onDeleted: (path: string) => void;
  readonly onUpload: (folder: string, files: readonly Incoming[]) => void;
}

/** Marks what is dragged within this tree: a page of another origin cannot name a path to move. */
const DRAGGED = 'application/x-porthole-path';
/** A folder dropped from the machine with more is cut here; the API refuses it as well. */
const MAX_DROPPED = 10_000;

/** A folder with more is cut in the tree; the list shows all. */
const MAX_ROWS = 500;

interface Node {
  readonly entry: Entry;
  readonly children: readonly Node[];
}

/**
 * The folders and files of the workspace, which open below each other. An entry that is dragged to
 * a folder moves there; files of the machine are uploaded. A row's menu opens by its button, by a
 * right click, and by the menu key.
 */
export default function FileTree({
  sandboxId,
  root,
  open,
  seen,
  onFile,
  onMoved,
  onDeleted,
  onUpload,
}: FileTreeProps) {
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(() => new Set(parentsOf(open, root)));
  useEffect(() => setExpanded((before) => new Set([...before, ...parentsOf(open, root)])), [open, root]);
  const listings = useListings(sandboxId, [root, ...expanded], seen);
  const below = (folder: string): readonly Node[] =>
    arranged(listings.get(folder) ?? [], { hidden: true, wanted: '', order: 'name' })
      .filter(({ type, path }) => type !== 'other' && isReachable(path))
      .slice(0, MAX_ROWS)
      .map((entry) => ({ entry, children: expanded.has(entry.path) ? below(entry.path) : [] }));
  const { busy, problem, attempt, retry } = useAttempt();
  const { canWork } = usePageRights();
  const chooser = useRef<HTMLInputElement>(null);
  /** The folder that chosen files are for. */
  const chosenFor = useRef(root);
  const { openMenu, menus } = useFileMenu({
    sandboxId,
    onUpload: (folder) => {
      chosenFor.current = folder;
      chooser.current?.click();
    },
    onDeleted: (path) => {
      // A folder that is gone is not listed again.
      setExpanded((before) => new Set([...before].filter((each) => !`${each}/`.startsWith(`${path}/`))));
      onDeleted(path);
    },
    onMoved: (from, to) => {
      setExpanded((before) => new Set([...before].map((each) => movedPath(each, from, to) ?? each)));
      onMoved(from, to);
    },
  });
  const openRowMenu = (row: Element | null, path: string | null) => {
    const entry = path === null ? undefined : entryAt(listings, path);
    if (entry === undefined) return false;
    openMenu(entry, row?.querySelector<HTMLElement>('.row-menu') ?? null);
    return true;
  };
  /** Paths of this tree that are being dragged. */
  const dragged = useRef<ReadonlySet<string>>(new Set());
  const folderOf = (target: { readonly type: string; readonly key?: unknown }) => {
    if (target.type === 'root') return root;
    const path = String(target.key);
    return isFolder(listings, path) ? path : undefined;
  };
  const { dragAndDropHooks } = useDragAndDrop({
    isDisabled: busy || !canWork,
    getItems: (keys) => [...keys].map((key) => ({ [DRAGGED]: String(key), 'text/plain': String(key) })),
    getAllowedDropOperations: () => ['move'],
    onDragStart: ({ keys }) => {
      dragged.current = new Set([...keys].map(String));
    },
    onDragEnd: () => {
      dragged.current = new Set();
    },
    getDropOperation: (target, types, allowed) => {
      if (target.type === 'item' && target.dropPosition !== 'on') return 'cancel';
      const folder = folderOf(target);
      if (folder === undefined) return 'cancel';
      if (!types.has(DRAGGED)) return allowed[0] ?? 'cancel';
      const canMove = [...dragged.current].every((path) => parentOf(path) !== folder && path !== folder);
      return canMove ? 'move' : 'cancel';
    },
    onDrop: ({ items, target }) => {
      const folder = folderOf(target);
      if (folder === undefined) return;
      const moved = [...dragged.current];
      if (moved.length > 0) {
        void attempt(async () => {
          for (const path of moved) onMoved(path, await moveInto(sandboxId, path, folder));
        });
      } else {
        void attempt(async () => onUpload(folder, await incomingOf(items)));
      }
    },
  });
  const row = ({ entry: { path, name, type }, children }: Node) => (
    <TreeItem
      id={path}
      key={path}
      className={path === open ? 'open' : ''}
      textValue={shownName(name)}
      hasChildItems={type === 'directory'}
    >
      <TreeItemContent>
        {({ level }) => (
          <span className="tree-row" style={{ paddingInlineStart: `${(level - 1) * 14}px` }}>
            {type === 'directory' ? (
              <Button slot="chevron" className="chevron">
                <Icon name="forward" />
              </Button>
            ) : (
              <span className="chevron" />
            )}
            <Icon name={type === 'directory' ? 'folder' : type === 'symlink' ? 'link' : 'file'} />
            <bdi>{shownName(name)}</bdi>
            {path === open ? <span className="hidden">, open</span> : null}
            {/* The way of the keyboard and of screen readers: Enter, then Tab to a folder. */}
            {canWork ? (
              <Button slot="drag" className="grip">
                <Icon name="move" />
              </Button>
            ) : null}
            <Button
              className="grip row-menu"
              aria-label={`Menu of ${shownName(name)}`}
              aria-haspopup="menu"
              onPress={({ target }) => openRowMenu(target.closest('[role="row"]'), path)}
            >
              ⋯
            </Button>
          </span>
        )}
      </TreeItemContent>
      <Collection items={children.map((each) => ({ ...each, id: each.entry.path }))}>{row}</Collection>
    </TreeItem>
  );
  return (
    <div
      onContextMenu={(event) => {
        const row = event.target instanceof Element ? event.target.closest('[role="row"]') : null;
        if (openRowMenu(row, row?.getAttribute('data-key') ?? null)) event.preventDefault();
      }}
    >
      <Problem words={problem} onRetry={retry} />
      <Tree
        className="file-tree"
        aria-label="Files of the workspace"
        dragAndDropHooks={dragAndDropHooks}
        items={below(root).map((each) => ({ ...each, id: each.entry.path }))}
        dependencies={[listings, expanded, open]}
        expandedKeys={expanded}
        onExpandedChange={(keys) => setExpanded(new Set([...keys].map(String)))}
        onAction={(key) => {
          const path = String(key);
          if (!isFolder(listings, path)) onFile(path);
          else {
            setExpanded((before) => {
              const next = new Set(before);
              if (!next.delete(path)) next.add(path);
              return next;
            });
          }
        }}
      >
        {row}
      </Tree>
      <FileTrigger
        ref={chooser}
        allowsMultiple
        onSelect={(files) => onUpload(chosenFor.current, chosenFiles(files ?? []))}
      />
      {menus}
    </div>
  );
}

/** The dropped files of the machine, with the contents of folders. */
async function incomingOf(items: readonly DropItem[], before = ''): Promise<Incoming[]> {
  const found: Incoming[] = [];
  for (const item of items) {
    if (found.length > MAX_DROPPED) break;
    if (item.kind === 'file') found.push({ path: `${before}${item.name}`, file: await item.getFile() });
    if (item.kind !== 'directory') continue;
    const below: DropItem[] = [];
    for await (const entry of item.getEntries()) below.push(entry);
    found.push(...(await incomingOf(below, `${before}${item.name}/`)));
  }
  return found;
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function entryAt(listings: Listings, path: string): Entry | undefined {
  return listings.get(parentOf(path))?.find((each) => each.path === path);
}

function isFolder(listings: Listings, path: string): boolean {
  return entryAt(listings, path)?.type === 'directory';
}

/** The folders between the root and a file. */
function parentsOf(path: string | null, root: string): readonly string[] {
  if (path === null || !path.startsWith(`${root}/`)) return [];
  const names = path.slice(root.length + 1).split('/');
  return names.slice(0, -1).map((_, at) => `${root}/${names.slice(0, at + 1).join('/')}`);
}

type Listings = ReadonlyMap<string, readonly Entry[]>;
const NO_LISTINGS: Listings = new Map();

/** The listings of folders, read again after each change. A folder that is gone has none. */
function useListings(sandboxId: string, folders: readonly string[], seen: string): Listings {
  const read = async (folder: string, signal: AbortSignal) => {
    const { entries } = await call('GET /v1/sandbox/{id}/files', {
      path: { id: sandboxId },
      query: { path: folder },
      signal,
    });
    return [folder, entries] as const;
  };
  const { value = NO_LISTINGS } = usePolled(
    async (signal) => {
      const results = await Promise.allSettled(folders.map((folder) => read(folder, signal)));
      return new Map(results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])));
    },
    [sandboxId, seen, ...folders].join('\0'),
  );
  return value;
}
