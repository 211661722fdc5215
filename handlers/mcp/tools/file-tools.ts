import { Readable } from 'node:stream';
import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { editText } from '#core/files/edit-text.ts';
import { searchWorkspace } from '#core/files/guest-files.ts';
import { listWorkspaceFiles } from '#core/files/list-workspace-files.ts';
import { changeWorkspaceFile } from '#core/files/workspace-files.ts';
import { belowWorkspace, resolveWorkspacePath } from '#base/workspace-path.ts';
import { plainText } from '#base/plain-text.ts';
import { DEFAULT_SKIP } from '../../files/folder-routes.ts';
import { defineTool, fitting } from '../mcp-tool.ts';
import { linkToWhole, MAX_FILE_BYTES, readFileBytes, utf8 } from '../run-resources.ts';
import { filePath, runId, sandboxOf } from './run-sandbox-tool.ts';

/** Maximum bytes of a response: about 8,000 tokens. Base64 makes 4 characters of 3 bytes. */
const MAX_READ_BYTES = { 'utf-8': 30_000, base64: 22_500 } as const;
/** Maximum characters of its JSON, which escapes control characters. */
const MAX_READ_JSON_CHARS = 31_500;

export const readFileTool = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description: `Read a file of the sandbox, ${MAX_READ_BYTES['utf-8']} bytes at a time: \`next_offset\` says where the next part begins. What is not UTF-8 text comes as base64.`,
  input: z.strictObject({
    run_id: runId,
    path: filePath,
    offset: z.number().int().min(0).max(MAX_FILE_BYTES).default(0).describe('The first byte to read'),
  }),
  output: z.object({
    content: z.string(),
    encoding: z.enum(['utf-8', 'base64']),
    size: z.number().int().describe('Of the whole file, in bytes'),
    next_offset: z.number().int().nullable().describe('Null at the end of the file'),
  }),
  annotations: { readOnlyHint: true },
  async run({ run_id, path, offset }, context) {
    const { id } = await sandboxOf(context, run_id);
    const bytes = await readFileBytes(context, id, path);
    let part = partOf(bytes, offset, MAX_READ_BYTES['utf-8']);
    while (JSON.stringify(utf8(part) ?? '').length > MAX_READ_JSON_CHARS) {
      part = partOf(bytes, offset, Math.floor(part.length * 0.75));
    }
    const end = offset + part.length;
    const text = utf8(part);
    const data = {
      content: text ?? part.toString('base64'),
      encoding: text === undefined ? ('base64' as const) : ('utf-8' as const),
      size: bytes.length,
      next_offset: end < bytes.length ? end : null,
    };
    const more = data.next_offset === null ? '' : `\n[${bytes.length - end} more bytes from offset ${end}]`;
    const isPart = offset > 0 || data.next_offset !== null;
    const whole = isPart
      ? await linkToWhole(context, run_id, 'files', belowWorkspace(resolveWorkspacePath(path, 'path')))
      : undefined;
    return { data, text: `${data.content}${more}`, whole };
  },
});

/** Ends at a UTF-8 character boundary, if it is text. */
function partOf(bytes: Buffer, offset: number, most: number): Buffer {
  const part = bytes.subarray(offset, offset + most);
  for (let end = part.length; end > part.length - 4 && end > 0; end -= 1) {
    if (utf8(part.subarray(0, end)) !== undefined) return part.subarray(0, end);
    if (offset + part.length >= bytes.length) break;
  }
  return part.subarray(0, MAX_READ_BYTES.base64);
}

export const writeFileTool = defineTool({
  name: 'write_file',
  title: 'Write a file',
  description:
    'Write a file in the sandbox, whole; one that is there is replaced, and missing folders are made. For more than 1 MiB use PUT /v1/sandbox/{id}/file/{path}.',
  input: z.strictObject({
    run_id: runId,
    path: filePath,
    content: z.string(),
    encoding: z.enum(['utf-8', 'base64']).default('utf-8').describe('How `content` is written'),
  }),
  output: z.object({ path: z.string(), size: z.number().int().describe('In bytes') }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  async run({ run_id, path, content, encoding }, context) {
    const { id } = await sandboxOf(context, run_id);
    const bytes = encoding === 'base64' ? fromBase64(content) : Buffer.from(content);
    const { caller, services, signal } = context;
    await changeWorkspaceFile(services, { caller, sandboxId: id, path }, Readable.from([bytes]), signal);
    return { data: { path, size: bytes.length }, text: `Wrote ${bytes.length} bytes to ${path}.` };
  },
});

function fromBase64(content: string): Buffer {
  const compact = content.replace(/\s+/g, '');
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact)) {
    return Buffer.from(compact, 'base64');
  }
  throw new PortholeError('invalid_request', 'content: must be base64, as encoding says.', {
    remedy: 'Send text with encoding utf-8.',
  });
}

