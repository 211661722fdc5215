import { useContext } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { SessionContext } from '../live/session-state.ts';
import { Button } from '../parts/button.tsx';

export interface OpenLinkProps {
  /** The target of a link, as a program in the sandbox states it; undefined: none. */
  readonly address: string | undefined;
  readonly onClose: () => void;
}

/** Shows a terminal link's real target before it opens in a tab without access to this one. */
export function OpenLink({ address, onClose }: OpenLinkProps) {
  // The dialog must not cover the sign-in.
  const { over } = useContext(SessionContext);
  const url = address === undefined ? null : URL.parse(address);
  // The terminal passes no other schemes; validated again here.
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
