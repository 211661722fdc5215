import { beforeAll, describe, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { violations } from '../support/console-fixture.ts';
import type { ConsoleSuite } from '../support/console-suite.ts';
import type { SandboxPage } from './sandbox-page.ts';

export function filesPane(here: ConsoleSuite, own: SandboxPage): void {
  const { run, file } = own;

  describe('the files of a sandbox', () => {
    const entry = (name: string) => page.locator('.files-list').getByRole('link', { name, exact: true });
    const folder = (name: string) => entry(`${name} , folder`);
    const put = (name: string, body: string | Buffer) =>
      here.porthole.call('PUT', `/v1/sandbox/${own.id}/file/workspace/${name}`, { body });
    const openFiles = async (query = '') => {
      await page.goto(`${own.way.url}/sandboxes/${own.id}?pane=files${query}`);
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

    let page: Page;
    beforeAll(async () => {
      ({ page } = own);
      await run('sh', '-c', 'rm -rf ./* && mkdir -p src/deep many && cd many && seq 1 5000 | xargs touch');
      await put('src/deep/inner.txt', 'inner');
      await openFiles();
    });

    test('are gone through by folders and back, each with its own address', async () => {
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
      await page.getByRole('button', { name: 'Close', exact: true }).click();
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
      // First: a text without edits follows the file.
      await page.keyboard.type('and ');
      await put('dos.txt', 'of an agent');
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
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByText('A name has no slash.').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByLabel('Name', { exact: true }).fill("it's -new");
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await folder("it's -new").waitFor();
      await page.getByRole('button', { name: "Actions for it's -new" }).click();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByLabel('Name', { exact: true }).fill('src');
      await page.getByRole('button', { name: 'Rename it' }).click();
      await page.getByText('That name already exists.').waitFor();
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
        page.getByRole('button', { name: 'Upload folder' }).press('Enter'),
      ]);
      await chooser.setFiles(join(local, 'tree'));
      await page.getByText('2 files are there.').waitFor();
      expect((await run('cat', 'tree/below/leaf.txt', 'tree/top.txt')).stdout).toBe('leaftop');
      await run('rm', '-r', 'tree');
      await folder('tree').waitFor({ state: 'detached' });
      const session = await here.context.newCDPSession(page);
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

    test('have any size', async () => {
      const transfer = await page.evaluateHandle(`(() => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(33_554_433)], 'huge.iso'));
        return transfer;
      })()`);
      await page.locator('.files').dispatchEvent('drop', { dataTransfer: transfer });
      await page.getByText('huge.iso is there.').waitFor();
      expect((await run('stat', '-c', '%s', 'huge.iso')).stdout).toBe('33554433\n');
      await run('rm', 'huge.iso');
    });

    test('leave nothing when they are cancelled under way', async () => {
      const session = await here.context.newCDPSession(page);
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
}