export const editFileTool = defineTool({
  name: 'edit_file',
  title: 'Edit a file',
  description:
    'Replace a text in a file of the sandbox. `old_text` must be in the file exactly once, with its white space, unless `replace_all` is set.',
  input: z.strictObject({
    run_id: runId,
    path: filePath,
    old_text: z.string().min(1),
    new_text: z.string(),
    replace_all: z.boolean().default(false),
  }),
  output: z.object({ path: z.string(), replacements: z.number().int() }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  async run({ run_id, path, old_text, new_text, replace_all }, context) {
    const { caller, services, signal } = context;
    const { id } = await sandboxOf(context, run_id);
    const text = utf8(await readFileBytes(context, id, path));
    if (text === undefined) {
      throw new PortholeError('invalid_request', `path: ${path} is not UTF-8 text`, {
        remedy: 'use write_file.',
      });
    }
    const { text: edited, found } = editText(text, old_text, new_text);
    if (found === 0 || (found > 1 && !replace_all)) {
      throw new PortholeError(
        'invalid_request',
        found === 0
          ? `old_text: ${path} does not contain it. Read the file, and copy the text with its white space.`
          : `old_text: ${path} contains it ${found} times. Add lines around it, or set replace_all.`,
      );
    }
    const content = Readable.from([Buffer.from(edited)]);
    await changeWorkspaceFile(services, { caller, sandboxId: id, path }, content, signal);
    const times = found === 1 ? 'one place' : `${found} places`;
    return { data: { path, replacements: found }, text: `Changed ${times} in ${path}.` };
  },
});

/** Entries, and characters of their JSON. */
const MAX_ENTRIES = 400;
const MAX_LISTED_JSON_CHARS = 31_000;
/** Names that models know. */
const KINDS = { file: 'file', directory: 'folder', symlink: 'link', other: 'other' } as const;

export const listFilesTool = defineTool({
  name: 'list_files',
  title: 'List a folder',
  description: 'List what is in a folder of the sandbox: names, kinds, sizes of files; not of its folders.',
  input: z.strictObject({
    run_id: runId,
    path: filePath.default('/workspace').describe('A folder within /workspace, which is the default'),
  }),
  output: z.object({
    entries: z.array(
      z.object({
        name: z.string(),
        kind: z.enum(['file', 'folder', 'link', 'other']),
        size: z.number().int().nullable().describe('In bytes, of a file'),
      }),
    ),
    is_cut: z.boolean().describe('There are more'),
  }),
  annotations: { readOnlyHint: true },
  async run({ run_id, path }, context) {
    const { id } = await sandboxOf(context, run_id);
    const { entries, isCut } = await listWorkspaceFiles(
      context.services,
      id,
      path,
      { depth: 1, most: MAX_ENTRIES },
      context.signal,
    );
    const all = entries.map(({ name, type, size }) => ({ name, kind: KINDS[type], size }));
    const listed = fitting(all, MAX_LISTED_JSON_CHARS);
    const hasMore = isCut || listed.length < all.length;
    const lines = listed.map(({ name, kind, size }) => {
      const shown = plainText(name, 255);
      if (kind === 'folder') return `${shown}/`;
      return size === null ? `${shown} (${kind})` : `${shown} (${size} bytes)`;
    });
    if (hasMore) lines.push('… and more');
    return {
      data: { entries: listed, is_cut: hasMore },
      text: lines.length === 0 ? 'The folder is empty.' : lines.join('\n'),
    };
  },
});

/** Matches of an answer, characters of their JSON, and of each line. */
const MAX_MATCHES = 200;
const MAX_MATCHED_JSON_CHARS = 24_000;
const MAX_LINE_CHARS = 400;

export const searchFilesTool = defineTool({
  name: 'search_files',
  title: 'Search files',
  description:
    'Find files below a folder by name (`glob`), or lines in them by a regular expression (`pattern`), or both. Leaves out node_modules, .git, .venv and __pycache__, and files over 1 MiB.',
  input: z.strictObject({
    run_id: runId,
    path: filePath.default('/workspace').describe('A folder within /workspace, which is the default'),
    glob: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('Relative to path: *.ts in any folder, src/*.ts, src/**/*.ts'),
    pattern: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('A regular expression of JavaScript, for one line. Absent: names of files'),
    ignore_case: z.boolean().default(false),
  }),
  output: z.object({
    matches: z.array(
      z.object({
        path: z.string().describe('Relative to the folder'),
        line: z.number().int().nullable().describe('Its number, from 1; null without pattern'),
        text: z.string().nullable(),
      }),
    ),
    is_cut: z.boolean().describe('There are more: narrow the search'),
  }),
  annotations: { readOnlyHint: true },
  async run({ run_id, path, glob, pattern, ignore_case }, context) {
    const { services, signal } = context;
    const folder = resolveWorkspacePath(path, 'path');
    const { id } = await sandboxOf(context, run_id);
    const query = {
      pattern,
      glob: glob === undefined || glob.includes('/') ? glob : `**/${glob}`,
      ignore_case: String(ignore_case),
    };
    const asked = { folder, query, skipped: DEFAULT_SKIP.split(','), most: MAX_MATCHES };
    const found = await searchWorkspace(services.sandboxes, id, asked, signal);
    const all = found.matches.map((match) => ({
      path: plainText(match.path.slice(folder.length + 1), 255),
      ...(match.line === 0
        ? { line: null, text: null }
        : { line: match.line, text: plainText(match.text, MAX_LINE_CHARS) }),
    }));
    const matches = fitting(all, MAX_MATCHED_JSON_CHARS);
    const isCut = found.isCut || matches.length < all.length;
    const shown = matches.map(({ path: name, line, text }) =>
      line === null ? name : `${name}:${line}: ${text}`,
    );
    if (isCut) shown.push('… and more');
    return {
      data: { matches, is_cut: isCut },
      text: shown.length === 0 ? 'Nothing matches.' : shown.join('\n'),
    };
  },
});
