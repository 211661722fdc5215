import { useContext } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { SessionContext } from '../live/session-state.ts';
import { Button } from '../parts/button.tsx';

export interface OpenLinkProps {
  /** What a program in the sandbox says that the link leads to; undefined: none. */
  readonly address: string | undefined;
  readonly onClose: () => void;
}

/**
 * Where a link of the terminal really leads, before it is opened: a tab that knows nothing of this
 * one.
 */
export function OpenLink({ address, onClose }: OpenLinkProps) {
  // The dialog must not cover the sign-in.
  const { over } = useContext(SessionContext);
  const url = address === undefined ? null : URL.parse(address);
  // The terminal hands on no others; that nothing else is ever opened is seen here.
  const isWeb = url !== null && (url.protocol === 'https:' || url.protocol === 'http:');
  return (
    <ModalOverlay
      className="overlay"
      isDismissable
      isOpen={isWeb && !over}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
    >
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">Open this link?</Heading>
          <p>Something in the sandbox shows it. It leads to:</p>
          <p className="id link-address">{url?.href}</p>
          <div className="actions">
            <Button onPress={onClose}>Cancel</Button>
            <a
              className="button primary"
              href={isWeb ? url.href : undefined}
              target="_blank"
              rel="noopener noreferrer"
              onClick={onClose}
            >
              Open in a new tab
            </a>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
