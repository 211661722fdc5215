import { renderSVG } from 'uqr';

interface QrCodeProps {
  readonly url: string;
  /** What its address leads to, for screen readers. */
  readonly words: string;
}

/** An address for a phone. An address of this machine would lead the phone to itself. */
export function QrCode({ url, words }: QrCodeProps) {
  if (isOfThisMachine(url)) {
    return <p className="quiet">Only this machine can open the address.</p>;
  }
  const source = `data:image/svg+xml,${encodeURIComponent(renderSVG(url, { border: 2 }))}`;
  return (
    <>
      <p className="quiet">Scan it with a phone.</p>
      <img className="qr" src={source} alt={words} width={220} height={220} />
    </>
  );
}

function isOfThisMachine(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '127.0.0.1' || hostname.endsWith('.localhost');
}
