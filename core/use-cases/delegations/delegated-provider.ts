import { PATHS_HEADER } from '#guest/protocol/files.ts';
import type { Caller } from '../../callers.ts';
import type { SandboxProvider } from '../../ports/sandbox-provider.ts';
import { checkPath } from '../../rules/grant.ts';
import { resolveWorkspacePath } from '../../rules/workspace-path.ts';
import { changedProvider } from '../changed-provider.ts';
import { DELEGATED_PATHS } from '../workspace-script.ts';

/**
 * The provider for what a caller does with a path of the workspace. For whom certain paths were lent the path is judged as it is written, and the scripts that go there are told: where symbolic links
 * lead they judge, at the moment of use.
 * @throws PortholeError `forbidden`, and what `resolveWorkspacePath` throws
 */
export function delegatedProvider(provider: SandboxProvider, caller: Caller, path: string): SandboxProvider {
  const paths = caller.kind === 'delegate' ? caller.grant.paths : null;
  if (paths === null) return provider;
  checkPath(paths, resolveWorkspacePath(path, 'path'));
  return changedProvider(provider, {
    callGuest: (id, call, signal) =>
      provider.callGuest(
        id,
        { ...call, headers: { ...call.headers, [PATHS_HEADER]: headerOf(paths) } },
        signal,
      ),
    exec: (id, command, signal) =>
      provider.exec(id, { ...command, env: { ...command.env, [DELEGATED_PATHS]: paths.join('\n') } }, signal),
  });
}

/** JSON in UTF-8: headers take bytes, but DEL (RFC 9110 §5.5). */
function headerOf(paths: readonly string[]): string {
  const json = JSON.stringify(paths).replaceAll('\x7f', '\\u007f');
  return Buffer.from(json).toString('latin1');
}
