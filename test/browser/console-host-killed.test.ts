import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { makeRun, type MadeRun, startPreview } from '#test/host/support/runs.ts';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { call, type Call } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { decide, ensureConsoleBuilt, paste, signInAs } from './support/console-fixture.ts';

const LOST = 'Can’t reach Porthole';
const MINUTE = 60_000;

suite('the console while the host is killed and started again', chromiumMissing, () => {
  let dataDir: string;
  let browser: Browser;
  let page: Page;
  let host: HostProcess;
  let run: MadeRun;
  let errors: string[];
  const porthole = {
    call: (method: string, path: string, options?: Call) => call(host.port, method, path, options),
  };

  beforeAll(async () => {
    ensureConsoleBuilt();
    dataDir = await mkdtemp(join(tmpdir(), 'porthole-killed-'));
    [host, browser] = await Promise.all([startHostProcess({ dataDir }), launchHeadlessShell()]);
    run = await makeRun(porthole, undefined, { title: 'Interrupted' });
    await porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/file/workspace/a.txt`, { body: 'one\n' });
    page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.on('pageerror', (error) => errors.push(error.message));
  }, 2 * MINUTE);
  afterEach(() => page?.unrouteAll({ behavior: 'ignoreErrors' }));
  afterAll(async () => {
    await browser?.close();
    if (host?.child.exitCode !== null || host.child.signalCode !== null) await restart();
    await porthole.call('DELETE', `/v1/sandbox/${run.sandboxId}`);
    await host?.end();
    await rm(dataDir, { recursive: true, force: true });
  }, 2 * MINUTE);

  async function restart(): Promise<void> {
    host = await startHostProcess({ dataDir, environment: { PORT: String(host.port) } });
  }

  /**
   * Kills the host when the page sends this request: before the host has it, or after it was
   * handled and before its answer arrives.
   */
  async function killAt(pattern: RegExp, method: string, isHandled: boolean): Promise<void> {
    let isDone = false;
    await page.route(pattern, async (route) => {
      if (isDone || route.request().method() !== method) return route.fallback();
      isDone = true;
      if (isHandled) await route.fetch();
      await host.end('SIGKILL');
      await route.abort('connectionreset');
    });
  }

  interface Action {
    readonly pane?: string;
    readonly method: string;
    readonly request: RegExp;
    /** The action was handled, but its answer is lost. */
    readonly isHandled?: boolean;
    readonly prepare?: () => Promise<unknown>;
    readonly act: () => Promise<unknown>;
    /** The same action, as it is offered after its failure. @default the button "Try again" */
    readonly again?: () => Promise<unknown>;
    /** Waits for its result. */
    readonly result: () => Promise<unknown>;
  }

  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const tryAgain = () => button('Try again').click();
  const dialog = () => page.getByRole('dialog');
  const text = (path: string) => page.getByRole('textbox', { name: `Text of /workspace/${path}` });
  const file = async (path: string) => {
    const answer = await porthole.call('GET', `/v1/sandbox/${run.sandboxId}/file/workspace/${path}`);
    return answer.status === 200 ? answer.text : answer.status;
  };

  const ACTIONS: Readonly<Record<string, Action>> = {
    'starts a preview': {
      pane: 'preview',
      method: 'POST',
      request: /sandbox\/port-forward$/,
      act: async () => {
        await page.getByRole('textbox', { name: 'Another port' }).fill('3456');
        await button('Start').click();
      },
      result: () => page.getByRole('article', { name: 'Preview of port 3456' }).waitFor(),
    },
    'stops a preview': {
      pane: 'preview',
      method: 'DELETE',
      request: /sandbox\/port-forward\/[^/]+$/,
      isHandled: true,
      prepare: () => startPreview(porthole, run.runId, 3456),
      act: () => button('Stop the preview of port 3456').click(),
      again: () => Promise.resolve(),
      result: () =>
        page.getByRole('article', { name: 'Preview of port 3456' }).waitFor({ state: 'detached' }),
    },
    'saves a file': {
      pane: 'files&file=/workspace/a.txt',
      method: 'PUT',
      request: /workspace\/a\.txt$/,
      act: async () => {
        await paste(text('a.txt'), 'two\n');
        await button('Save').click();
      },
      result: async () => {
        await page.getByText('Saved.').waitFor();
        expect(await file('a.txt')).toBe('two\n');
      },
    },
    'uploads a file': {
      pane: 'files',
      method: 'POST',
      request: /\/files\?/,
      act: async () => {
        const choosing = page.waitForEvent('filechooser');
        await page.getByRole('button', { name: 'Upload files' }).click();
        const file = { name: 'up.txt', mimeType: 'text/plain', buffer: Buffer.from('up') };
        await (await choosing).setFiles(file);
      },
      result: async () => {
        await page.getByText('up.txt is there.').waitFor();
        expect(await file('up.txt')).toBe('up');
      },
    },
    'renames a file': {
      pane: 'files',
      method: 'POST',
      request: /\/move$/,
      act: async () => {
        await button('Actions for a.txt').click();
        await page.getByRole('menuitem', { name: 'Rename…' }).click();
        await dialog().getByRole('textbox', { name: 'Name' }).fill('b.txt');
        await dialog().getByRole('button', { name: 'Rename it' }).click();
        await dialog().getByText('That failed. Try again.').waitFor();
      },
      again: () => dialog().getByRole('button', { name: 'Rename it' }).click(),
      result: async () => {
        await page.getByRole('link', { name: 'b.txt', exact: true }).waitFor();
        expect([await file('a.txt'), await file('b.txt')]).toEqual([404, 'two\n']);
      },
    },
    'opens the search before its tree of files is loaded': {
      pane: 'files',
      method: 'GET',
      request: /\/assets\/file-tree-/,
      act: async () => {
        await button('Search').click();
        await page.getByRole('textbox', { name: 'Text to search for' }).fill('two');
      },
      again: () => page.keyboard.press('Enter'),
      result: async () => {
        await page.getByText('1 lines in 1 file').waitFor();
        await page.getByRole('treegrid').getByText('b.txt').waitFor();
      },
    },
    'searches in the files': {
      pane: 'files',
      method: 'GET',
      request: /\/search\?/,
      act: async () => {
        await button('Search').click();
        await page.getByRole('textbox', { name: 'Text to search for' }).fill('two');
        await page.keyboard.press('Enter');
      },
      result: () => page.getByText('1 lines in 1 file').waitFor(),
    },
    'shares the run': {
      pane: 'preview',
      prepare: () => signInAs(page, 'alice'),
      method: 'PATCH',
      request: /\/api\/runs\/[^/]+$/,
      isHandled: true,
      act: async () => {
        await button('Share run').click();
        await dialog()
          .getByRole('button', { name: /People of your organisation/ })
          .click();
        await page.getByRole('option', { name: 'View' }).click();
        await dialog().getByRole('button', { name: 'Save' }).click();
        await dialog().getByText('That failed. Try again.').waitFor();
      },
      again: () => dialog().getByRole('button', { name: 'Save' }).click(),
      result: () => page.getByText('Your organisation can view it').waitFor(),
    },
    'replies to a comment': {
      pane: 'inbox',
      method: 'POST',
      request: /\/replies$/,
      prepare: () =>
        porthole.call('POST', `/api/runs/${run.runId}/inbox`, { body: { text: 'Make it blue' } }),
      act: async () => {
        await page.getByRole('textbox', { name: 'Reply' }).fill('Or green');
        await button('Reply').click();
        await page.getByRole('alert').getByText('That failed. Try again.').waitFor();
      },
      again: () => button('Reply').click(),
      result: () => page.locator('.message.reply, .message').getByText('Or green').waitFor(),
    },
    'approves a request': {
      pane: 'preview',
      method: 'POST',
      request: /\/tool-approvals$/,
      prepare: async () => ask(),
      act: async () => {
        await decide(card(), 'Approve once');
      },
      again: async () => {
        // The agent asks again, as its connection broke.
        ask();
        await decide(card(), 'Approve once');
      },
      result: () => page.getByRole('article', { name: 'Preview of port 3457' }).waitFor(),
    },
    'completes the run': {
      pane: 'preview',
      method: 'POST',
      request: /\/complete$/,
      act: async () => {
        await button('Complete').click();
        await dialog().getByRole('button', { name: 'Complete it' }).click();
        await dialog().getByText('That failed. Try again.').waitFor();
      },
      again: () => dialog().getByRole('button', { name: 'Complete it' }).click(),
      result: () => page.locator('.page-head .state').getByText('completed').waitFor(),
    },
  };
  const card = () => page.getByRole('article', { name: 'Open a preview of port 3457?' });
  /** Waits for a decision until the host is killed. */
  function ask(): void {
    void porthole
      .call('POST', `/api/runs/${run.runId}/sandbox/preview`, {
        token: run.agentToken,
        body: { target_port: 3457 },
      })
      .catch(() => undefined);
  }

  test.each(Object.keys(ACTIONS))(
    '%s: says so once, offers it again, and shows nothing stale afterwards',
    async (name) => {
      const {
        pane,
        method,
        request,
        isHandled = false,
        prepare,
        act,
        again = tryAgain,
        result,
      } = ACTIONS[name] as Action;
      errors = [];
      await prepare?.();
      await page.goto(`http://127.0.0.1:${host.port}/runs/${run.runId}?pane=${pane}`);
      await page.locator('.page-head [role=status]').getByText('running').waitFor();
      await killAt(request, method, isHandled);
      await act();
      await page.getByText(LOST).waitFor();
      expect(await page.getByText(LOST).count()).toBe(1);
      await restart();
      await page.getByText(LOST).waitFor({ state: 'detached' });
      await again();
      await result();
      await page
        .locator('.page-head [role=status]')
        .getByText(/^(running|completed)$/)
        .waitFor();
      expect(await page.getByRole('alert').allTextContents()).toEqual([]);
      expect(errors).toEqual([]);
    },
    3 * MINUTE,
  );

  test(
    'connects a terminal again, which takes commands',
    async () => {
      const other = await makeRun(porthole, undefined, { title: 'A terminal' });
      await page.goto(`http://127.0.0.1:${host.port}/runs/${other.runId}?pane=terminal`);
      await page.getByText('Connected').waitFor();
      await host.end('SIGKILL');
      await page.getByText('Reconnecting…').first().waitFor();
      await page.getByText(LOST).waitFor();
      expect(await page.getByText(LOST).count()).toBe(1);
      await restart();
      await page.getByText('Connected').waitFor();
      await page.getByRole('textbox', { name: 'Terminal input' }).focus();
      await page.keyboard.type('echo is-"there"-again\n');
      await page.locator('.xterm-rows').getByText('is-there-again').first().waitFor();
      await page.getByText(LOST).waitFor({ state: 'detached' });
      await porthole.call('DELETE', `/v1/sandbox/${other.sandboxId}`);
    },
    3 * MINUTE,
  );
});
