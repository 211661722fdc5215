import { type ComponentProps, type FormEvent, type ReactNode, useContext, useState } from 'react';
import { Dialog, DialogTrigger, Form, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { SessionContext, useAttempt } from '../live/use-live.ts';
import { Button, Problem } from './elements.tsx';

interface ModalDialogProps extends Pick<ComponentProps<typeof Dialog>, 'aria-label' | 'children'> {
  /** @default true */
  readonly isOpen?: boolean;
  readonly onClose: () => void;
  /** A further class of the box. */
  readonly className?: string;
  readonly overlay?: string;
  readonly dialog?: string;
  /** Whether a press on the page behind closes it. @default true */
  readonly isDismissable?: boolean;
}

/** A dialog in front of the page, and never in front of the sign-in. */
export function ModalDialog({
  isOpen = true,
  onClose,
  className = '',
  overlay = '',
  dialog = 'dialog',
  isDismissable = true,
  ...content
}: ModalDialogProps) {
  const { over } = useContext(SessionContext);
  return (
    <ModalOverlay
      className={`overlay ${overlay}`}
      isDismissable={isDismissable}
      isOpen={isOpen && !over}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
    >
      <Modal className={`modal ${className}`}>
        <Dialog {...content} className={dialog} />
      </Modal>
    </ModalOverlay>
  );
}

export interface DialogFormProps {
  readonly title: string;
  readonly action: string;
  readonly danger?: boolean;
  readonly children?: ReactNode;
  readonly onClose: () => void;
  /**
   * Performs the action; the dialog closes when this resolves, and shows the error when it rejects.
   */
  readonly onSubmit: (form: FormData) => Promise<void> | void;
}

/** Content and buttons of a dialog with one action. */
export function DialogForm({ title, action, danger = false, children, onClose, onSubmit }: DialogFormProps) {
  const { busy, problem, attempt } = useAttempt();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    void attempt(async () => {
      await onSubmit(form);
      onClose();
    });
  };
  return (
    <Form onSubmit={submit}>
      <Heading slot="title">{title}</Heading>
      {children}
      <Problem words={problem} />
      <div className="actions">
        <Button onPress={onClose}>Cancel</Button>
        <Button type="submit" variant={danger ? 'danger' : 'primary'} isDisabled={busy}>
          {busy ? 'One moment…' : action}
        </Button>
      </div>
    </Form>
  );
}

interface DialogButtonProps extends Omit<ModalDialogProps, 'isOpen' | 'onClose'> {
  /** The element that opens it. */
  readonly trigger: ReactNode;
}

/** A dialog that opens by a button. */
export function DialogButton({ trigger, ...dialog }: DialogButtonProps) {
  const [open, setOpen] = useState(false);
  return (
    <DialogTrigger isOpen={open} onOpenChange={setOpen}>
      {trigger}
      <ModalDialog {...dialog} isOpen={open} onClose={() => setOpen(false)} />
    </DialogTrigger>
  );
}

/** A button, and a dialog with one action. */
export function FormDialog({ trigger, ...form }: Omit<DialogFormProps, 'onClose'> & DialogButtonProps) {
  return (
    <DialogButton trigger={trigger}>{({ close }) => <DialogForm {...form} onClose={close} />}</DialogButton>
  );
}
