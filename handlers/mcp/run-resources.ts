/** What the results of tools leave out, as resources of the run. */
import { isUtf8 } from 'node:buffer';
import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type ResourceLink,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server';
import { readOutput } from '#core/runs/event-details.ts';
import { PortholeError } from '#base/errors.ts';
import { readWorkspaceFile } from '#core/files/workspace-files.ts';
import { readAtMost } from '#base/reads.ts';
import type { ToolContext } from './mcp-tool.ts';
import { runOf, sandboxOf } from './tools/run-sandbox-tool.ts';

/** Maximum size of a file in bytes: commands read larger ones. */
export const MAX_FILE_BYTES = 1024 * 1024;

const PREFIX = 'porthole://runs/';
const KEPT = 'all of 48 KiB; of more the first 16 KiB and the last 32 KiB';

export const RUN_RESOURCES: ResourceTemplateType[] = [
  {
    uriTemplate: `${PREFIX}{run_id}/files/{+path}`,
    name: 'file',
    title: 'File of a sandbox',
    description: 'A file below /workspace, of at most 1 MiB',
  },
  {
    uriTemplate: `${PREFIX}{run_id}/commands/{id}`,
    name: 'command',
    title: 'Output of a command',
    description: `What a command of run_command printed: ${KEPT}. Kept for the latest commands, until the sandbox stops`,
  },
  {
    uriTemplate: `${PREFIX}{run_id}/processes/{process_id}`,
    name: 'process',
    title: 'Output of a process',
    description: `What a process printed: ${KEPT}`,
  },
];

/** Characters of a URI: each byte of a path of 4,096 may be three. */
const URI = /^porthole:\/\/runs\/([\w-]{1,200})\/(files|commands|processes)\/(.{1,13000})$/;

/** A link to all of what a result shows in part. @param id a path below /workspace for a file */
export async function linkToWhole(
  context: ToolContext,
  runId: string | undefined,
  kind: 'files' | 'commands' | 'processes',
  id: string,
): Promise<ResourceLink> {
  const run = await runOf(context, runId);
  const uri = `${PREFIX}${run.id}/${kind}/${id.split('/').map(encodeURIComponent).join('/')}`;
  const name = kind === 'files' ? id : 'output';
  return { type: 'resource_link', uri, name, description: 'All of it, where the result shows a part' };
}

export function isRunResource(uri: string): boolean {
  return uri.startsWith(PREFIX);
}

/**
 * @throws ProtocolError for a URI that names nothing; PortholeError like `readOutput` and the tools
 */
export async function readRunResource(context: ToolContext, uri: string): Promise<ReadResourceResult> {
  const [, runId = '', kind, name = ''] = URI.exec(uri) ?? [];
  const id = decoded(name);
  if (kind === undefined || id === undefined) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      'The URI names no resource: resources/templates/list has their forms.',
    );
  }
  if (kind === 'files') {
    const sandbox = await sandboxOf(context, runId);
    const bytes = await readFileBytes(context, sandbox.id, id);
    const text = utf8(bytes);
    const content =
      text === undefined
        ? { uri, mimeType: 'application/octet-stream', blob: bytes.toString('base64') }
        : { uri, mimeType: 'text/plain', text };
    return { contents: [content] };
  }
  const run = await runOf(context, runId);
  const source = kind === 'commands' ? { detailId: id } : { processId: id };
  const deps = { ...context.services, redact: context.redact };
  const { first, last, omitted_bytes } = await readOutput(deps, { ...context, run }, source);
  const gap = omitted_bytes === 0 ? '' : `\n… ${omitted_bytes} bytes left out …\n`;
  return { contents: [{ uri, mimeType: 'text/plain', text: `${first}${gap}${last}` }] };
}

/**
 * The bytes of a file of a sandbox.
 * @throws PortholeError `payload_too_large`, and like `readWorkspaceFile`
 */
export async function readFileBytes(
  { services, signal }: ToolContext,
  sandboxId: string,
  path: string,
): Promise<Buffer> {
  const { content: file } = await readWorkspaceFile(services, sandboxId, path, signal);
  const bytes = await readAtMost(file, MAX_FILE_BYTES);
  if (bytes !== undefined) return bytes;
  throw new PortholeError('payload_too_large', `${path} is larger than ${MAX_FILE_BYTES} bytes`, {
    remedy: 'use run_command (head, tail, sed).',
  });
}

export function utf8(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString() : undefined;
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
