/** One member of an archive. Owned by root, dated 1970: the same entries give the same bytes. */
export type TarEntry =
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly content: Uint8Array }
  | { readonly kind: 'folder'; readonly path: string; readonly mode: number }
  | { readonly kind: 'link'; readonly path: string; readonly target: string };

const BLOCK = 512;
const TYPE = { file: '0', link: '2', folder: '5' } as const;

/** A POSIX ustar archive. Paths and link targets are at most 100 bytes long. */
export function tar(entries: readonly TarEntry[]): Uint8Array {
  const blocks = entries.flatMap((entry) => {
    const content = entry.kind === 'file' ? entry.content : new Uint8Array();
    return [header(entry, content.length), content, new Uint8Array(-content.length & (BLOCK - 1))];
  });
  return Buffer.concat([...blocks, new Uint8Array(2 * BLOCK)]);
}

function header(entry: TarEntry, size: number): Uint8Array {
  const target = entry.kind === 'link' ? entry.target : '';
  for (const text of [entry.path, target]) {
    if (Buffer.byteLength(text) > 100) throw new RangeError(`longer than 100 bytes: ${text}`);
  }
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, width: number): void => {
    block.write(`${value.toString(8).padStart(width - 1, '0')}\0`, offset);
  };
  block.write(entry.path, 0);
  octal(entry.kind === 'link' ? 0o777 : entry.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write(TYPE[entry.kind], 156);
  block.write(target, 157);
  block.write('ustar\x0000', 257);
  // The sum is taken with its own field full of spaces.
  block.fill(' ', 148, 156);
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
}
