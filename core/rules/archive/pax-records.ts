import { archiveError } from './archive-error.ts';

/** What changes nothing that matters here: times, owners, comments, and what archivers keep for themselves. Sparse files come as `GNU.sparse.*` or `SCHILY.realsize`, and are not taken. */
const HARMLESS =
  /^(?:[acm]time|[ug]id|[ug]name|comment|charset|SCHILY\.(?:dev|ino|nlink|fflags|xattr\..+|acl\..+)|LIBARCHIVE\..+)$/;

export interface PaxRecords {
  readonly path?: string;
  readonly linkpath?: string;
  readonly size?: number;
}

/**
 * The records of a pax header that say where an entry goes; values are bytes, as Latin-1.
 * @throws PortholeError `invalid_request` for records that are none, come twice or may mean anything
 */
export function readPaxRecords(bytes: Buffer): PaxRecords {
  const records: { path?: string; linkpath?: string; size?: number } = {};
  for (let at = 0; at < bytes.length; ) {
    const length = /^([1-9]\d{0,7}) /.exec(bytes.toString('latin1', at, at + 9))?.[1];
    const end = at + Number(length ?? 0);
    const record = bytes.toString('latin1', at + (length ?? '').length + 1, end);
    const equals = record.indexOf('=');
    if (length === undefined || end > bytes.length || equals < 1 || !record.endsWith('\n')) {
      throw archiveError('an extended header cannot be read');
    }
    const key = record.slice(0, equals);
    const value = record.slice(equals + 1, -1);
    at = end;
    if (key === 'path' || key === 'linkpath') {
      if (records[key] !== undefined) throw archiveError(`an extended header has two of ${key}`);
      if (value === '' || value.includes('\0'))
        throw archiveError(`an extended header has a ${key} that is none`);
      records[key] = value;
    } else if (key === 'size') {
      if (records.size !== undefined || !/^\d{1,15}$/.test(value)) {
        throw archiveError('an extended header has a size that is none');
      }
      records.size = Number(value);
    } else if (!HARMLESS.test(key)) {
      throw archiveError(`an extended header has ${JSON.stringify(key.slice(0, 60))}, which is not taken`);
    }
  }
  return records;
}
