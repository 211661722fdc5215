import { Heading } from 'react-aria-components';
import { Button } from '../parts/elements.tsx';
import { ModalDialog } from '../parts/dialog-form.tsx';
import { localPort } from './log-text.ts';
import { usePlace } from './use-place.ts';

export interface OpenLinkProps {
  /** The target of a link, as a program in the sandbox states it; undefined: none. */
  readonly address: string | undefined;
  readonly onClose: () => void;
}

/** Shows a terminal link's real target before it opens in a tab without access to this one. */
export function OpenLink({ address, onClose }: OpenLinkProps) {
  const url = address === undefined ? null : URL.parse(address);
  const [, go] = usePlace();
  const port = localPort(url);
  // Only the page of a run has previews.
  const hasPreview = port !== undefined && location.pathname.startsWith('/runs/');
  // The terminal passes no other schemes; validated again here.
  const isWeb = url !== null && (url.protocol === 'https:' || url.protocol === 'http:');
  return (
    <ModalDialog isOpen={isWeb} onClose={onClose}>
      <Heading slot="title">Open this link?</Heading>
      <p>Something in the sandbox shows it. It leads to:</p>
      <p className="id link-address">{url?.href}</p>
      {port === undefined ? null : (
        <p>
          It names the sandbox itself, which a browser reaches through a preview
          {hasPreview ? '.' : ': open one on the page of its run.'}
        </p>
      )}
      <div className="actions">
        <Button onPress={onClose}>Cancel</Button>
        {hasPreview ? (
          <Button
            variant="primary"
            onPress={() => {
              go({ port, pane: undefined });
              onClose();
            }}
          >
            Show the preview of port {port}
          </Button>
        ) : null}
        <a
          className={hasPreview ? 'button' : 'button primary'}
          href={isWeb ? url.href : undefined}
          target="_blank"
          rel="noopener noreferrer"
          onClick={onClose}
        >
          Open in a new tab
        </a>
      </div>
    </ModalDialog>
  );
}
