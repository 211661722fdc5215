import { beforeAll, describe, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Page } from 'playwright-core';
import { startTestHost } from '#test/support/in-process-host.ts';
import type { Missing } from '#test/support/suite.ts';
import { violations } from '../support/console-fixture.ts';
import type { ConsoleSuite } from '../support/console-suite.ts';
import type { SandboxPage } from './sandbox-page.ts';

/** Sandboxes see the programs of the machine. */
const VIM = ['vim', 'vim.tiny'].find((name) =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, name))),
);
export const vimMissing: Missing =
  VIM === undefined ? 'vim is not installed: apt-get install vim-tiny' : undefined;

export function terminalPane(here: ConsoleSuite, own: SandboxPage): void {
  const { run, file, screen, line, type } = own;

  describe('a terminal', () => {
    let page: Page;
    beforeAll(async () => {
      ({ page } = own);
      await page.goto(`${own.way.url}/sandboxes/${own.id}`);
      await page.getByText('Connected').waitFor();
    });

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
      own.way.cut();
      await page.getByText('Reconnecting…').waitFor();
      await page.getByText('Connected').waitFor();
      await line('before-the-cut').waitFor();
      await type('echo after-the-"cut"');
      await line('after-the-cut').waitFor();
    });

    test('says what may stand between when no connection gets through, though all else does', async () => {
      const blocked = await here.context.newPage();
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
      expect(here.context.pages()).toHaveLength(1);
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
      const debug = await here.context.newCDPSession(page);
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
      const pocket = await here.browser.newContext({
        viewport: { width: 390, height: 844 },
        colorScheme: 'dark',
        hasTouch: true,
        isMobile: true,
      });
      const phone = await pocket.newPage();
      await phone.goto(`${own.way.url}/sandboxes/${own.id}?terminals=1.7&terminal=7`);
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
      const { dataDir } = here.porthole;
      await here.porthole.close();
      here.porthole = await startTestHost({}, { dataDir });
      await screen().getByText('The shell before this one has ended.').waitFor({ timeout: 30_000 });
      await page.getByText('Connected').waitFor();
      await type('echo after-the-"restart"');
      await line('after-the-restart').waitFor();
    });

    test('does not resume a sandbox that a user stopped', async () => {
      await here.porthole.call('POST', `/v1/sandbox/${own.id}/stop`);
      await page.getByText('The sandbox is stopped').first().waitFor();
      const state = await here.porthole.call('GET', `/v1/sandbox/${own.id}`);
      expect(state.json()).toMatchObject({ state: 'stopped', desired_state: 'stopped' });
      await page.getByRole('button', { name: 'Resume bench' }).click();
      await page.getByText('Connected').waitFor();
    });
  });
}
