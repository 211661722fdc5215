import { type Ref, useEffect, useRef, useState } from 'react';
import { addressOf } from '../api/client.ts';
import { usePageRights } from '../live/page-rights.ts';
import { useEvents, useWindowEvent } from '../live/use-live.ts';
import { Button } from '../parts/elements.tsx';
import { lazyPart } from '../parts/lazy-part.tsx';
import { usePlace } from '../sandboxes/use-place.ts';
import { droppedFiles } from './dropped-files.ts';
import { FileActions } from './file-menu.tsx';
import { movedPath, shownName } from './file-names.ts';
import './files.css';
import { FolderView } from './folder-view.tsx';
import { SearchPanel } from './search-panel.tsx';
import { moveUnsaved } from './unsaved-texts.ts';
import { UploadButtons, UploadState } from './upload-state.tsx';
import { useUpload } from './use-upload.ts';

// Loaded lazily with the code editor: most pages do not need it.
const FileView = lazyPart(() => import('./file-view.tsx'));
const FileTree = lazyPart(() => import('./file-tree.tsx'));
const QuickOpen = lazyPart(() => import('./quick-open.tsx'), null);

const ROOT = '/workspace';

export interface FilesProps {
  readonly sandboxId: string;
  /** Changes after each reported change. */
  readonly seen: string;
}

/**
 * The workspace of a sandbox: browse, open, edit, upload, download. The current folder is in the
 * address.
 */
export function Files({ sandboxId, seen }: FilesProps) {
  const [place, go] = usePlace();
  const folder = place.get('path') ?? ROOT;
  const open = place.get('file');
  const [changes, setChanges] = useState(0);
  const [over, setOver] = useState(false);
  const crumbs = useRef<HTMLElement>(null);
  const { canWork, why } = usePageRights();
  const upload = useUpload(sandboxId, () => setChanges((count) => count + 1));
  const [isSearching, setIsSearching] = useState(false);
  const [isOpening, setIsOpening] = useState(false);
  const watched = useWatched(sandboxId, open);
  useWindowEvent(['dragover', 'drop'], (event) => {
    // A file that is dropped beside the list must not replace the page.
    if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault();
  });
  useWindowEvent('keydown', (event) => {
    // A terminal takes its keys first: Ctrl-P is the line before in a shell.
    if (event.defaultPrevented || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
    if (event.key.toLowerCase() !== 'p') return;
    event.preventDefault();
    setIsOpening(true);
  });

  const toFolder = (path: string) => {
    go({ path: path === ROOT ? undefined : path, file: undefined, line: undefined }, true);
    crumbs.current?.focus();
  };
  const toFile = (path: string, line?: number) =>
    go({ file: path, line: line === undefined ? undefined : String(line) }, true);
  const onMoved = (from: string, to: string) => {
    moveUnsaved(sandboxId, from, to);
    setChanges((count) => count + 1);
    const [file, path] = [open ?? '', folder].map((each) => movedPath(each, from, to));
    if (file !== undefined || path !== undefined) {
      go({ ...(file === undefined ? {} : { file }), ...(path === undefined ? {} : { path }) });
    }
  };
  const toWhole = () => go({ file: undefined, line: undefined }, true);
  const finder = (
    <>
      <Button onPress={() => setIsOpening(true)} aria-keyshortcuts="Control+P">
        Go to file
      </Button>
      <Button onPress={() => setIsSearching(true)}>Search</Button>
    </>
  );
  const quickOpen = isOpening ? (
    <QuickOpen sandboxId={sandboxId} onFile={toFile} onClose={() => setIsOpening(false)} />
  ) : null;
  if (open !== null || isSearching) {
    return (
      <section className="files" aria-label="Files">
        <div className="files-grid">
          <div className="files-side">
            <div className="tools">{finder}</div>
            <FileTree
              sandboxId={sandboxId}
              root={ROOT}
              open={open}
              seen={`${seen} ${changes} ${watched.count}`}
              onFile={toFile}
              onMoved={onMoved}
              onDeleted={(path) => {
                setChanges((count) => count + 1);
                if (open !== null && `${open}/`.startsWith(`${path}/`)) toWhole();
              }}
              onUpload={upload.offer}
            />
          </div>
          <div className="files-main">
            <UploadState upload={upload} />
            {isSearching ? (
              <SearchPanel sandboxId={sandboxId} onMatch={toFile} onClose={() => setIsSearching(false)} />
            ) : null}
            {open === null ? null : (
              <FileView
                key={open}
                sandboxId={sandboxId}
                path={open}
                line={Number(place.get('line') ?? 0)}
                changes={watched.ofOpen}
                onClose={toWhole}
                onFolder={() => toFolder(open)}
              >
                {canWork ? (
                  <FileActions
                    sandboxId={sandboxId}
                    path={open}
                    onMoved={onMoved}
                    onDeleted={() => {
                      setChanges((count) => count + 1);
                      toWhole();
                    }}
                  />
                ) : null}
              </FileView>
            )}
          </div>
        </div>
        {quickOpen}
      </section>
    );
  }
  return (
    <section
      className={`files ${over ? 'over' : ''}`}
      aria-label="Files"
      onDragOver={(event) => {
        if (!canWork || !event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        const to = event.relatedTarget;
        if (!(to instanceof Node && event.currentTarget.contains(to))) setOver(false);
      }}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (!canWork) return;
        void droppedFiles(event.dataTransfer).then((files) => upload.offer(folder, files));
      }}
    >
      <Crumbs ref={crumbs} folder={folder} onFolder={toFolder} />
      {canWork ? <UploadState upload={upload} /> : <p className="quiet">{why}</p>}
      <FolderView
        key={folder}
        sandboxId={sandboxId}
        folder={folder}
        seen={`${seen} ${changes} ${watched.count}`}
        onFolder={toFolder}
        onFile={toFile}
        onMoved={onMoved}
      >
        {finder}
        {canWork ? (
          <UploadButtons
            isDisabled={upload.progress !== undefined}
            onFiles={(files) => upload.offer(folder, files)}
          />
        ) : null}
      </FolderView>
      {quickOpen}
    </section>
  );
}

