import { isDeepStrictEqual } from 'node:util';
import { PortholeError } from '#base/errors.ts';
import type { ServerInfo } from '#protocol/guest/servers-protocol.ts';
import { type FileDeps, readWorkspaceFile } from '../files/workspace-files.ts';
import { Guest } from '../processes/guest.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { type FileChange, fileChanges, type Manifest } from './manifest.ts';
import { blocksOf, PackWriter } from './pack-writer.ts';
import { readTree } from './read-tree.ts';
import { SERVERS_FILE } from './restore-checkpoint.ts';
import { areOfOneFamily, type CheckpointDeps, knownOf } from './take-checkpoint.ts';

/** A declared server in two sandboxes; null where it is not declared. */
export interface ServerDifference {
  readonly name: string;
  readonly one: ServerInfo | null;
  readonly other: ServerInfo | null;
}

export interface SandboxComparison {
  /** From `one` to `other`. */
  readonly changes: readonly FileChange[];
  /** Declared otherwise, or in another state. */
  readonly servers: readonly ServerDifference[];
}

/**
 * What differs between two running sandboxes that came from one. Stores nothing: both read what has
 * changed since their last checkpoints.
 * @throws PortholeError `invalid_request` for sandboxes of two families, and what `readTree` throws
 */
export async function compareSandboxes(
  deps: CheckpointDeps,
  one: SandboxRecord,
  other: SandboxRecord,
  signal?: AbortSignal,
): Promise<SandboxComparison> {
  await checkRelated(deps, one, other);
  const sandboxes = [one, other];
  const manifests = await Promise.all(sandboxes.map((each) => presentOf(deps, each, signal)));
  const servers = await Promise.all(sandboxes.map((each) => serversOf(deps, each, signal)));
  const [from, to] = manifests as [Manifest, Manifest];
  const [before, after] = servers as [Servers, Servers];
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return {
    // The files of declarations differ as their servers do.
    changes: fileChanges(from, to, { times: false }).filter(({ path }) => path !== SERVERS_FILE),
    servers: names
      .map((name) => ({ name, one: before.get(name) ?? null, other: after.get(name) ?? null }))
      .filter((each) => !isDeepStrictEqual(shownOf(each.one), shownOf(each.other))),
  };
}

async function checkRelated(
  { records }: CheckpointDeps,
  one: SandboxRecord,
  other: SandboxRecord,
): Promise<void> {
  if (one.id === other.id || (await areOfOneFamily(records.checkpoints, one, other))) return;
  throw new PortholeError('invalid_request', `with: sandbox ${other.id} does not come from ${one.id}`, {
    remedy: 'compare a sandbox with its forks, or two of its forks.',
  });
}

/** The manifest of the present, of which nothing is stored. */
async function presentOf(
  deps: CheckpointDeps,
  sandbox: SandboxRecord,
  signal: AbortSignal | undefined,
): Promise<Manifest> {
  const { made } = await knownOf(deps, sandbox);
  const writer = new PackWriter({
    id: '',
    known: blocksOf(made),
    put: async (content) => {
      for await (const _ of content);
    },
    grows: () => undefined,
  });
  try {
    const { manifest } = await readTree(deps.sandboxes, sandbox.id, made, writer, signal);
    await writer.end();
    return manifest;
  } catch (error) {
    await writer.abort(error as Error);
    throw error;
  }
}

type Servers = ReadonlyMap<string, ServerInfo>;

async function serversOf(
  { sandboxes }: CheckpointDeps,
  { id }: SandboxRecord,
  signal: AbortSignal | undefined,
): Promise<Servers> {
  const servers = await new Guest(sandboxes, id).servers(signal);
  return new Map(servers.map((server) => [server.name, server]));
}

function shownOf(server: ServerInfo | null) {
  return server && [server.argv, server.cwd, server.port, server.restart, server.state];
}

/** Bytes of a text that is compared. */
const MAX_TEXT = 131_072;

/** The text of a file; null with the reason where it has no text. */
export interface FileText {
  readonly text: string | null;
  readonly missing: 'no_file' | 'too_large' | 'not_text' | null;
}

export async function fileText(
  deps: FileDeps,
  { id }: SandboxRecord,
  path: string,
  signal?: AbortSignal,
): Promise<FileText> {
  try {
    const { content, size } = await readWorkspaceFile(deps, id, path, signal);
    if (size > MAX_TEXT) {
      content.destroy();
      return { text: null, missing: 'too_large' };
    }
    const text = decoded(Buffer.concat(await content.toArray()));
    return text === undefined ? { text: null, missing: 'not_text' } : { text, missing: null };
  } catch (error) {
    if (error instanceof PortholeError && error.code === 'workspace_read_not_found')
      return { text: null, missing: 'no_file' };
    throw error;
  }
}

/** Undefined for what is no text: it has a NUL character or invalid UTF-8. */
function decoded(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
