import { readFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import { UsageError } from './command.ts';

type Variables = Readonly<Record<string, string>>;

const NAME = /^[A-Za-z_]\w{0,254}$/;

/**
 * Repeated `NAME=VALUE` options. `NAME` alone has the value of this shell: a secret is then in no
 * command line. Messages contain no values.
 * @throws UsageError
 */
export function readVariables(
  texts: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Variables {
  return Object.fromEntries(
    texts.map((text) => {
      const [name = ''] = text.split('=', 1);
      if (!NAME.test(name))
        throw new UsageError(
          `--env must be NAME or NAME=VALUE, got the name ${JSON.stringify(name.slice(0, 40))}.`,
        );
      const value = text === name ? environment[name] : text.slice(name.length + 1);
      if (value !== undefined) return [name, value] as const;
      throw new UsageError(`--env ${name}: there is no such variable here. Give it a value: --env ${name}=…`);
    }),
  );
}

/**
 * The variables of `--env-from`, in the format of Node and Docker. The last file that has one wins.
 * It is not `--env-file`: Node reads an option of that name anywhere in a command line, and sets
 * this process's variables, `NODE_OPTIONS` and `PORTHOLE_URL` included.
 * @throws UsageError
 */
export async function readEnvFiles(paths: readonly string[]): Promise<Variables> {
  const files = await Promise.all(
    paths.map(async (path) => {
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        throw new UsageError(`--env-from ${path} cannot be read (${error.code}).`);
      });
      const variables = parseEnv(text);
      // Without the name: the parser may add lines before it, which may contain a secret.
      if (!Object.keys(variables).every((name) => NAME.test(name)))
        throw new UsageError(`--env-from ${path} has a line that is not NAME=VALUE.`);
      return variables as Variables;
    }),
  );
  return Object.assign({}, ...files) as Variables;
}
