import { useEffect, useState } from 'react';
import { formatSize } from '../live/format-time.ts';

/** What stands in the page at a time, in characters: browsers take seconds to lay out a megabyte of one line. */
const MOST_SHOWN = 50_000;

export interface BoundedTextProps {
  readonly label: string;
  readonly text: string;
  /** What a file of it is called. */
  readonly file: string;
}

/** A text that may be megabytes: its beginning, and all of it as a file. */
export function BoundedText({ label, text, file }: BoundedTextProps) {
  const isCut = text.length > MOST_SHOWN;
  return (
    <>
      {/* It may scroll: then a keyboard must reach it. */}
      <pre tabIndex={0} role="region" aria-label={label}>
        {isCut ? text.slice(0, MOST_SHOWN) : text}
      </pre>
      {isCut ? (
        <p className="hint">
          The first {MOST_SHOWN.toLocaleString('en')} characters. <WholeText text={text} file={file} />
        </p>
      ) : null}
    </>
  );
}

function WholeText({ text, file }: Omit<BoundedTextProps, 'label'>) {
  const [made, setMade] = useState<{ readonly address: string; readonly size: number }>();
  useEffect(() => {
    const blob = new Blob([text], { type: 'text/plain' });
    const address = URL.createObjectURL(blob);
    setMade({ address, size: blob.size });
    return () => URL.revokeObjectURL(address);
  }, [text]);
  if (made === undefined) return null;
  return (
    <a href={made.address} download={file}>
      Download all of it ({formatSize(made.size)})
    </a>
  );
}
