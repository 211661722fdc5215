import { useEffect, useState } from 'react';
import { formatSize } from '../live/format-time.ts';

export interface PictureProps {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** One of `pictureType`: none that runs anything. */
  readonly type: string;
  readonly name: string;
}

export function Picture({ bytes, type, name }: PictureProps) {
  const [address, setAddress] = useState<string>();
  const [size, setSize] = useState('');
  const [isBroken, setIsBroken] = useState(false);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  return (
    <figure className="picture">
      {isBroken ? (
        <p className="reason">It says that it is a picture, and cannot be shown as one.</p>
      ) : (
        <img
          src={address}
          alt={name}
          onError={() => setIsBroken(true)}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
            setSize(`${naturalWidth} × ${naturalHeight}, `)
          }
        />
      )}
      <figcaption className="quiet">
        {type}, {size}
        {formatSize(bytes.length)}
      </figcaption>
    </figure>
  );
}
