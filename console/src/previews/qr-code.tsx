import { renderSVG } from 'uqr';
import { loopbackNote } from '../../../client/loopback-url.ts';

interface QrCodeProps {
  readonly url: string;
  /** What its address leads to, for screen readers. */
  readonly words: string;
}

/** An address for a phone. An address of this machine would lead the phone to itself. */
export function QrCode({ url, words }: QrCodeProps) {
  const onlyHere = loopbackNote(url);
  if (onlyHere !== undefined) return <p className="quiet">{onlyHere}</p>;
  const source = `data:image/svg+xml,${encodeURIComponent(renderSVG(url, { border: 2 }))}`;
  return (
    <>
      <p className="quiet">Scan it with a phone.</p>
      <img className="qr" src={source} alt={words} width={220} height={220} />
    </>
  );
}
