import { useEffect, useState } from 'react';
import { Button, Collection, Tree, TreeItem, TreeItemContent } from 'react-aria-components';
import { call } from '../api/client.ts';
import { useVisible } from '../live/use-live.ts';
import { Icon } from '../parts/controls.tsx';
import { arranged, type Entry, isReachable, shownName } from './file-names.ts';

interface FileTreeProps {
  readonly sandboxId: string;
  readonly root: string;
  /** The open file. */
  readonly open: string | null;
  /** Changes after each change in the workspace. */
  readonly seen: string;
  readonly onFile: (path: string) => void;
}

/** A folder with more is cut in the tree; the list shows all. */
const MOST = 500;

interface Node {
  readonly entry: Entry;
  readonly children: readonly Node[];
}

/** The folders and files of the workspace, which open below each other. */
export default function FileTree({ sandboxId, root, open, seen, onFile }: FileTreeProps) {
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(() => new Set(parentsOf(open, root)));
  useEffect(() => setExpanded((before) => new Set([...before, ...parentsOf(open, root)])), [open, root]);
  const listings = useListings(sandboxId, [root, ...expanded], seen);
  const below = (folder: string): readonly Node[] =>
    arranged(listings.get(folder) ?? [], { hidden: true, wanted: '', order: 'name' })
      .filter(({ type, path }) => type !== 'other' && isReachable(path))
      .slice(0, MOST)
      .map((entry) => ({ entry, children: expanded.has(entry.path) ? below(entry.path) : [] }));
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
          </span>
        )}
      </TreeItemContent>
      <Collection items={children.map((each) => ({ ...each, id: each.entry.path }))}>{row}</Collection>
    </TreeItem>
  );
  return (
    <Tree
      className="file-tree"
      aria-label="Files of the workspace"
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
  );
}

function isFolder(listings: ReadonlyMap<string, readonly Entry[]>, path: string): boolean {
  const parent = path.slice(0, path.lastIndexOf('/'));
  return listings.get(parent)?.some((each) => each.path === path && each.type === 'directory') === true;
}

/** The folders between the root and a file. */
export function parentsOf(path: string | null, root: string): readonly string[] {
  if (path === null || !path.startsWith(`${root}/`)) return [];
  const names = path.slice(root.length + 1).split('/');
  return names.slice(0, -1).map((_, at) => `${root}/${names.slice(0, at + 1).join('/')}`);
}

/** The listings of folders, read again after each change. A folder that is gone has none. */
function useListings(
  sandboxId: string,
  folders: readonly string[],
  seen: string,
): ReadonlyMap<string, readonly Entry[]> {
  const [listings, setListings] = useState<ReadonlyMap<string, readonly Entry[]>>(new Map());
  const visible = useVisible();
  const key = folders.join('\0');
  useEffect(() => {
    if (!visible) return undefined;
    const ended = new AbortController();
    const read = async (folder: string): Promise<readonly [string, readonly Entry[]]> => {
      const { entries } = await call('GET /v1/sandbox/{id}/files', {
        path: { id: sandboxId },
        query: { path: folder },
        signal: ended.signal,
      });
      return [folder, entries];
    };
    const readAll = async () => {
      const results = await Promise.allSettled(key.split('\0').map(read));
      const found = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      if (!ended.signal.aborted) setListings(new Map(found));
    };
    void readAll();
    return () => ended.abort();
  }, [sandboxId, key, seen, visible]);
  return listings;
}
