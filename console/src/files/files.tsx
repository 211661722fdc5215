import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { Label, ProgressBar } from 'react-aria-components';
import { addressOf } from '../api/client.ts';
import { formatSize } from '../live/clock.ts';
import { useEvents } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Loading, Problem } from '../parts/feedback.tsx';
import { usePlace } from '../sandboxes/use-place.ts';
import { Crumbs } from './crumbs.tsx';
import { chosenFiles, droppedFiles } from './dropped-files.ts';
import type { Incoming } from './file-names.ts';
import './files.css';
import { FolderView } from './folder-view.tsx';
import { NameDialog } from './name-dialog.tsx';
import { SearchPanel } from './search-panel.tsx';
import { useUpload } from './use-upload.ts';

// Loaded lazily with the code editor: most pages do not need it.
const FileView = lazy(() => import('./file-view.tsx'));
const FileTree = lazy(() => import('./file-tree.tsx'));
const QuickOpen = lazy(() => import('./quick-open.tsx'));

const ROOT = '/workspace';
/** Nonstandard, but supported by every browser. */
const WHOLE_FOLDER = { webkitdirectory: '' };

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
  const [asked, setAsked] = useState<{ files: readonly Incoming[]; taken: readonly string[] }>();
  const crumbs = useRef<HTMLElement>(null);
  const fileChooser = useRef<HTMLInputElement>(null);
  const folderChooser = useRef<HTMLInputElement>(null);
  const names = useRef<ReadonlySet<string>>(new Set());
  const upload = useUpload(sandboxId, () => setChanges((count) => count + 1));
  const [isSearching, setIsSearching] = useState(false);
  const [isOpening, setIsOpening] = useState(false);
  const watched = useWatched(sandboxId, open);
  useDropsKept();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      // A terminal takes its keys first: Ctrl-P is the line before in a shell.
      if (event.defaultPrevented || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
      if (event.key.toLowerCase() !== 'p') return;
      event.preventDefault();
      setIsOpening(true);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);

  const take = (files: readonly Incoming[]) => {
    const tops = new Set(files.map(({ path }) => path.split('/')[0] ?? ''));
    const taken = [...tops].filter((name) => names.current.has(name));
    if (taken.length > 0) setAsked({ files, taken });
    else upload.start(folder, files);
  };
  const toFolder = (path: string) => {
    go({ path: path === ROOT ? undefined : path, file: undefined, line: undefined }, true);
    crumbs.current?.focus();
  };
  const toFile = (path: string, line?: number) =>
    go({ file: path, line: line === undefined ? undefined : String(line) }, true);
  const finder = (
    <>
      <Button onPress={() => setIsOpening(true)} aria-keyshortcuts="Control+P">
        Go to file
      </Button>
      <Button onPress={() => setIsSearching(true)}>Search</Button>
    </>
  );
  const quickOpen = isOpening ? (
    <Suspense>
      <QuickOpen sandboxId={sandboxId} onFile={toFile} onClose={() => setIsOpening(false)} />
    </Suspense>
  ) : null;
  if (open !== null || isSearching) {
    return (
      <section className="files" aria-label="Files">
        <div className="files-grid">
          <div className="files-side">
            <div className="tools">{finder}</div>
            <Suspense fallback={<Loading />}>
              <FileTree
                sandboxId={sandboxId}
                root={ROOT}
                open={open}
                seen={`${seen} ${changes} ${watched.count}`}
                onFile={toFile}
              />
            </Suspense>
          </div>
          <div className="files-main">
            {isSearching ? (
              <SearchPanel sandboxId={sandboxId} onMatch={toFile} onClose={() => setIsSearching(false)} />
            ) : null}
            {open === null ? null : (
              <Suspense fallback={<Loading />}>
                <FileView
                  key={open}
                  sandboxId={sandboxId}
                  path={open}
                  line={Number(place.get('line') ?? 0)}
                  changes={watched.ofOpen}
                  onClose={() => go({ file: undefined, line: undefined }, true)}
                  onFolder={() => toFolder(open)}
                />
              </Suspense>
            )}
          </div>
        </div>
        {quickOpen}
      </section>
    );
  }
  const { progress } = upload;
  return (
    <section
      className={`files ${over ? 'over' : ''}`}
      aria-label="Files"
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes('Files')) return;
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
        void droppedFiles(event.dataTransfer).then(take);
      }}
    >
      <div className="section-head">
        <Crumbs ref={crumbs} folder={folder} root={ROOT} onFolder={toFolder} />
        <div className="tools">
          {finder}
          <input
            ref={fileChooser}
            type="file"
            multiple
            hidden
            aria-label="Files to upload"
            onChange={(event) => {
              take(chosenFiles(event.currentTarget.files ?? []));
              event.currentTarget.value = '';
            }}
          />
          <input
            ref={folderChooser}
            type="file"
            {...WHOLE_FOLDER}
            hidden
            aria-label="Folder to upload"
            onChange={(event) => {
              take(chosenFiles(event.currentTarget.files ?? []));
              event.currentTarget.value = '';
            }}
          />
          <Button isDisabled={progress !== undefined} onPress={() => fileChooser.current?.click()}>
            Upload files
          </Button>
          <Button isDisabled={progress !== undefined} onPress={() => folderChooser.current?.click()}>
            Upload a folder
          </Button>
        </div>
      </div>
      {progress === undefined ? (
        <p className="quiet" role="status">
          {upload.notice === '' ? 'Drop files and folders anywhere here to upload them.' : upload.notice}
        </p>
      ) : (
        <div className="upload">
          <ProgressBar
            className="upload-progress"
            value={progress.sent}
            maxValue={Math.max(progress.total, 1)}
            valueLabel={`${formatSize(progress.sent)} of ${formatSize(progress.total)}`}
          >
            {({ percentage = 0, valueText }) => (
              <>
                <Label>
                  Uploading {progress.files === 1 ? 'a file' : `${progress.files.toLocaleString()} files`}
                </Label>
                <span className="quiet">
                  {percentage >= 100 ? 'Sent; the sandbox puts it in its place…' : valueText}
                </span>
                <span className="bar">
                  <span style={{ width: `${percentage}%` }} />
                </span>
              </>
            )}
          </ProgressBar>
          <Button onPress={upload.cancel}>Cancel the upload</Button>
        </div>
      )}
      {upload.problem === undefined ? null : <Problem words={upload.problem} />}
      <FolderView
        key={folder}
        sandboxId={sandboxId}
        folder={folder}
        seen={`${seen} ${changes} ${watched.count}`}
        onNames={(all) => {
          names.current = all;
        }}
        onFolder={toFolder}
        onFile={toFile}
      />
      {quickOpen}
      <NameDialog
        isOpen={asked !== undefined}
        title={asked?.taken.length === 1 ? `Replace ${asked.taken[0] ?? ''}?` : 'Replace what is there?'}
        action="Replace"
        danger
        onClose={() => setAsked(undefined)}
        onSubmit={() => {
          if (asked !== undefined) upload.start(folder, asked.files);
          return Promise.resolve();
        }}
      >
        <p>
          {asked === undefined || asked.taken.length === 1
            ? 'Something of that name is there already. A folder keeps the files that are not in the new one.'
            : `${asked.taken.length} of these are there already. Folders keep the files that are not in the new ones.`}
        </p>
      </NameDialog>
    </section>
  );
}

