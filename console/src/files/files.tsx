import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { Label, ProgressBar } from 'react-aria-components';
import { formatSize } from '../live/clock.ts';
import { Button } from '../parts/button.tsx';
import { Loading, Problem } from '../parts/feedback.tsx';
import { usePlace } from '../sandboxes/use-place.ts';
import { Crumbs } from './crumbs.tsx';
import { chosenFiles, droppedFiles } from './dropped-files.ts';
import type { Incoming } from './file-names.ts';
import './files.css';
import { FolderView } from './folder-view.tsx';
import { NameDialog } from './name-dialog.tsx';
import { useUpload } from './use-upload.ts';

// Loaded lazily with the code editor: most pages do not need it.
const FileView = lazy(() => import('./file-view.tsx'));

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
  useDropsKept();

  const take = (files: readonly Incoming[]) => {
    const tops = new Set(files.map(({ path }) => path.split('/')[0] ?? ''));
    const taken = [...tops].filter((name) => names.current.has(name));
    if (taken.length > 0) setAsked({ files, taken });
    else upload.start(folder, files);
  };
  const toFolder = (path: string) => {
    go({ path: path === ROOT ? undefined : path, file: undefined }, true);
    crumbs.current?.focus();
  };
  if (open !== null) {
    return (
      <Suspense fallback={<Loading />}>
        <FileView
          key={open}
          sandboxId={sandboxId}
          path={open}
          onClose={() => go({ file: undefined }, true)}
          onFolder={() => toFolder(open)}
        />
      </Suspense>
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
        seen={`${seen} ${changes}`}
        onNames={(all) => {
          names.current = all;
        }}
        onFolder={toFolder}
        onFile={(path) => go({ file: path }, true)}
      />
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
