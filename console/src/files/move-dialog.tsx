import {
  Button,
  ComboBox,
  FieldError,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
} from 'react-aria-components';
import { ApiError } from '../api/client.ts';
import { usePolled } from '../live/use-live.ts';
import { Loading } from '../parts/elements.tsx';
import { moveInto } from './change-folder.ts';
import { shownName } from './file-names.ts';
import { NameDialog } from './name-dialog.tsx';
import { listFolders, workspacePath } from './workspace-search.ts';

interface MoveDialogProps {
  readonly sandboxId: string;
  readonly path: string;
  readonly isFolder: boolean;
  readonly onClose: () => void;
  readonly onMoved: (from: string, to: string) => void;
}

/** Asks for the folder that a file or folder moves to: one of the list, or a typed path. */
export default function MoveDialog({ sandboxId, path, isFolder, onClose, onMoved }: MoveDialogProps) {
  const { value, problem } = usePolled(() => listFolders(sandboxId), sandboxId);
  const parent = path.slice(0, path.lastIndexOf('/'));
  // A folder cannot move into itself.
  const folders = (value ?? (problem === undefined ? undefined : []))?.filter(
    (each) => !isFolder || !`${each}/`.startsWith(`${path}/`),
  );
  return (
    <NameDialog
      title={`Move ${path.slice(parent.length + 1)}`}
      action="Move it"
      onClose={onClose}
      onSubmit={async (typed) => {
        if (folders === undefined) {
          throw new ApiError(409, 'busy', 'The folders are still being read. Try again.');
        }
        const folder = workspacePath(typed) ?? parent;
        const to = await moveInto(sandboxId, path, folder);
        if (to !== path) onMoved(path, to);
      }}
    >
      {folders === undefined ? (
        <Loading />
      ) : (
        <ComboBox
          className="field"
          name="name"
          autoFocus
          allowsCustomValue
          defaultInputValue={parent}
          defaultItems={folders.map((id) => ({ id }))}
          validate={({ inputValue }) =>
            inputValue === '' || workspacePath(inputValue) === undefined
              ? 'A folder in /workspace is needed.'
              : null
          }
        >
          <Label>To the folder</Label>
          <span className="combo">
            <Input autoComplete="off" spellCheck={false} />
            <Button className="button" aria-label="Show folders">
              <span aria-hidden="true">▾</span>
            </Button>
          </span>
          <FieldError className="field-error" />
          <Popover className="popover">
            <ListBox className="options">
              {({ id }: { readonly id: string }) => (
                <ListBoxItem textValue={id}>
                  <bdi>{shownName(id)}</bdi>
                </ListBoxItem>
              )}
            </ListBox>
          </Popover>
        </ComboBox>
      )}
      <p className="quiet" role="status">
        {problem === undefined ? '' : `${problem} Or type the path of the folder.`}
      </p>
    </NameDialog>
  );
}
