import { useState } from 'react';
import { Dialog, DialogTrigger, Popover } from 'react-aria-components';
import { renderSVG } from 'uqr';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/controls.tsx';
import { copyText } from './copy-text.ts';

/** Links of a preview for use outside the console. */
export function SharePreview({ url, serves }: { readonly url: string; readonly serves: boolean }) {
  const [outcome, setOutcome] = useState<'copied' | 'refused'>();
  const copy = async () => {
    const copied = await copyText(url);
    setOutcome(copied ? 'copied' : 'refused');
    if (copied) setTimeout(() => setOutcome((before) => (before === 'copied' ? undefined : before)), 2_000);
  };
  return (
    <>
      <a
        className={serves ? 'button primary' : 'button'}
        href={url}
        target="_blank"
        rel="noopener noreferrer"
      >
        <Icon name="external" /> Open preview
      </a>
      <Button onPress={() => void copy()}>
        <Icon name="copy" /> {outcome === 'copied' ? 'Copied' : 'Copy link'}
      </Button>
      <DialogTrigger>
        <Button>
          <Icon name="qr" /> QR code
        </Button>
        <Popover className="popover">
          <Dialog aria-label="QR code of the preview">
            <QrCode text={url} />
            {isOfThisMachine(url) ? (
              <p className="quiet">Only this machine finds it: its name is localhost.</p>
            ) : null}
          </Dialog>
        </Popover>
      </DialogTrigger>
      <span className="hidden" role="status">
        {outcome === 'copied' ? 'Link copied' : ''}
      </span>
      {outcome === 'refused' ? (
        <label className="field link">
          The browser lets nothing be copied from here. Copy it yourself:
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
