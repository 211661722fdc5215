import { plainText } from '../../../base/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { ChangedLines } from '../code/changed-lines.tsx';
import { addressOfFile, isReachable, textOf } from '../files/file-names.ts';
import { readBeginning } from '../files/read-beginning.ts';
import { usePolled } from '../live/use-live.ts';
import { Pending } from '../parts/elements.tsx';
import { logText } from '../sandboxes/log-text.ts';
import type { Compared } from './compare-pages.tsx';
import { type FileChange, FileChanges } from './file-changes.tsx';

/** Bytes of a file that is compared line by line. */
const MAX_TEXT = 131_072;

/** The files and servers that differ between two sandboxes. */
export function CompareFiles({ one, other }: Compared) {
  const { value, problem, reload } = usePolled(
    (signal) =>
      call('POST /v1/sandbox/{id}/compare', { path: { id: one.id }, body: { with: other.id }, signal }),
    `${one.id} ${other.id}`,
  );
  return (
    <section>
      <h3>Files and servers</h3>
      {value === undefined ? (
        <Pending words={problem} onRetry={reload} />
      ) : (
        <>
          <FileChanges
            {...value}
            linesOf={(change) => <FileLines one={one} other={other} change={change} />}
          />
          {value.servers.map(({ name, one: before, other: after }) => (
            <p key={name}>
              Server <code>{plainText(name, 100)}</code>: {serverWords(before)} in {one.name},{' '}
              {serverWords(after)} in {other.name}
            </p>
          ))}
        </>
      )}
    </section>
  );
}

type Server = Answer<'POST /v1/sandbox/{id}/compare'>['servers'][number]['one'];

function serverWords(server: Server): string {
  if (server === null) return 'not declared';
  const command = plainText(server.argv.join(' '), 60);
  return `${server.state}${server.port === null ? '' : ` on port ${server.port}`} (${command})`;
}

interface FileLinesProps extends Compared {
  readonly change: FileChange;
}

function FileLines({ one, other, change: { path, before, after } }: FileLinesProps) {
  const { value, problem, reload } = usePolled(
    (signal) => Promise.all([textAt(one.id, path, before, signal), textAt(other.id, path, after, signal)]),
    path,
  );
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  const [first, second] = value;
  if (first === undefined || second === undefined)
    return <p className="quiet">It is no text, or too long to compare here.</p>;
  if (first === second) return <p className="quiet">The text is the same.</p>;
  return <ChangedLines before={logText(first)} after={logText(second)} />;
}

/** Undefined for what is no text, or too long. A file that does not exist has an empty one. */
async function textAt(id: string, path: string, size: number | null, signal: AbortSignal) {
  if (size === null) return '';
  if (!isReachable(path)) return undefined;
  const { bytes, isCut } = await readBeginning(
    addressOfFile(id, `/workspace/${path}`),
    () => MAX_TEXT,
    signal,
  );
  return isCut ? undefined : textOf(bytes)?.text;
}
