import { DialogForm, type DialogFormProps, ModalDialog } from '../parts/dialog-form.tsx';
import { TextInput } from '../parts/elements.tsx';
import { nameProblem, shownName } from './file-names.ts';

interface NameDialogProps extends Omit<DialogFormProps, 'onSubmit'> {
  /** @default true */
  readonly isOpen?: boolean;
  /** The initial name; undefined: it asks for none. */
  readonly initial?: string;
  readonly onSubmit: (name: string) => Promise<void> | void;
}

/** A dialog about a file, opened from anywhere. */
export function NameDialog({
  isOpen = true,
  title,
  initial,
  children,
  onClose,
  onSubmit,
  ...form
}: NameDialogProps) {
  return (
    <ModalDialog isOpen={isOpen} onClose={onClose}>
      <DialogForm
        {...form}
        title={shownName(title)}
        onClose={onClose}
        onSubmit={(filled) => {
          // Untrimmed: a name may begin and end with spaces.
          const typed = filled.get('name');
          return onSubmit(typeof typed === 'string' ? typed : '');
        }}
      >
        {children}
        {initial === undefined ? null : (
          <TextInput
            label="Name"
            name="name"
            defaultValue={initial}
            autoFocus
            autoComplete="off"
            validate={(value) => nameProblem(value) ?? null}
          />
        )}
      </DialogForm>
    </ModalDialog>
  );
}
