import { useContext } from 'react';
import { Dialog, Modal, ModalOverlay } from 'react-aria-components';
import { SessionContext } from '../live/session-state.ts';
import { DialogForm, type DialogFormProps } from '../parts/dialog-form.tsx';
import { TextInput } from '../parts/controls.tsx';
import { nameProblem, shownName } from './file-names.ts';

export interface NameDialogProps extends Omit<DialogFormProps, 'onSubmit'> {
  readonly isOpen: boolean;
  /** The initial name. */
  readonly initial?: string;
  readonly onSubmit: (name: string) => Promise<void>;
}

/** A dialog about a file, opened from anywhere. */
export function NameDialog({
  isOpen,
  title,
  initial,
  children,
  onClose,
  onSubmit,
  ...form
}: NameDialogProps) {
  // The dialog must not cover the sign-in.
  const { over } = useContext(SessionContext);
  return (
    <ModalOverlay
      className="overlay"
      isDismissable
      isOpen={isOpen && !over}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
    >
      <Modal className="modal">
        <Dialog className="dialog">
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
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