/** Changes within this time are one: an installation writes thousands of files. */
const SETTLE_MS = 500;

interface Watched {
  /** Changes with each change in the workspace. */
  readonly count: number;
  /** Changes with each change of the open file. */
  readonly ofOpen: number;
}

/**
 * Changes of files that programs of the sandbox make, as they happen. Only while a file is open in
 * the window with the focus: over HTTP/1.1 a browser has six connections for all its windows.
 */
function useWatched(sandboxId: string, open: string | null): Watched {
  const [watched, setWatched] = useState<Watched>({ count: 0, ofOpen: 0 });
  const isFocused = useFocused();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const isOpenChanged = useRef(false);
  useEffect(() => () => clearTimeout(timer.current), []);
  const address =
    open === null || !isFocused ? null : addressOf('GET /v1/sandbox/{id}/watch', { id: sandboxId });
  useEvents(address, ({ type, data }) => {
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

/** Whether the window, or a frame in it, has the focus. */
function useFocused(): boolean {
  const [isFocused, setIsFocused] = useState(() => document.hasFocus());
  useEffect(() => {
    const look = () => setIsFocused(document.hasFocus());
    for (const type of ['focus', 'blur'] as const) window.addEventListener(type, look);
    return () => {
      for (const type of ['focus', 'blur'] as const) window.removeEventListener(type, look);
    };
  }, []);
  return isFocused;
}

/** Prevents a file dropped beside the list from replacing the page. */
function useDropsKept(): void {
  useEffect(() => {
    const keep = (event: DragEvent) => {
      if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault();
    };
    for (const type of ['dragover', 'drop'] as const) window.addEventListener(type, keep);
    return () => {
      for (const type of ['dragover', 'drop'] as const) window.removeEventListener(type, keep);
    };
  }, []);
}