interface CrumbsProps {
  readonly ref: Ref<HTMLElement>;
  readonly folder: string;
  readonly onFolder: (path: string) => void;
}

/** The folder and its parents. */
function Crumbs({ ref, folder, onFolder }: CrumbsProps) {
  const below = folder === ROOT ? [] : folder.slice(ROOT.length + 1).split('/');
  const steps = [
    { name: ROOT.slice(1), path: ROOT },
    ...below.map((name, index) => ({ name, path: `${ROOT}/${below.slice(0, index + 1).join('/')}` })),
  ];
  return (
    <nav className="crumbs" aria-label="Folder" ref={ref} tabIndex={-1}>
      <ol>
        {steps.map(({ name, path }, index) => (
          <li key={path}>
            {index === steps.length - 1 ? (
              <bdi aria-current="location">{shownName(name)}</bdi>
            ) : (
              <Button variant="plain" onPress={() => onFolder(path)}>
                <bdi>{shownName(name)}</bdi>
              </Button>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** Changes within this time are one: an installation writes thousands of files. */
const SETTLE_MS = 500;

/**
 * Changes of files that programs of the sandbox make, as they happen. Only while a file is open in
 * the window with the focus: over HTTP/1.1 a browser has six connections for all its windows.
 * @returns `count` changes with each change in the workspace, `ofOpen` with each of the open file
 */
function useWatched(sandboxId: string, open: string | null) {
  const [watched, setWatched] = useState({ count: 0, ofOpen: 0 });
  /** The window, or a frame in it, has the focus. */
  const [isFocused, setIsFocused] = useState(() => document.hasFocus());
  useWindowEvent(['focus', 'blur'], () => setIsFocused(document.hasFocus()));
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const isOpenChanged = useRef(false);
  useEffect(() => () => clearTimeout(timer.current), []);
  const address =
    open === null || !isFocused ? null : addressOf('GET /v1/sandbox/{id}/watch', { id: sandboxId });
  useEvents(address, ({ event: type, data }) => {
    if (type === 'limited') return;
    const { path } = JSON.parse(data) as { readonly path?: string };
    // Before `ready`, and with `overflow`, changes are not reported.
    isOpenChanged.current ||= type === 'ready' || type === 'overflow' || path === open;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      const touched = isOpenChanged.current;
      isOpenChanged.current = false;
      setWatched(({ count, ofOpen }) => ({ count: count + 1, ofOpen: touched ? ofOpen + 1 : ofOpen }));
    }, SETTLE_MS);
  });
  return watched;
}
