/**
 * A host in a separate process, to be run as another user and to be killed: `node host-driver.ts
 * <dataDir> <isolation> <runsc>`. Takes calls as JSON lines on stdin, `{n, method, args}`, and
 * answers `{n, value}` or `{n, failed}` with the error's code and message.
 */
import { createServer } from 'node:http';
import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import type { IsolationKind } from '#adapters/local/isolation.ts';
import type { ExecCommand } from '#core/sandboxes/sandbox-provider.ts';
import { survivesHostileTrees } from '#test/contracts/hostile-trees.ts';
import { withGuests } from '#test/support/with-guests.ts';

const [dataDir = '', isolation, runsc] = process.argv.slice(2);
const provider = withGuests(
  createLocalProvider({
    dataDir,
    isolation: isolation as IsolationKind,
    runsc,
  }),
  1000,
);

let channelRequests = 0;
await provider.serveChannels({
  calls: (id) =>
    createServer((request, response) => {
      channelRequests += 1;
      // `/wait` gets no answer: the connection stays open.
      if (request.url !== '/wait') response.end(`${process.pid} ${id}\n`);
    }),
});

const text = async (stream: AsyncIterable<unknown>): Promise<string> => {
  let all = '';
  for await (const chunk of stream) all += String(chunk);
  return all;
};

const methods = {
  create: (id: string, network: boolean) => provider.create({ id, network }),
  stop: (id: string) => provider.stop(id),
  resume: (id: string) => provider.resume(id),
  destroy: (id: string) => provider.destroy(id),
  inspect: (id: string) => provider.inspect(id),
  channelPath: async (id: string) => provider.channelPath(id),
  channelRequests: async () => channelRequests,
  async list() {
    const ids: string[] = [];
    for await (const id of provider.list()) ids.push(id);
    return ids;
  },
  async run(id: string, argv: ExecCommand['argv']) {
    const command = await provider.exec(id, { argv });
    const [stdout, stderr, exit] = await Promise.all([
      text(command.stdout),
      text(command.stderr),
      command.exited,
    ]);
    return { stdout, stderr, exit };
  },
  survivesHostileTrees: (ids: readonly string[]) =>
    survivesHostileTrees(provider, ids, isolation === 'gvisor' ? ['FIFO'] : []),
  async talk(id: string, port: number, word: string) {
    const stream = await provider.dial(id, port);
    stream.write(word);
    let heard = '';
    for await (const chunk of stream) {
      heard += String(chunk);
      if (heard.endsWith(word)) break;
    }
    return heard;
  },
} as const;

createInterface({ input: process.stdin }).on('line', (line) => {
  const { n, method, args } = JSON.parse(line) as { n: number; method: keyof typeof methods; args: never[] };
  const call = methods[method] as (...args: never[]) => Promise<unknown>;
  call(...args).then(
    (value) => process.stdout.write(`${JSON.stringify({ n, value })}\n`),
    (error: unknown) => {
      const { code, message } = error as { code?: string; message: string };
      process.stdout.write(
        `${JSON.stringify({ n, failed: code === undefined ? message : `${code}: ${message}` })}\n`,
      );
    },
  );
});
process.stdin.on('end', () => process.exit(0));
// A killed process writes no cache at its exit.
flushCompileCache();
process.stdout.write('{"n":-1,"value":"up"}\n');
