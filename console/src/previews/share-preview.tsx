import { useState } from 'react';
import { Dialog, DialogTrigger, Popover } from 'react-aria-components';
import { renderSVG } from 'uqr';
import { Button, Icon } from '../parts/elements.tsx';
import { copyText } from '../parts/copy-text.tsx';

interface SharePreviewProps {
  /** With the path that is shown. */
  readonly url: string;
  /** Text of the remaining time. */
  readonly ends: string | undefined;
}

/** Links of a preview for use outside the console. */
export function SharePreview({ url, ends }: SharePreviewProps) {
  const [outcome, setOutcome] = useState<'copied' | 'refused'>();
  const copy = async () => {
    const copied = await copyText(url);
    setOutcome(copied ? 'copied' : 'refused');
    if (copied) setTimeout(() => setOutcome((before) => (before === 'copied' ? undefined : before)), 2_000);
  };
  return (
    <>
      <a
        className="button icon-button"
        href={url}
        target="_blank"
        rel="noopener noreferrer"
        aria-label="Open preview in a new tab"
        title="Open in a new tab"
      >
        <Icon name="external" />
      </a>
      <Button aria-label={outcome === 'copied' ? 'Copied' : 'Copy link'} onPress={() => void copy()}>
        <Icon name={outcome === 'copied' ? 'check' : 'copy'} />
      </Button>
      <DialogTrigger>
        <Button aria-label="Share">
          <Icon name="qr" /> <span className="wide">Share</span>
        </Button>
        <Popover className="popover">
          <Dialog aria-label="Share the preview" className="share">
            <p>
              <strong>Anyone with the link can see the app</strong>
            </p>
            <p className="quiet">No sign-in is required. {ends === undefined ? '' : `The link ${ends}.`}</p>
            {isOfThisMachine(url) ? (
              <p className="quiet">Only this machine can open it: its name is localhost.</p>
            ) : (
              <>
                <p className="quiet">Scan it with a phone.</p>
                <QrCode text={url} />
              </>
            )}
          </Dialog>
        </Popover>
      </DialogTrigger>
      <span className="hidden" role="status">
        {outcome === 'copied' ? 'Link copied' : ''}
      </span>
      {outcome === 'refused' ? (
        <label className="field link">
          The browser doesn’t allow copying here. Copy the link yourself:
          <input readOnly value={url} autoFocus onFocus={(event) => event.currentTarget.select()} />
        </label>
      ) : null}
    </>
  );
}

/** `localhost` is each device itself: it does not work on a phone. */
function isOfThisMachine(url: string): boolean {
  return new URL(url).hostname.endsWith('.localhost');
}

function QrCode({ text }: { readonly text: string }) {
  const source = `data:image/svg+xml,${encodeURIComponent(renderSVG(text, { border: 2 }))}`;
  return (
    <img className="qr" src={source} alt="The address of the preview as a QR code" width={220} height={220} />
  );
}
