/**
 * Metadata of files: extended attributes (xattr(7)) with the prefix that E2B gives them. Node has
 * no calls for them.
 */
import { ofLibrary } from '../../base/foreign-calls.ts';
import { type FileMetadata, MAX_METADATA_BYTES } from '../../protocol/guest/files-protocol.ts';
import { cString } from './at-calls.ts';
import { invalid } from './failures.ts';

const PREFIX = 'user.e2b.';
/** XATTR_LIST_MAX of linux/limits.h. */
const names = Buffer.alloc(65_536);
const value = Buffer.alloc(MAX_METADATA_BYTES);

const library = ofLibrary((libc) => ({
  fsetxattr: libc.func('fsetxattr', 'int', ['int', 'str', 'void *', 'size_t', 'int']),
  llistxattr: libc.func('llistxattr', 'int', ['str', 'void *', 'size_t']),
  lgetxattr: libc.func('lgetxattr', 'int', ['str', 'str', 'void *', 'size_t']),
}));

/** Of an open file that has none. @throws PortholeError `invalid_request` where none is kept */
export function setMetadata(descriptor: number, metadata: FileMetadata): void {
  for (const [key, text] of Object.entries(metadata)) {
    const bytes = Buffer.from(text);
    if (library()?.fsetxattr(descriptor, `${PREFIX}${key}`, bytes, bytes.length, 0) === 0) continue;
    throw noMetadata();
  }
}

export function noMetadata() {
  return invalid('This disk does not keep metadata of files, or not as much: leave it out.');
}

/**
 * Of an entry, never of what a link leads to; undefined if it has none. What is too large, or no
 * text, is left out.
 */
export function metadataOf(folder: number, name: string): FileMetadata | undefined {
  const path = cString(`/proc/self/fd/${folder}/${name}`);
  const calls = library();
  const length = calls?.llistxattr(path, names, names.length) ?? -1;
  if (calls === undefined || length <= 0) return undefined;
  const found: [string, string][] = [];
  let left = MAX_METADATA_BYTES;
  for (const attribute of names.toString('latin1', 0, length).split('\0')) {
    if (!attribute.startsWith(PREFIX)) continue;
    const size = calls.lgetxattr(path, cString(attribute), value, left);
    left -= attribute.length + Math.max(size, 0);
    if (left < 0) break;
    const text = value.toString('latin1', 0, Math.max(size, 0));
    if (size >= 0 && TEXT.test(text)) found.push([attribute.slice(PREFIX.length), text]);
  }
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

const TEXT = /^[\x20-\x7e]*$/;
