import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, connect as connectTo, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ensureConsoleBuilt, violations, watch, type Watched } from './support/console-fixture.ts';

/** Sandboxes see the programs of the machine. */
const VIM = ['vim', 'vim.tiny'].find((name) =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, name))),
);
const missing =
  chromiumMissing ?? (VIM === undefined ? 'vim is not installed: apt-get install vim-tiny' : undefined);

/** A sandbox in the API's format. */
const SANDBOX = {
  state: 'stopped',
  desired_state: 'stopped',
  owner: 'local',
  image: null,
  session_key: null,
  tags: {},
  resources: { cpu: 1, memory_mb: 1_024, disk_mb: 1_024 },
  skills: [],
  network: false,
  created_at: '2026-01-01T00:00:00.000Z',
  last_active_at: '2026-01-01T00:00:00.000Z',
  stopped_at: null,
  ttl_seconds: null,
  delete_with_thread: false,
  expires_at: null,
};

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

suite('sandboxes in the console, in a real browser', missing, () => {
  let porthole: TestHost;
  let way: Awaited<ReturnType<typeof startCuttable>>;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let watched: Watched;
  let id: string;

  const run = async (...argv: readonly string[]) => {
    const answer = await porthole.call('POST', `/v1/sandbox/${id}/exec`, {
      body: { argv, cwd: '/workspace' },
      headers: { accept: 'application/json' },
    });
    return answer.json<{ stdout: string; exit_code: number }>();
  };
  const file = async (name: string) =>
    (await porthole.call('GET', `/v1/sandbox/${id}/file/workspace/${encodeURIComponent(name)}`)).text;
  const screen = () => page.locator('.xterm-rows');
  const line = (text: string) => screen().getByText(text, { exact: true }).first();
  /** Commands with a marker in their output that is not in the typed text. */
  const type = async (command: string) => {
    await page.locator('.screen').click();
    await page.keyboard.type(`${command}\n`);
  };
  const openTerminal = async (query = '') => {
    await page.goto(`${way.url}/sandboxes/${id}${query}`);
    await page.getByText('Connected').waitFor();
  };

  beforeAll(async () => {
    ensureConsoleBuilt();
    [porthole, browser] = await Promise.all([startTestHost(), launchHeadlessShell()]);
    way = await startCuttable(() => porthole.host.port);
    const made = await porthole.call('POST', '/v1/sandbox', { body: { name: 'bench' } });
    ({ id } = made.json<{ id: string }>());
    context = await browser.newContext({ viewport: { width: 1100, height: 760 } });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    page = await context.newPage();
    page.setDefaultTimeout(10_000);
    watched = watch(page);
  });
  afterAll(async () => {
    await browser?.close();
    way?.server.close();
    way?.cut();
    await porthole?.end();
  });

  describe('a terminal', () => {
    beforeAll(() => openTerminal());

    test('runs vim, which is as it was after a reload, and writes its file', async () => {
      await type(`${VIM} letter.txt`);
      await screen().getByText('~').first().waitFor();
      await page.keyboard.type('iDear reader, größe 漢字');
      await line('Dear reader, größe 漢字').waitFor();
      await page.reload();
      await page.getByText('Connected').waitFor();
      await line('Dear reader, größe 漢字').waitFor();
      expect(await screen().getByText('~').count()).toBeGreaterThan(5);
      await page.locator('.screen').click();
      await page.keyboard.type(' again');
      await page.keyboard.press('Escape');
      await page.keyboard.type(':wq\n');
      await screen().getByText('~').first().waitFor({ state: 'detached' });
      await expect(file('letter.txt')).resolves.toBe('Dear reader, größe 漢字 again\n');
    });

    test('is as large in the sandbox as in the window', async () => {
      const size = async (mark: string) => {
        await type(`stty size > ${mark}; echo ${mark}-is-"there"`);
        await line(`${mark}-is-there`).waitFor();
        return (await file(mark)).trim().split(' ').map(Number);
      };
      const [rows = 0, columns = 0] = await size('wide');
      await page.setViewportSize({ width: 800, height: 520 });
      const [fewerRows = 0, fewerColumns = 0] = await size('narrow');
      await page.setViewportSize({ width: 1100, height: 760 });
      expect([fewerRows < rows, fewerColumns < columns, fewerColumns > 40]).toEqual([true, true, true]);
    });

    test('comes back with what it showed once its connection is there again', async () => {
      await type('clear; echo before-the-"cut"');
      await line('before-the-cut').waitFor();
      way.cut();
      await page.getByText('Reconnecting…').waitFor();
      await page.getByText('Connected').waitFor();
      await line('before-the-cut').waitFor();
      await type('echo after-the-"cut"');
      await line('after-the-cut').waitFor();
    });

    test('says what may stand between when no connection gets through, though all else does', async () => {
      const blocked = await context.newPage();
      // A server that responds to an upgrade with an HTML page.
      await blocked.addInitScript(`WebSocket = class extends WebSocket {
        constructor(address) {
          super(String(address).replace('/pty?', '/no-such-thing?'));
        }
      }`);
      await blocked.goto(page.url());
      await blocked.getByText('WebSockets are blocked').waitFor();
      await blocked.close();
    });

    test('hands Ctrl-C and Ctrl-D to the program, and says when the shell has ended', async () => {
      await type('echo sleeps-"now"; sleep 100; echo no"t"');
      // Before that the shell itself would read the key.
      await line('sleeps-now').waitFor();
      await page.keyboard.press('Control+c');
      await type('echo inter"rupted"');
      await line('interrupted').waitFor();
      await page.keyboard.press('Control+d');
      await page.getByText('The shell has ended with 0').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Start a new shell' }).click();
      await page.getByText('Connected').waitFor();
      await type('echo a-new-"one"');
      await line('a-new-one').waitFor();
    });

    test('copies what is selected and pastes it', async () => {
      await type('clear; echo copied-"words"');
      await line('copied-words').dblclick({ force: true });
      await page.keyboard.press('Control+Shift+c');
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe('copied-words');
      await type('echo rea"dy"; cat > pasted.txt');
      await line('ready').waitFor();
      await page.evaluate(`navigator.clipboard.writeText('from the clip\\u001b[201~board: ß 漢')`);
      await page.keyboard.press('Shift+Insert');
      await screen().getByText('from the clip[201~board: ß 漢').waitFor();
      await page.keyboard.press('Enter');
      await page.keyboard.press('Control+d');
      await type('echo pas"ted"');
      await line('pasted').waitFor();
      await expect(file('pasted.txt')).resolves.toBe('from the clip[201~board: ß 漢\n');
    });

    test('can be left with the keyboard alone', async () => {
      await page.locator('.screen').click();
      await page.keyboard.press('Control+Shift+x');
      const focused = page.locator(':focus');
      expect(await focused.textContent()).toContain('Ctrl+Shift+X leaves the terminal');
      await page.keyboard.press('Shift+Tab');
      await page.keyboard.press('Shift+Tab');
      expect(await focused.textContent()).not.toContain('Ctrl+Shift+X');
    });

    test('is laid out for a screen reader where that is asked for', async () => {
      expect(await page.locator('.xterm-accessibility').count()).toBe(0);
      const mode = page.getByRole('button', { name: 'Screen reader mode' });
      await mode.click();
      await page.locator('.xterm-accessibility').waitFor({ state: 'attached' });
      expect(await violations(page)).toEqual([]);
      await mode.click();
      await page.locator('.xterm-accessibility').waitFor({ state: 'detached' });
    });

    test('is one of several, which can be closed', async () => {
      await type('clear; echo the-"first"');
      await line('the-first').waitFor();
      await page.getByRole('button', { name: 'New terminal' }).click();
      await page.getByText('Connected').waitFor();
      await type('echo the-"second"');
      await line('the-second').waitFor();
      expect(await line('the-first').count()).toBe(0);
      await page.reload();
      await line('the-second').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Close terminal 2' }).click();
      await line('the-first').waitFor();
      expect(new URL(page.url()).search).toBe('');
    });

    test('lets a hostile program neither write to the clipboard, nor name the page, nor type', async () => {
      await page.evaluate(`navigator.clipboard.writeText('mine')`);
      const titled = await page.title();
      const hostile = [
        '\\033]52;c;ZXZpbA==\\a',
        '\\033]0;Evil\\a',
        '\\033]2;Evil\\a',
        '\\033[21t\\033[20t',
        '\\033P$qtouch evil\\n\\033\\\\',
        '\\033P+q544e\\033\\\\',
        '\\033]50;?\\a',
      ].join('');
      await type(`printf '${hostile}'; clear; echo still-"here"`);
      await line('still-here').waitFor();
      await type('echo and-"now"');
      await line('and-now').waitFor();
      expect({
        clipboard: await page.evaluate('navigator.clipboard.readText()'),
        title: await page.title(),
        made: (await run('ls', 'evil')).exit_code === 0,
        shows: (await screen().textContent())?.includes('Evil'),
      }).toEqual({ clipboard: 'mine', title: titled, made: false, shows: false });
    });

    test('does not answer again, on a reload, what a program asked before it', async () => {
      await type(
        `clear; printf '\\033[6n\\033[c'; sleep 0.2; read -rn 30 -t 0.2 answer; clear; echo as"ked"`,
      );
      await line('asked').waitFor();
      await page.reload();
      await line('asked').waitFor();
      await type('echo prompt-is-"clean"');
      await line('prompt-is-clean').waitFor();
      expect(await screen().textContent()).not.toMatch(/\dR|\dc/);
    });

    test('opens a link of the sandbox only after a person has read where it leads', async () => {
      await type(
        `clear; printf '\\033]8;;https://example.com/not-the-bank\\033\\\\your-bank\\033]8;;\\033\\\\\\n'`,
      );
      await line('your-bank').click({ force: true });
      const dialog = page.getByRole('dialog', { name: 'Open this link?' });
      await dialog.getByText('https://example.com/not-the-bank').waitFor();
      const open = dialog.getByRole('link', { name: 'Open in a new tab' });
      expect([await open.getAttribute('rel'), await open.getAttribute('target')]).toEqual([
        'noopener noreferrer',
        '_blank',
      ]);
      expect(await violations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      expect(context.pages()).toHaveLength(1);
      await type(
        `clear; printf '\\033]8;;javascript:document.title=1\\033\\\\trap\\033]8;;\\033\\\\\\n'; echo shown`,
      );
      await line('trap').click({ force: true });
      expect(await dialog.count()).toBe(0);
    });

    test('holds up a program that prints 10 MB, and stays at hand meanwhile', async () => {
      const begun = page.waitForEvent('websocket');
      await page.reload();
      const socket = await begun;
      await page.getByText('Connected').waitFor();
      const says = (type: string) =>
        socket.waitForEvent('framesent', {
          predicate: ({ payload }) => payload === JSON.stringify({ type }),
          timeout: 100_000,
        });
      await type(`head -c 10000000 /dev/zero | tr '\\0' 7 | fold -w 100 > lines; clear; echo ma"de"`);
      await line('made').waitFor();
      await page.keyboard.type('clear; cat lines; rm lines; echo; echo all-of-"it"');
      // A page slower than any program until it has paused this one; typing would be equally slow.
      const debug = await context.newCDPSession(page);
      await debug.send('Emulation.setCPUThrottlingRate', { rate: 4 });
      const [paused, resumed] = [says('pause'), says('resume')];
      await page.keyboard.press('Enter');
      // Data meanwhile accumulates in the sockets, and then arrives at once: on a busy machine the
      // program alone would be no faster than the page.
      await page.evaluate('for (const until = performance.now() + 2_000; performance.now() < until; );');
      await paused;
      await debug.send('Emulation.setCPUThrottlingRate', { rate: 1 });
      await resumed;
      await page.getByRole('button', { name: 'Screen reader mode' }).click();
      await page.getByRole('button', { name: 'Screen reader mode', pressed: true }).click();
      await line('all-of-it').waitFor({ timeout: 100_000 });
    }, 180_000);

    test('gives each character the columns that programs think it has', async () => {
      await type(
        `clear; printf '🙂漢e\\u0301\\033[6n'; read -rsdR place; printf '%s' "\${place#*;}" > place; echo "wid"ths`,
      );
      await screen().getByText('widths').waitFor();
      await expect(file('place')).resolves.toBe('6');
    });

    test('has the keys that a phone lacks', async () => {
      const pocket = await browser.newContext({
        viewport: { width: 390, height: 844 },
        colorScheme: 'dark',
        hasTouch: true,
        isMobile: true,
      });
      const phone = await pocket.newPage();
      await phone.goto(`${way.url}/sandboxes/${id}?terminals=1.7&terminal=7`);
      await phone.getByText('Connected').waitFor();
      expect(await violations(phone)).toEqual([]);
      await phone.locator('.screen').tap();
      await phone.keyboard.type('echo be"gun"; sleep 100\n');
      await phone.locator('.xterm-rows').getByText('begun', { exact: true }).waitFor();
      await phone.getByRole('button', { name: 'Ctrl' }).tap();
      await phone.getByRole('button', { name: 'Ctrl', pressed: true }).waitFor();
      await phone.locator('.screen').tap();
      await phone.keyboard.type('c');
      await phone.getByRole('button', { name: 'Ctrl', pressed: false }).waitFor();
      await phone.keyboard.type('echo interrup"ted"\n');
      await phone.locator('.xterm-rows').getByText('interrupted', { exact: true }).waitFor();
      await phone.getByRole('button', { name: 'Close terminal 7' }).tap();
      await phone.getByRole('button', { name: 'Terminal 7', exact: true }).waitFor({ state: 'detached' });
      await pocket.close();
    });

    test('comes back when Porthole does, and says that its shell is another one', async () => {
      const { dataDir } = porthole;
      await porthole.close();
      porthole = await startTestHost({}, { dataDir });
      await screen().getByText('The shell before this one has ended.').waitFor({ timeout: 30_000 });
      await page.getByText('Connected').waitFor();
      await type('echo after-the-"restart"');
      await line('after-the-restart').waitFor();
    });

    test('does not resume a sandbox that a user stopped', async () => {
      await porthole.call('POST', `/v1/sandbox/${id}/stop`);
      await page.getByText('The sandbox is stopped').first().waitFor();
      const state = await porthole.call('GET', `/v1/sandbox/${id}`);
      expect(state.json()).toMatchObject({ state: 'stopped', desired_state: 'stopped' });
      await page.getByRole('button', { name: 'Resume bench' }).click();
      await page.getByText('Connected').waitFor();
    });
  });

  describe('the files of a sandbox', () => {
    const entry = (name: string) => page.locator('.files-list').getByRole('link', { name, exact: true });
    const folder = (name: string) => entry(`${name} , folder`);
    const put = (name: string, body: string | Buffer) =>
      porthole.call('PUT', `/v1/sandbox/${id}/file/workspace/${name}`, { body });
    const openFiles = async (query = '') => {
      await page.goto(`${way.url}/sandboxes/${id}?pane=files${query}`);
      await page.locator('.files').waitFor();
    };
    const drop = async (files: Readonly<Record<string, string>>) => {
      // As a string: this program does not have the page's types.
      const dataTransfer = await page.evaluateHandle(`(() => {
        const transfer = new DataTransfer();
        for (const [name, text] of Object.entries(${JSON.stringify(files)})) transfer.items.add(new File([text], name));
        return transfer;
      })()`);
      await page.locator('.files').dispatchEvent('drop', { dataTransfer });
    };

    beforeAll(async () => {
      await run('sh', '-c', 'rm -rf ./* && mkdir -p src/deep many && cd many && seq 1 5000 | xargs touch');
      await put('src/deep/inner.txt', 'inner');
      await openFiles();
    });

    test('are gone through by folders and back, with a place of their own in the address', async () => {
      await folder('src').click();
      await folder('deep').click();
      await entry('inner.txt').waitFor();
      expect(new URL(page.url()).searchParams.get('path')).toBe('/workspace/src/deep');
      await page.reload();
      await entry('inner.txt').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('navigation', { name: 'Folder' }).getByRole('button', { name: 'src' }).click();
      await folder('deep').waitFor();
      await page.goBack();
      await entry('inner.txt').waitFor();
    });

    test('are shown by names that move and hide nothing', async () => {
      await put(encodeURIComponent('two\nlines %22 "quoted".txt'), 'odd');
      await put(encodeURIComponent('\u202egpj.exe'), 'odd');
      await put('.hidden', 'h');
      await put('7'.repeat(255), 'long');
      await openFiles();
      await entry('two⟨U+000A⟩lines %22 "quoted".txt').click();
      await page.getByRole('textbox', { name: 'Text of' }).getByText('odd').waitFor();
      await page.getByRole('button', { name: 'Close' }).click();
      await entry('⟨U+202E⟩gpj.exe').waitFor();
      await entry('7'.repeat(255)).waitFor();
      await page.getByRole('button', { name: 'Hidden files' }).click();
      await entry('.hidden').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Hidden files' }).click();
      await entry('.hidden').waitFor();
    });

    test('are quick to see and to find where there are thousands', async () => {
      await folder('many').click();
      await page.getByText('300 of 5,000 are shown.').waitFor();
      await page.getByLabel('Find in this folder').fill('4321');
      await entry('4321').waitFor();
      await page.getByText('1 entry.').waitFor();
      await page.getByLabel('Find in this folder').fill('');
      await page.getByRole('button', { name: 'Show more' }).click();
      await entry('600').waitFor();
    });

    test('are no documents of the console, whatever they say that they are', async () => {
      const active = '<svg xmlns="http://www.w3.org/2000/svg"><script>document.title="owned"</script></svg>';
      await put('picture.svg', active);
      await put('page.html', '<script>document.title="owned"</script>');
      for (const name of ['picture.svg', 'page.html']) {
        await openFiles(`&file=/workspace/${name}`);
        await page.getByRole('textbox', { name: `Text of /workspace/${name}` }).waitFor();
        expect(await page.locator('main :is(img, iframe, object, embed)').count()).toBe(0);
      }
      expect(await page.title()).not.toBe('owned');
    });

    test('are pictures, or neither text nor picture', async () => {
      const dot =
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
      await put('dot.png', Buffer.from(dot, 'base64'));
      await put('core.bin', Buffer.from([1, 0, 2, 255]));
      await openFiles('&file=/workspace/dot.png');
      await page.getByText('image/png, 1 × 1').waitFor();
      expect(await violations(page)).toEqual([]);
      await openFiles('&file=/workspace/core.bin');
      await page.getByText('This file is not text').waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe('core.bin');
    });

    test('keep the ends of their lines, and are not overwritten without a word', async () => {
      await put('dos.txt', 'one\r\ntwo\r\n');
      await openFiles('&file=/workspace/dos.txt');
      const text = page.getByRole('textbox', { name: 'Text of /workspace/dos.txt' });
      await text.click();
      await page.keyboard.press('Control+Home');
      await page.keyboard.type('zero ');
      await page.keyboard.press('Control+s');
      await page.getByText('Saved.').waitFor();
      await expect(file('dos.txt')).resolves.toBe('zero one\r\ntwo\r\n');
      await put('dos.txt', 'of an agent');
      await page.keyboard.type('and ');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The file changed in the meantime').waitFor();
      expect(await violations(page)).toEqual([]);
      await expect(file('dos.txt')).resolves.toBe('of an agent');
      await page.getByRole('button', { name: 'Overwrite it' }).click();
      await page.getByText('Saved.').waitFor();
      await expect(file('dos.txt')).resolves.toBe('zero and one\r\ntwo\r\n');
      await page.keyboard.press('Escape');
    });

    test('hold what was typed until it is saved or given up, on whatever page one is meanwhile', async () => {
      await put('draft.txt', 'one');
      await openFiles('&file=/workspace/draft.txt');
      const text = page.getByRole('textbox', { name: 'Text of /workspace/draft.txt' });
      await text.click();
      await page.keyboard.press('Control+Home');
      await page.keyboard.type('typed ');
      await page.getByRole('button', { name: 'Full screen: Files' }).click();
      await page.getByRole('link', { name: 'Tools' }).click();
      await page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
      await page.goBack();
      await text.getByText('typed one').waitFor();
      await page.getByRole('button', { name: 'Close', exact: true }).click();
      await page.getByRole('button', { name: 'Close without saving' }).click();
      await entry('draft.txt').click();
      await text.getByText('one', { exact: true }).waitFor();
      await expect(file('draft.txt')).resolves.toBe('one');
    });

    test('are made, renamed and deleted', async () => {
      await openFiles();
      await page.getByRole('button', { name: 'New folder' }).click();
      await page.getByLabel('Name', { exact: true }).fill('a/b');
      await page.getByRole('button', { name: 'Create it' }).click();
      await page.getByText('A name has no slash.').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByLabel('Name', { exact: true }).fill("it's -new");
      await page.getByRole('button', { name: 'Create it' }).click();
      await folder("it's -new").waitFor();
      await page.getByRole('button', { name: "Actions for it's -new" }).click();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByLabel('Name', { exact: true }).fill('src');
      await page.getByRole('button', { name: 'Rename it' }).click();
      await page.getByText('Something of that name is there already.').waitFor();
      await page.getByLabel('Name', { exact: true }).fill('-renamed');
      await page.keyboard.press('Enter');
      await folder('-renamed').waitFor();
      await page.getByRole('button', { name: 'Actions for -renamed' }).click();
      await page.getByRole('menuitem', { name: 'Delete…' }).click();
      await page.getByRole('button', { name: 'Delete it' }).click();
      await folder('-renamed').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'New file' }).click();
      await page.getByLabel('Name', { exact: true }).fill('fresh.txt');
      await page.keyboard.press('Enter');
      await page.getByRole('textbox', { name: 'Text of /workspace/fresh.txt' }).waitFor();
      await expect(file('fresh.txt')).resolves.toBe('');
    });

    test('come in by dropping them, and replace what is there only when that is said', async () => {
      await openFiles();
      await entry('fresh.txt').waitFor();
      await drop({ 'one.txt': 'one', 'per%22cent.txt': 'odd' });
      await page.getByText('2 files are there.').waitFor();
      await entry('one.txt').waitFor();
      await expect(file('per%22cent.txt')).resolves.toBe('odd');
      await drop({ 'one.txt': 'another' });
      await page.getByRole('dialog', { name: 'Replace one.txt?' }).waitFor();
      expect(await violations(page)).toEqual([]);
      await expect(file('one.txt')).resolves.toBe('one');
      await page.getByRole('button', { name: 'Replace' }).click();
      await page.getByText('one.txt is there.').waitFor();
      await expect(file('one.txt')).resolves.toBe('another');
    });

    test('come in with their folders, dropped or by a button', async () => {
      await openFiles();
      const local = await mkdtemp(join(tmpdir(), 'porthole-upload-'));
      await mkdir(join(local, 'tree/below'), { recursive: true });
      await writeFile(join(local, 'tree/below/leaf.txt'), 'leaf');
      await writeFile(join(local, 'tree/top.txt'), 'top');
      const [chooser] = await Promise.all([
        page.waitForEvent('filechooser'),
        page.getByRole('button', { name: 'Upload a folder' }).press('Enter'),
      ]);
      await chooser.setFiles(join(local, 'tree'));
      await page.getByText('2 files are there.').waitFor();
      expect((await run('cat', 'tree/below/leaf.txt', 'tree/top.txt')).stdout).toBe('leaftop');
      await run('rm', '-r', 'tree');
      await folder('tree').waitFor({ state: 'detached' });
      const session = await context.newCDPSession(page);
      const { x = 0, y = 0 } = (await page.locator('.files').boundingBox()) ?? {};
      const data = { items: [], files: [join(local, 'tree')], dragOperationsMask: 1 };
      for (const kind of ['dragEnter', 'dragOver', 'drop'] as const) {
        await session.send('Input.dispatchDragEvent', { type: kind, x: x + 20, y: y + 20, data });
      }
      await folder('tree').waitFor();
      await session.detach();
      await rm(local, { recursive: true });
      expect((await run('cat', 'tree/below/leaf.txt', 'tree/top.txt')).stdout).toBe('leaftop');
    });

    test('are refused with a message when they are too large, before anything is sent', async () => {
      const transfer = await page.evaluateHandle(`(() => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(33_554_433)], 'huge.iso'));
        return transfer;
      })()`);
      await page.locator('.files').dispatchEvent('drop', { dataTransfer: transfer });
      await page.getByText('huge.iso is too large: 32.0 MiB, and at most 32.0 MiB are taken').waitFor();
    });

    test('leave nothing when they are cancelled under way', async () => {
      const session = await context.newCDPSession(page);
      await session.send('Network.enable');
      await session.send('Network.emulateNetworkConditions', {
        offline: false,
        latency: 0,
        downloadThroughput: -1,
        uploadThroughput: 500_000,
      });
      const transfer = await page.evaluateHandle(`(() => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(20_000_000)], 'slow.bin'));
        return transfer;
      })()`);
      await page.locator('.files').dispatchEvent('drop', { dataTransfer: transfer });
      await page.getByRole('progressbar', { name: 'Uploading a file' }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Cancel the upload' }).click();
      await page.getByText('The upload was cancelled.').waitFor();
      await session.detach();
      expect((await run('ls', 'slow.bin')).exit_code).not.toBe(0);
    });

    test('go out as an archive', async () => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download as zip' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe('workspace.zip');
    });
  });

  describe('the list of sandboxes', () => {
    const row = (name: string) => page.locator('.list tr', { hasText: name });
    const dialog = () => page.getByRole('dialog', { name: 'New sandbox' });
    const create = () => dialog().getByRole('button', { name: 'Create it' }).click();

    test('makes one, tells what is wrong at its field, and where the name is taken', async () => {
      await page.goto(`${way.url}/sandboxes`);
      await page.getByRole('button', { name: 'New sandbox' }).click();
      await dialog()
        .getByText(/0\.1 or more; \d+ if left empty\./)
        .waitFor();
      await dialog().getByLabel('Name', { exact: true }).fill('no spaces');
      await dialog().getByText('More', { exact: true }).click();
      expect(await violations(page)).toEqual([]);
      await dialog().getByLabel('Environment').fill('NO_SIGN');
      await create();
      await dialog().getByText('A line is no NAME=value.').waitFor();
      await dialog().getByText('1 to 63 letters').waitFor();
      await dialog().getByLabel('Name', { exact: true }).fill('bench');
      await dialog().getByLabel('Environment').fill('GREETING=hello world');
      await dialog().getByLabel('Tags').fill('team:blue\nthread_id: 42');
      await dialog().getByLabel('CPU').fill('0.01');
      await create();
      await dialog().getByText('must be a number of CPUs from 0.1 to 1024').waitFor();
      expect(await violations(page)).toEqual([]);
      await dialog().getByLabel('CPU').fill('');
      await create();
      await dialog().getByText('Another one of yours has this name.').waitFor();
      expect(await dialog().getByRole('link', { name: 'Open that sandbox' }).getAttribute('href')).toBe(
        `/sandboxes/${id}`,
      );
      await dialog().getByLabel('Name', { exact: true }).fill('second');
      await create();
      await page.getByRole('heading', { name: 'second' }).waitFor();
      await page.getByText('Connected').waitFor();
      await type('echo "$GREETING" > /workspace/greeting; echo "do"ne');
      await line('done').waitFor();
      const other = new URL(page.url()).pathname.split('/').at(-1) ?? '';
      const said = await porthole.call('GET', `/v1/sandbox/${other}/file/workspace/greeting`);
      expect(said.text).toBe('hello world\n');
    });

    test('is filtered, and is as it was after a reload', async () => {
      await page.goto(`${way.url}/sandboxes`);
      await row('second').waitFor();
      await page.getByLabel('Tag', { exact: true }).fill('nonsense');
      await page.getByText('A tag is key:value.').waitFor();
      await page.getByLabel('Tag', { exact: true }).fill('team:blue');
      await row('bench').waitFor({ state: 'detached' });
      await row('second').waitFor();
      await page.reload();
      await row('second').waitFor();
      expect(await row('bench').count()).toBe(0);
      await page.getByRole('searchbox', { name: 'Find' }).fill('BENCH');
      await page.getByText('No sandbox matches').waitFor();
      await page.getByRole('button', { name: 'Show all' }).click();
      await row('bench').waitFor();
      await page.getByRole('searchbox', { name: 'Find' }).fill('team:bl');
      await row('bench').waitFor({ state: 'detached' });
      await page.getByText('1 sandbox', { exact: true }).waitFor();
      await page.getByRole('searchbox', { name: 'Find' }).fill('');
      await row('bench').waitFor();
      expect(await violations(page)).toEqual([]);
    });

    test('stops, resumes and deletes, and says what is lost', async () => {
      await page.getByRole('button', { name: 'Stop second' }).click();
      await row('second').getByText('stopped').waitFor();
      await page.getByRole('button', { name: 'Resume second' }).click();
      await row('second').getByText('running').waitFor();
      await page.getByRole('button', { name: 'Delete second' }).click();
      await page.getByText('This also deletes its files').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Delete it' }).click();
      await row('second').waitFor({ state: 'detached' });
    });

    test('deletes several at once, and tells what failed', async () => {
      const { sandboxes } = porthole.host.services.records;
      const known = await sandboxes.get(id);
      if (known === undefined) throw new Error('the sandbox is gone');
      for (const at of [1, 2, 3]) {
        await sandboxes.create({
          ...known,
          id: `several${'abc'[at - 1]}`,
          name: `several-${at}`,
          sessionKey: null,
          desired: 'stopped',
          observed: 'stopped',
        });
      }
      await page.getByRole('searchbox', { name: 'Find' }).fill('several');
      await page.getByText('3 sandboxes', { exact: true }).waitFor();
      await page.getByRole('checkbox', { name: 'All sandboxes shown' }).check({ force: true });
      await page.route('**/v1/sandbox/severalb', (route) =>
        route.fulfill({ status: 503, json: { error: 'Not now.', code: 'service_unavailable' } }),
      );
      expect(await page.getByRole('button', { name: 'Stop 0 sandboxes' }).isDisabled()).toBe(true);
      await page.getByRole('button', { name: 'Delete 3 sandboxes' }).click();
      const confirm = page.getByRole('dialog', { name: /Delete \d sandbox/ });
      expect(await confirm.getByRole('listitem').allTextContents()).toEqual([
        'several-3',
        'several-2',
        'several-1',
      ]);
      await confirm.getByRole('button', { name: 'Delete', exact: true }).click();
      await confirm.getByRole('alert').getByText('1 of 3 failed. several-2: Not now.').waitFor();
      await page.unroute('**/v1/sandbox/severalb');
      await confirm.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByText('No sandbox matches').waitFor();
      await page.getByRole('button', { name: 'Show all' }).click();
      await row('bench').waitFor();
    });

    test('says what is too much in words, and lets a person wait no longer', async () => {
      const words = 'You have 3 of the 3 sandboxes that you may have at a time: stop or delete a sandbox.';
      let isAnswered = false;
      await page.route('**/v1/sandbox', async (route) => {
        if (isAnswered) return;
        isAnswered = true;
        await route.fulfill({ status: 429, json: { error: words, code: 'quota_exceeded' } });
      });
      await page.getByRole('button', { name: 'New sandbox' }).click();
      await create();
      await dialog().getByRole('alert').getByText(words).waitFor();
      await create();
      await dialog().getByText('It is being made').waitFor();
      await dialog().getByRole('button', { name: 'Cancel' }).click();
      await dialog().waitFor({ state: 'detached' });
      await page.unroute('**/v1/sandbox');
    });

    test('says that Porthole cannot be reached, and goes on once it can', async () => {
      await page.route('**/v1/sandbox?*', (route) => route.abort());
      await page.goto(`${way.url}/sandboxes`);
      await page.getByText('Can’t reach Porthole').waitFor();
      await page.unroute('**/v1/sandbox?*');
      await page.getByRole('button', { name: 'Try again' }).click();
      await row('bench').waitFor();
      await page.getByText('Can’t reach Porthole').waitFor({ state: 'detached' });
    });

    test('goes beyond one page of the API', async () => {
      const all = Array.from({ length: 260 }, (_, at) => ({
        ...SANDBOX,
        id: `many${String(at).padStart(4, '0')}`,
        name: `many-${at}`,
      }));
      await page.route('**/v1/sandbox?*', (route) => {
        const query = new URL(route.request().url()).searchParams;
        const from = Number(query.get('after') ?? 0);
        const to = from + Number(query.get('limit'));
        return route.fulfill({
          json: {
            sandboxes: all.slice(from, to),
            next: to < all.length ? String(to) : null,
            total: query.get('count') === 'true' ? all.length : null,
          },
        });
      });
      await page.goto(`${way.url}/sandboxes`);
      await page.getByText('50 of 260 sandboxes shown').waitFor();
      await page.getByRole('button', { name: 'Show more' }).click();
      await page.getByText('250 of 260 sandboxes shown').waitFor();
      await page.getByRole('button', { name: 'Show more' }).click();
      await page.getByRole('link', { name: 'many-259' }).waitFor();
      expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
      await page.unroute('**/v1/sandbox?*');
    });
  });

  describe('a sandbox', () => {
    test('shows how its limits are enforced and its grants, which can be revoked', async () => {
      await porthole.call('POST', `/v1/sandbox/${id}/delegate`, {
        body: { scopes: ['fs:read'], label: 'a reviewer' },
      });
      await page.goto(`${way.url}/sandboxes/${id}?pane=details`);
      await page.getByText('(not enforced on this machine)').first().waitFor();
      await page.getByRole('cell', { name: 'read files' }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Revoke what a reviewer may' }).click();
      await page.getByRole('button', { name: 'Revoke it' }).click();
      await page.getByText('Not shared with anyone.').waitFor();
    });

    test('lists its servers and processes as they come and go', async () => {
      await page.goto(`${way.url}/sandboxes/${id}?pane=terminal`);
      await page.getByText('Connected').waitFor();
      const body = { argv: ['sleep', '600'], name: 'long' };
      const started = await porthole.call('POST', `/v1/sandbox/${id}/processes`, { body });
      await porthole.call('PUT', `/v1/sandbox/${id}/servers/web`, { body: { argv: ['sleep', '601'] } });
      const talk = { argv: ['sh', '-c', 'echo hello log; exec sleep 602'], name: 'talker' };
      await porthole.call('POST', `/v1/sandbox/${id}/processes`, { body: talk });
      const row = (name: string) => page.getByRole('row').filter({ hasText: name });
      await row('web').getByText('ready').waitFor();
      await row('long').getByText('running').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Log of talker' }).click();
      await page.getByRole('log', { name: 'Output of talker' }).getByText('hello log').waitFor();
      await page.getByRole('button', { name: 'Stop talker' }).click();
      await page.getByRole('button', { name: 'Log of talker' }).waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Stop web' }).click();
      await row('web').getByText('stopped').waitFor();
      await page.getByRole('button', { name: 'Start web' }).click();
      await row('web').getByText('ready').waitFor();
      await porthole.call('DELETE', `/v1/sandbox/${id}/servers/web`);
      const process = started.json<{ id: string }>().id;
      await porthole.call('DELETE', `/v1/sandbox/${id}/processes/${process}`);
      await page.getByRole('heading', { name: 'Servers and processes' }).waitFor({ state: 'detached' });
    });

    test('is reported as gone when it is deleted meanwhile', async () => {
      const made = await porthole.call('POST', '/v1/sandbox', { body: { name: 'brief', ttl_seconds: 600 } });
      const brief = made.json<{ id: string }>().id;
      await page.goto(`${way.url}/sandboxes/${brief}?pane=details`);
      await page.getByText('It is stopped in').waitFor();
      await page
        .getByRole('group', { name: 'Panes' })
        .getByRole('button', { name: 'Terminal', exact: true })
        .click();
      await page.getByText('Connected').waitFor();
      await porthole.call('DELETE', `/v1/sandbox/${brief}`);
      await page.getByText('There is no such sandbox').waitFor();
    });
  });

  test('sends requests to its own origin only, and its policy refuses nothing', () => {
    const policy = watched.problems.filter((problem) => /policy|refused/i.test(problem));
    expect({ policy, origins: [...watched.origins] }).toEqual({ policy: [], origins: [way.url] });
  });
});
