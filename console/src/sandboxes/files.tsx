import { lazy, Suspense, useRef, useState } from 'react';
import { addressOf, request } from '../api/client.ts';
import { sizeWords, timeAgo } from '../live/time-words.ts';
import { problemOf, useAnswer, useNow } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Empty, Loading, Problem } from '../parts/feedback.tsx';
import { Icon } from '../parts/icon.tsx';

const FileEditor = lazy(() => import('./file-editor.tsx'));

const ROOT = '/workspace';

/** The workspace of a sandbox: browse, open, drop files in, download. */
export function Files({ sandboxId }: { readonly sandboxId: string }) {
  const [folder, setFolder] = useState(ROOT);
  const [open, setOpen] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [told, setTold] = useState('');
  const [over, setOver] = useState(false);
  const chooser = useRef<HTMLInputElement>(null);
  const now = useNow();
  const listing = useAnswer(
    'GET /v1/sandbox/{id}/files',
    { path: { id: sandboxId }, query: { path: folder } },
    5_000,
  );
  const upload = async (files: readonly File[]) => {
    if (files.length === 0) return;
    setProblem(undefined);
    setTold(`Uploading ${files.length === 1 ? (files[0]?.name ?? 'a file') : `${files.length} files`}…`);
    try {
      const form = new FormData();
      for (const file of files) form.append('files', file, file.name);
      await request(addressOf('POST /v1/sandbox/{id}/files', { id: sandboxId }, { path: folder }), {
        method: 'POST',
        body: form,
      });
      setTold(
        files.length === 1 ? `${files[0]?.name ?? 'The file'} is there.` : `${files.length} files are there.`,
      );
      listing.reload();
    } catch (error) {
      setTold('');
      setProblem(problemOf(error));
    }
  };
  if (open !== undefined) {
    return (
      <Suspense fallback={<Loading />}>
        <FileEditor
          sandboxId={sandboxId}
          path={open}
          onClose={() => {
            setOpen(undefined);
            listing.reload();
          }}
        />
      </Suspense>
    );
  }
  const entries = listing.value?.entries ?? [];
  const sorted = entries.toSorted(
    (a, b) => Number(b.type === 'directory') - Number(a.type === 'directory') || a.name.localeCompare(b.name),
  );
  return (
    <section
      className={`files ${over ? 'over' : ''}`}
      aria-label="Files"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void upload([...event.dataTransfer.files]);
      }}
    >
      <div className="section-head">
        <Crumbs folder={folder} onFolder={setFolder} />
        <div className="tools">
          <input
            ref={chooser}
            type="file"
            multiple
            hidden
            aria-label="Files to upload"
            onChange={(event) => void upload([...(event.currentTarget.files ?? [])])}
          />
          <Button onPress={() => chooser.current?.click()}>Upload</Button>
          <a
            className="button"
            href={addressOf('GET /v1/sandbox/{id}/archive', { id: sandboxId }, { path: folder })}
            download
          >
            Download folder
          </a>
        </div>
      </div>
      <p className="quiet" role="status">
        {told === '' ? 'Drop files anywhere here to upload them.' : told}
      </p>
      {problem === undefined ? null : <Problem words={problem} />}
      {listing.problem === undefined ? null : <Problem words={listing.problem} onRetry={listing.reload} />}
      {listing.value === undefined ? (
        listing.problem === undefined ? (
          <Loading />
        ) : null
      ) : sorted.length === 0 ? (
        <Empty title="This folder is empty" />
      ) : (
        <table className="list">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Size</th>
              <th scope="col" className="wide">
                Changed
              </th>
              <th scope="col">
                <span className="hidden">Download</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {sorted.map(({ path, name, type, size, mtime }) => (
              <tr key={path}>
                <td>
                  {type === 'directory' ? (
                    <Button variant="plain" onPress={() => setFolder(path)}>
                      <Icon name="folder" /> {name}
                    </Button>
                  ) : (
                    <Button variant="plain" isDisabled={type === 'other'} onPress={() => setOpen(path)}>
                      <Icon name={type === 'symlink' ? 'link' : 'file'} /> {name}
                    </Button>
                  )}
                </td>
                <td>{type === 'directory' || size === null ? '' : sizeWords(size)}</td>
                <td className="wide">
                  {mtime === null ? '' : <time dateTime={mtime}>{timeAgo(now - Date.parse(mtime))}</time>}
                </td>
                <td>
                  {type === 'file' ? (
                    <a
                      href={addressOf('GET /v1/sandbox/{id}/file/{path}', {
                        id: sandboxId,
                        path: path.slice(1),
                      })}
                      download={name}
                      aria-label={`Download ${name}`}
                    >
                      Download
                    </a>
                  ) : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {listing.value?.truncated === true ? (
        <p className="quiet">There is more than can be shown here.</p>
      ) : null}
    </section>
  );
}

function Crumbs({
  folder,
  onFolder,
}: {
  readonly folder: string;
  readonly onFolder: (path: string) => void;
}) {
  const parts = folder.slice(1).split('/');
  return (
    <nav className="crumbs" aria-label="Folder">
      {parts.map((name, index) => {
        const path = `/${parts.slice(0, index + 1).join('/')}`;
        return (
          <span key={path}>
            {index === parts.length - 1 ? (
              <span aria-current="location">{name}</span>
            ) : (
              <Button variant="plain" onPress={() => onFolder(path)}>
                {name}
              </Button>
            )}
            {index === parts.length - 1 ? '' : ' / '}
          </span>
        );
      })}
    </nav>
  );
}
