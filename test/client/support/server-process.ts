/**
 * A server with agents: reads requests as JSON lines, each with a run's configuration and an action
 * on its sandbox, and responds to each with a line.
 */
import { createInterface } from 'node:readline';
import { connectFromConfig, PortholeError } from '../../../client/index.ts';

interface Request {
  readonly config: unknown;
  /** A tool and its input, or an action that a server must not be able to do. */
  readonly tool?: string;
  readonly input?: unknown;
  readonly attempt?: 'stop' | 'resume' | 'delete' | 'delegate' | 'rotateToken' | 'refresh';
}

const { PORTHOLE_URL: allowedUrl = '', SERVER_KEY: serverKey } = process.env;

async function answer({ config, tool, input, attempt }: Request): Promise<unknown> {
  try {
    const { sandbox, tools } = await connectFromConfig(config, { allowedUrl, serverKey, org: 'acme' });
    if (tool !== undefined) return await tools.find(({ name }) => name === tool)?.run(input);
    if (attempt === 'delegate') return void (await sandbox.delegate({ scopes: ['exec'] }));
    return attempt === undefined ? 'connected' : void (await sandbox[attempt]());
  } catch (error) {
    const { status, code } = error as PortholeError;
    return { refused: (error as Error).message, status, code };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify((await answer(JSON.parse(line) as Request)) ?? null)}\n`);
}
