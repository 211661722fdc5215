import { resolve } from 'node:path';
import { ExecAuth } from '@kubernetes/client-node/dist/exec_auth.js';
import { z } from 'zod';
import { unlessAborted } from '#base/concurrency.ts';
import type { ClusterAccess } from './cluster-access.ts';

/** The `exec` of a user in a kubeconfig: a plugin of EKS, GKE or AKS that prints a credential. */
const Plugin = z.object({
  apiVersion: z.string(),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  installHint: z.string().nullish(),
  interactiveMode: z.string().nullish(),
});

/** Timeout of a plugin, which may call its cloud. Its prompts get no answer. */
const MAX_PLUGIN_MS = 60_000;

/**
 * Credentials by an exec plugin (KEP-541). The plugin runs again when its credential expires, and
 * after a token was rejected. A client certificate is read once.
 * @param folder of the kubeconfig, which relative commands refer to
 * @throws Error that names the plugin and the problem; never what the plugin printed as credential
 */
export async function execCredentials(
  user: { readonly name: string; readonly exec: unknown },
  folder: string,
  longestMs = MAX_PLUGIN_MS,
): Promise<Pick<ClusterAccess, 'cert' | 'key' | 'token'>> {
  const { success, data: plugin, error } = Plugin.safeParse(user.exec);
  if (!success) throw new Error(`User "${user.name}" has an invalid plugin: ${z.prettifyError(error)}`);
  const { apiVersion, installHint } = plugin;
  const named = `The plugin ${plugin.command} of user "${user.name}"`;
  if (plugin.interactiveMode === 'Always') {
    throw new Error(
      `${named} asks questions, which a server cannot answer: set interactiveMode to IfAvailable or Never.`,
    );
  }
  const command = plugin.command.includes('/') ? resolve(folder, plugin.command) : plugin.command;
  const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
  const exec = {
    command,
    args: plugin.args ?? [],
    env: [...(plugin.env ?? []), { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }],
  };

  const run = async (auth: ExecAuth): Promise<Credential> => {
    const found: { headers?: { Authorization?: string }; cert?: string; key?: string } = {};
    const late = AbortSignal.timeout(longestMs);
    const applied = auth.applyAuthentication({ name: user.name, exec }, found);
    await unlessAborted(applied, late).catch((error: unknown) => {
      const problem = late.aborted ? new Error(`it did not end within ${longestMs / 1_000} s`) : error;
      const hint = installHint == null ? '' : ` ${installHint}`;
      throw new Error(`${named} failed: ${problemOf(problem)}.${hint}`, { cause: withoutOutput(problem) });
    });
    const { headers, cert, key } = found;
    const token = headers?.Authorization?.replace(/^Bearer /, '');
    if (token === undefined && (cert === undefined || key === undefined)) {
      throw new Error(`${named} printed neither a token nor a client certificate with its key.`);
    }
    return { token, cert, key };
  };

  // Caches a credential until it expires; a new one forgets it.
  let auth = new ExecAuth();
  let running: Promise<Credential> | undefined;
  const current = (): Promise<Credential> =>
    (running ??= run(auth).finally(() => {
      running = undefined;
    }));
  const { token, cert, key } = await current();
  if (token === undefined) return { cert, key };
  return {
    cert,
    key,
    async token(refresh) {
      if (refresh) auth = new ExecAuth();
      const next = await current();
      if (next.token === undefined) throw new Error(`${named} printed no token, as it did before.`);
      return next.token;
    },
  };
}

interface Credential {
  readonly token: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** Errors of parsing contain what was parsed, which may be a credential. */
function isAboutOutput(failure: unknown): boolean {
  return failure instanceof SyntaxError || failure instanceof TypeError;
}

function problemOf(failure: unknown): string {
  if (isAboutOutput(failure)) return 'it printed no ExecCredential';
  const { code, message } = failure as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'it is not installed';
  return message.trim().replace(/\.$/, '').slice(0, 500) || 'it printed no reason';
}

function withoutOutput(failure: unknown): unknown {
  return isAboutOutput(failure) ? undefined : failure;
}
