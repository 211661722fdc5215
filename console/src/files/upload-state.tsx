import { FileTrigger, Label, ProgressBar } from 'react-aria-components';
import { formatSize } from '../live/clock.ts';
import { Button, Problem } from '../parts/elements.tsx';
import { chosenFiles } from './dropped-files.ts';
import type { Incoming } from './file-names.ts';
import { NameDialog } from './name-dialog.tsx';
import type { Upload } from './use-upload.ts';

interface UploadButtonsProps {
  readonly isDisabled: boolean;
  readonly onFiles: (files: readonly Incoming[]) => void;
}

export function UploadButtons({ isDisabled, onFiles }: UploadButtonsProps) {
  const onSelect = (chosen: FileList | null) => onFiles(chosenFiles(chosen ?? []));
  return (
    <>
      <FileTrigger allowsMultiple onSelect={onSelect}>
        <Button isDisabled={isDisabled}>Upload files</Button>
      </FileTrigger>
      <FileTrigger acceptDirectory onSelect={onSelect}>
        <Button isDisabled={isDisabled}>Upload folder</Button>
      </FileTrigger>
    </>
  );
}

interface UploadStateProps {
  readonly upload: Upload;
}

/** The progress, result and question of an upload. */
export function UploadState({ upload }: UploadStateProps) {
  const { progress, problem, notice, taken } = upload;
  return (
    <>
      {progress === undefined ? (
        <p className="quiet" role="status">
          {notice}
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
                  {percentage >= 100 ? 'Sent; the sandbox is writing it…' : valueText}
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
      <Problem words={problem} onRetry={upload.retry} />
      <NameDialog
        isOpen={taken.length > 0}
        title={taken.length === 1 ? `Replace ${taken[0] ?? ''}?` : 'Replace what is there?'}
        action="Replace"
        danger
        onClose={upload.decline}
        onSubmit={upload.start}
      >
        <p>
          {taken.length === 1
            ? 'That name already exists. A folder keeps the files that are not in the new one.'
            : `${taken.length} of these are there already. Folders keep the files that are not in the new ones.`}
        </p>
      </NameDialog>
    </>
  );
}
