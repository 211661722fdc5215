import { afterAll, beforeAll } from '@jest/globals';
import { createServer, connect as connectTo, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import type { Locator, Page } from 'playwright-core';
import { watch, type Watched } from '../support/console-fixture.ts';
import type { ConsoleSuite } from '../support/console-suite.ts';

/** A connection to the host that can be cut. */
async function startCuttable(port: () => number): Promise<{ server: Server; url: string; cut: () => void }> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = connectTo(port(), '127.0.0.1');
    for (const each of [socket, onward]) {
      open.add(each);
      each.on('error', () => undefined);
      each.on('close', () => {
        open.delete(each);
        socket.destroy();
        onward.destroy();
      });
    }
    socket.pipe(onward).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => open.forEach((socket) => socket.destroy()),
  };
}

/** A page of the console over a connection that can be cut, and a sandbox named bench. */
export interface SandboxPage {
  way: Awaited<ReturnType<typeof startCuttable>>;
  page: Page;
  watched: Watched;
  id: string;
  /** Runs a command in the workspace. */
  run(...argv: readonly string[]): Promise<{ stdout: string; exit_code: number }>;
  /** The text of a file of the workspace. */
  file(name: string): Promise<string>;
  screen(): Locator;
  line(text: string): Locator;
  /** Commands with a marker in their output that is not in the typed text. */
  type(command: string): Promise<void>;
}

export function sandboxPage(here: ConsoleSuite): SandboxPage {
  const own = {
    async run(...argv) {
      const answer = await here.porthole.call('POST', `/v1/sandbox/${own.id}/exec`, {
        body: { argv, cwd: '/workspace' },
        headers: { accept: 'application/json' },
      });
      return answer.json<{ stdout: string; exit_code: number }>();
    },
    async file(name) {
      const path = `/v1/sandbox/${own.id}/file/workspace/${encodeURIComponent(name)}`;
      return (await here.porthole.call('GET', path)).text;
    },
    screen: () => own.page.locator('.xterm-rows'),
    line: (text) => own.screen().getByText(text, { exact: true }).first(),
    async type(command) {
      await own.page.locator('.screen').click();
      await own.page.keyboard.type(`${command}\n`);
    },
  } as SandboxPage;
  beforeAll(async () => {
    own.way = await startCuttable(() => here.porthole.host.port);
    const made = await here.porthole.call('POST', '/v1/sandbox', { body: { name: 'bench' } });
    own.id = made.json<{ id: string }>().id;
    own.page = await here.context.newPage();
    own.page.setDefaultTimeout(10_000);
    own.watched = watch(own.page);
  });
  afterAll(() => {
    own.way?.server.close();
    own.way?.cut();
  });
  return own;
}
