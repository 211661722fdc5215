import { type ReactNode, useContext, useState } from 'react';
import { Dialog, DialogTrigger, Modal, ModalOverlay } from 'react-aria-components';
import { SessionContext } from '../live/session-state.ts';
import { DialogForm, type DialogFormProps } from './dialog-form.tsx';

export interface FormDialogProps extends Omit<DialogFormProps, 'onClose'> {
  /** What opens it. */
  readonly trigger: ReactNode;
}

/** A question in front of the page, and the one thing that is done about it. */
export function FormDialog({ trigger, ...form }: FormDialogProps) {
  const [open, setOpen] = useState(false);
  // Whoever has to sign in must not have it in front of them.
  const { over } = useContext(SessionContext);
  return (
    <DialogTrigger isOpen={open && !over} onOpenChange={setOpen}>
      {trigger}
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="modal">
          <Dialog className="dialog">{({ close }) => <DialogForm {...form} onClose={close} />}</Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}
