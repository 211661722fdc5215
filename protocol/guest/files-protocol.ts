/**
 * Files: `/v1/files`, `/v1/stat`, `/v1/list`, `/v1/search`, `/v1/mkdir`, `/v1/move`, `/v1/watch`,
 * `/v1/watches`, `/v1/upload`, `/v1/tar`; in `/tmp` by the same paths below `/v1/tmp`.
 */
import * as z from 'zod/mini';

/**
 * Request header: JSON array of the absolute paths that a caller may access. Absent: all of
 * /workspace.
 */
export const PATHS_HEADER = 'porthole-paths';
/** Trailer of `GET /v1/tar`: how many files and folders were left out as unreadable. */
export const UNREADABLE_TRAILER = 'porthole-unreadable';

/** Error codes of file operations, in terms of the caller. */
export const FILE_REFUSALS = [
  'invalid_request',
  'path_outside_workspace',
  'workspace_read_not_found',
  'forbidden',
  'file_exists',
  'exec_transport_error',
  'workspace_archive_read_error',
  'workspace_archive_write_error',
  'service_unavailable',
  'disk_full',
] as const;

const path = z.string().check(z.minLength(1), z.maxLength(16_384));

/** `GET /v1/stat`, and each line of `GET /v1/list` but the last. Links are not followed. */
/** Of all metadata of a file, names with their prefix. */
export const MAX_METADATA_BYTES = 4_096;

/** Printable ASCII, as E2B has it. */
export const fileMetadata = z.record(
  z.string().check(z.regex(/^[\x21-\x7e]{1,246}$/)),
  z.string().check(z.regex(/^[\x20-\x7e]*$/), z.maxLength(MAX_METADATA_BYTES)),
);
export type FileMetadata = z.infer<typeof fileMetadata>;

export const fileStat = z.object({
  /** Absolute, below /workspace; invalid UTF-8 becomes U+FFFD. */
  path,
  type: z.enum(['file', 'directory', 'symlink', 'other']),
  /** In bytes. */
  size: z.number().check(z.gte(0)),
  /** Seconds since the Unix epoch. */
  mtime: z.number(),
  /** Permissions, and the set-user-id, set-group-id and sticky bits. */
  mode: z.int().check(z.gte(0), z.lte(0o7777)),
  /** Where a symbolic link leads, as it is written there. */
  target: z.optional(z.string().check(z.maxLength(16_384))),
  /** Only if it was asked for with `metadata=true`, and there is any. */
  metadata: z.optional(fileMetadata),
});
export type FileStat = z.infer<typeof fileStat>;

/** The last line of `GET /v1/list` and `/v1/search`: without it the list is not complete. */
export const listEnd = z.object({ truncated: z.boolean() });

/** Entries per list. */
export const MAX_LISTED = 10_000;

/** Characters of a line with a match. */
export const MAX_MATCH_TEXT_CHARS = 400;

/** Matches per answer of `GET /v1/search`. */
export const MAX_MATCHES = 1_000;

const searched = z.optional(z.string().check(z.minLength(1), z.maxLength(1_000)));

/** `GET /v1/search`: for a text, for a regular expression, or, with neither, for files. */
export const searchQuery = z.object({
  /** In upper or lower case. */
  text: searched,
  /** A regular expression of JavaScript, for one line. */
  pattern: searched,
  ignore_case: z._default(z.stringbool(), false),
  /** Compared with the path below the folder. */
  glob: searched,
});
export type SearchQuery = z.input<typeof searchQuery>;

/** Each line of `GET /v1/search` but the last: a line of a file, or a file. */
export const textMatch = z.object({
  path,
  /** From 1; 0 for a file. */
  line: z.int().check(z.gte(0)),
  /** Of a long line, the part with the first match. */
  text: z.string().check(z.maxLength(MAX_MATCH_TEXT_CHARS)),
});
export type TextMatch = z.infer<typeof textMatch>;

/** `POST /v1/mkdir` */
export const mkdirRequest = z.object({ path });

/** `POST /v1/move` */
export const moveRequest = z.object({
  from: path,
  to: path,
  /** Whether an existing file at `to` is replaced. @default false */
  overwrite: z.optional(z.boolean()),
});

/** `PUT /v1/tar`: symbolic links that lead out of the workspace. */
export const unpacked = z.object({
  outside_links: z.object({
    total: z.int().check(z.gte(0)),
    /** The first of them. */
    links: z.array(z.object({ path: z.string(), target: z.string() })).check(z.maxLength(1_000)),
  }),
});
export type Unpacked = z.infer<typeof unpacked>;

/** Names in one answer of `PUT /v1/skills`. */
export const MAX_CHANGED = 10_000;

/** `PUT /v1/skills`: files below `skills` that were kept, because the user has changed them. */
export const placedSkills = z.object({ changed: z.array(path).check(z.maxLength(MAX_CHANGED)) });

/** `POST /v1/upload`: frames of a type byte, a length (uint32, big endian) and that many bytes. */
export const UPLOAD = {
  /** A path, relative to the folder, in UTF-8: a file begins. */
  file: 1,
  /** Bytes of the current file. */
  contents: 2,
  /** All files are complete. Without it nothing is written. */
  end: 3,
} as const;

/** Bytes of contents per frame. */
export const MAX_UPLOAD_FRAME = 1_048_576;

/** Bytes of a path. */
export const MAX_UPLOAD_PATH = 16_384;

/** Changes in one answer of `POST /v1/watches/{id}/take`. */
export const MAX_HELD_CHANGES = 65_536;

/** Data of an event of `GET /v1/watch`. */
export const watchEvent = z.object({
  /**
   * `limited`: some subfolders are not watched; `overflow`: changes were lost, list the folder
   * again.
   */
  type: z.enum(['ready', 'changed', 'deleted', 'limited', 'overflow']),
  path,
  /** Of the changed entry. */
  stat: z.optional(fileStat),
});
export type WatchEvent = z.infer<typeof watchEvent>;

/** `POST /v1/watches`: a watch that is asked for its changes. */
export const watchesRequest = z.object({ path, recursive: z.optional(z.boolean()) });
export const heldWatch = z.object({ id: z.string().check(z.minLength(1), z.maxLength(64)) });

const heldChange = z.extend(watchEvent, {
  /** Whether the path was not there before. */
  is_new: z.boolean(),
});
export type HeldChange = z.infer<typeof heldChange>;

/** `POST /v1/watches/{id}/take`: what has changed since the last call, each path once. */
export const heldChanges = z.object({
  folder: path,
  /** False: changes were lost, or some subfolders are not watched. */
  complete: z.boolean(),
  events: z.array(heldChange).check(z.maxLength(MAX_HELD_CHANGES)),
});
export type HeldChanges = z.infer<typeof heldChanges>;
