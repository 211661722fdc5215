import { useCallback } from 'react';
import { usePolled } from '../live/use-live.ts';
import PickDialog from '../parts/pick-dialog.tsx';
import { shownName } from './file-names.ts';
import { listPaths, rankPaths } from './workspace-search.ts';

interface QuickOpenProps {
  readonly sandboxId: string;
  readonly onFile: (path: string) => void;
  readonly onClose: () => void;
}

/** Rows at a time. */
const MAX_ROWS = 50;

/** Opens a file of the workspace by some letters of its path. */
export default function QuickOpen({ sandboxId, onFile, onClose }: QuickOpenProps) {
  const { value: paths, problem } = usePolled(() => listPaths(sandboxId), sandboxId);
  const find = useCallback(
    (text: string) =>
      rankPaths(paths ?? [], text, MAX_ROWS).map((path) => {
        const at = path.lastIndexOf('/');
        return {
          id: path,
          words: shownName(path.slice(at + 1)),
          note: shownName(path.slice('/workspace/'.length, at)),
        };
      }),
    [paths],
  );
  return (
    <PickDialog
      title="Open a file"
      placeholder="Name or path of a file"
      find={find}
      onPick={onFile}
      onClose={onClose}
    >
      {problem === undefined && paths !== undefined ? null : (
        <p className="quiet" role="status">
          {problem ?? 'Reading the files of the sandbox…'}
        </p>
      )}
    </PickDialog>
  );
}
