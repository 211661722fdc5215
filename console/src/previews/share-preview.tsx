import { useState } from 'react';
import { Heading } from 'react-aria-components';
import { useAnswer } from '../live/use-live.ts';
import { copyText } from '../parts/copy-text.tsx';
import { DialogButton } from '../parts/dialog-form.tsx';
import { Button, Icon, Pending } from '../parts/elements.tsx';
import { audienceOf } from './access-labels.ts';
import { ChangeAccess } from './change-access.tsx';
import { PreviewLinks } from './preview-links.tsx';
import { QrCode } from './qr-code.tsx';

interface SharePreviewProps {
  readonly port: number;
  /** Session id of the preview. */
  readonly token: string;
  /** With the path that is shown. */
  readonly url: string;
  /** Text of the remaining time. */
  readonly ends: string | undefined;
  readonly owner: string;
  /** Whether this person decides who may open it. */
  readonly isOwn: boolean;
  /** The level has changed: visits have ended. */
  readonly onChange: () => void;
}

/** Who may open a preview, and its addresses for use outside the console. */
export function SharePreview({ port, url, ...shared }: SharePreviewProps) {
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
      <DialogButton
        className="wide-modal"
        trigger={
          <Button aria-label="Share">
            <Icon name="qr" /> <span className="wide">Share</span>
          </Button>
        }
      >
        {({ close }) => (
          <>
            <Heading slot="title">Share the preview of port {port}</Heading>
            <Sharing {...shared} url={url} />
            <div className="actions">
              <Button onPress={close}>Close</Button>
            </div>
          </>
        )}
      </DialogButton>
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

type SharingProps = Omit<SharePreviewProps, 'port'>;

function Sharing({ token, url, ends, owner, isOwn, onChange }: SharingProps) {
  const input = isOwn ? { path: { id: token } } : null;
  const { value: access, problem, reload } = useAnswer('GET /v1/previews/{id}/access', input);
  if (isOwn && access === undefined) return <Pending words={problem} onRetry={reload} />;
  return (
    <div className="share">
      {access === undefined ? (
        <p>{owner} decides who can see the app.</p>
      ) : (
        <div className="section-head">
          <strong>{audienceOf(access.level)}</strong>
          <ChangeAccess
            token={token}
            access={access}
            onChange={() => {
              reload();
              onChange();
            }}
          />
        </div>
      )}
      {access?.url == null ? null : (
        <p>
          Also at{' '}
          <a href={access.url} target="_blank" rel="noopener noreferrer">
            {new URL(access.url).host}
          </a>
        </p>
      )}
      {ends === undefined ? null : <p className="quiet">The preview {ends}.</p>}
      <QrCode url={url} words="The address of the preview as a QR code" />
      {access === undefined ? null : <PreviewLinks token={token} access={access} />}
    </div>
  );
}
