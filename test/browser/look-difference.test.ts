import { PNG } from 'pngjs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { chromiumMissing } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { execute } from '#test/host/support/commands.ts';
import { type EventStream, openEventStream } from '#test/host/support/event-stream.ts';
import { openSandbox, type SandboxWithPreview } from './app-in-sandbox.ts';

const NAMES = ['Orders', 'Invoices', 'Customers', 'Products', 'Reports', 'Settings', 'Team', 'Help'];
/** Changes of one element, each as what it adds to the element: attributes or text. */
const EDITS: readonly { readonly attributes?: string; readonly text?: string }[] = [
  { text: 'Order' },
  { attributes: 'style="color: #3366fe"' },
  { attributes: 'style="border-bottom: 1px solid #eee"' },
  { attributes: 'style="margin-left: 1px"' },
  { attributes: 'aria-label="Other name"' },
];
/** Eight elements times five edits. */
const CHANGES = NAMES.flatMap((_, element) => EDITS.map((edit) => ({ element, edit })));

function pageOf(changed?: (typeof CHANGES)[number], build = 0): string {
  const links = NAMES.map((name, at) => {
    const { attributes = '', text = name } = changed?.element === at ? changed.edit : {};
    return `<a href="#${at}" ${attributes}>${text}</a>`;
  });
  return `<!doctype html><html lang="en"><!-- build ${build} --><title>Shop</title>
<style>body { font: 16px sans-serif } a { display: inline-block; padding: 8px; color: #3366ff } @keyframes turn { to { rotate: 1turn } } .turns { animation: turn 1s infinite; width: 40px; height: 40px; background: #ddd }</style>
<h1>Shop</h1><nav>${links.join('')}</nav><p>All is well.</p><input aria-label="Search" autofocus><div class="turns"></div>
<script>globalThis.build = ${build};</script></html>`;
}

interface Difference {
  readonly is_same: boolean | null;
  readonly pixels: {
    readonly changed: number;
    readonly areas: readonly { x: number; y: number; width: number; height: number }[];
    readonly picture: { readonly data: string } | null;
  } | null;
  readonly outline: { readonly appeared: readonly string[]; readonly gone: readonly string[] } | null;
  readonly console: { readonly appeared: readonly string[] };
}

interface KeptLook {
  readonly look_id: string;
  readonly result: string;
  readonly path: string;
}

const LIMIT = 400_000;

suite('the difference to the last look', chromiumMissing, () => {
  let porthole: TestHost;
  let opened: SandboxWithPreview;
  beforeAll(async () => {
    porthole = await startTestHost();
    opened = await openSandbox(porthole);
    await write(pageOf());
    await opened.serve('python3 -m http.server 3000');
  }, LIMIT);
  afterAll(() => porthole?.end());

  const write = (text: string) => opened.api.write(opened.sandbox, 'index.html', text);
  const look = async (body: object = {}) => {
    const answer = await porthole.call('POST', `/api/runs/${opened.runId}/previews/3000/look`, { body });
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([200, expect.any(String)]);
    return answer.json<{ difference: Difference | null }>().difference;
  };
  const lookAt = async (page: string) => {
    await write(page);
    return look();
  };
  const isComplete = (found: Difference | null) => found?.pixels !== null && found?.outline !== null;
  /** Since a look at `before`. Repeats both if one is without its picture, on a busy machine. */
  const differenceOf = async (before: string, now: string) => {
    let found = await lookAt(now);
    for (let left = 5; left > 0 && !isComplete(found); left -= 1) {
      await lookAt(before);
      found = await lookAt(now);
    }
    return found;
  };

  test(
    'has each of 40 edits of one element, and no difference after 40 builds that change nothing',
    async () => {
      let page = pageOf();
      await lookAt(page);
      const missed: unknown[] = [];
      const alarms: unknown[] = [];
      for (const [at, change] of CHANGES.entries()) {
        const [edited, rebuilt] = [pageOf(change, at), pageOf(change, at + 1_000)];
        const edit = await differenceOf(page, edited);
        if (edit?.is_same !== false) missed.push([change, edit]);
        const build = await differenceOf(edited, rebuilt);
        if (build?.is_same !== true) alarms.push([change, build]);
        page = rebuilt;
      }
      expect({ missed, alarms }).toEqual({ missed: [], alarms: [] });
    },
    LIMIT,
  );

  test(
    'shows where, what appeared and what went',
    async () => {
      await lookAt(pageOf());
      const difference = await differenceOf(
        pageOf(),
        `${pageOf({ element: 0, edit: { text: 'Baskets' } })}<script>console.error('no basket')</script>`,
      );
      expect(difference?.outline).toEqual({
        appeared: [expect.stringContaining('link "Baskets"')],
        gone: [expect.stringContaining('link "Orders"')],
      });
      expect(difference?.console.appeared).toEqual(['error: no basket']);
      const [area] = difference?.pixels?.areas ?? [];
      expect(area?.y).toBeLessThan(200);
      expect(area?.height).toBeLessThan(100);
      const image = PNG.sync.read(Buffer.from(difference?.pixels?.picture?.data ?? '', 'base64'));
      expect([image.width, image.height]).toEqual([1_280, 800]);
      expect(await look({ device: 'phone' })).toBeNull();
    },
    LIMIT,
  );

  test('is of looks that are kept with a thumbnail, which the timeline names', async () => {
    const { looks } = (await porthole.call('GET', `/api/runs/${opened.runId}/looks`)).json<{
      looks: KeptLook[];
    }>();
    const [newest] = looks;
    expect([looks.length, newest]).toEqual([50, expect.objectContaining({ path: '/', has_thumbnail: true })]);
    const picture = async (id: string, which: string) =>
      porthole.call('GET', `/api/runs/${opened.runId}/looks/${id}/${which}`);
    const small = await picture(newest?.look_id ?? '', 'thumbnail');
    expect(small.headers['content-type']).toBe('image/png');
    expect((await picture(looks.at(-1)?.look_id ?? '', 'thumbnail')).status).toBe(200);
    expect((await picture(looks[9]?.look_id ?? '', 'picture')).status).toBe(200);
    expect((await picture(looks[10]?.look_id ?? '', 'picture')).json()).toMatchObject({
      code: 'look_not_found',
    });
    const { events } = (await porthole.call('GET', `/api/runs/${opened.runId}/timeline?limit=1000`)).json<{
      events: { type: string; data: Record<string, unknown> }[];
    }>();
    expect(events.findLast(({ type }) => type === 'preview.looked')?.data['look']).toBe(newest?.look_id);
  });

  describe('a page that was checked', () => {
    const BROKEN = '<!doctype html><title>Shop</title><h1>Shop</h1><script>undefined.lines</script>';
    const check = async (body: object = {}) =>
      (await porthole.call('POST', `/api/runs/${opened.runId}/previews/3000/check`, { body })).json<{
        result: string;
        changed: boolean | null;
      }>();
    /** The results that the timeline has after a known event, until one satisfies `isLast`. */
    const followed = async (stream: EventStream, isLast: (result: unknown) => boolean) => {
      const results: unknown[] = [];
      while (!isLast(results.at(-1))) {
        const frame = await stream.next();
        if (frame?.event !== 'preview.looked') continue;
        results.push((JSON.parse(frame.data ?? '') as { data: { result: string } }).data.result);
      }
      return results;
    };

    test(
      'is checked again after each change while a person follows its run, and recorded once',
      async () => {
        await write(pageOf());
        expect(await check()).toMatchObject({ result: 'works', changed: null });
        const { events } = (
          await porthole.call('GET', `/api/runs/${opened.runId}/timeline?limit=1000`)
        ).json<{ events: { id: string }[] }>();
        const path = `/api/runs/${opened.runId}/events?after=${events.at(-1)?.id}`;
        const stream = await openEventStream(porthole.host.port, path);
        // Until the sandbox reports changes, none can be missed.
        const ready = check({ wait_for_change: 240 });
        let build = 0;
        const building = setInterval(() => void write(pageOf(undefined, (build += 1))), 3_000);
        expect(await ready.finally(() => clearInterval(building))).toMatchObject({ changed: true });
        await write(BROKEN);
        await followed(stream, (result) => result === 'broken');
        await write(`${BROKEN}<p>Other</p>`);
        await write(pageOf());
        const results = await followed(stream, (result) => result === 'works');
        stream.leave();
        expect(results).toEqual(['works']);
      },
      LIMIT,
    );

    test('is checked as it is when nothing changes in the time', async () => {
      expect(await check({ wait_for_change: 1 })).toMatchObject({ result: 'works', changed: false });
    });

    test('is checked and looked at by the command of its sandbox', async () => {
      const inside = (...argv: string[]) => execute(porthole, opened.sandbox, ['porthole', ...argv]);
      expect(await inside('check', '3000')).toMatchObject({ exitCode: 0, stdout: Buffer.from('works\n') });
      await write(BROKEN);
      const broken = await inside('look', '3000', '--out', 'page.png');
      expect([broken.exitCode, broken.stdout.toString()]).toEqual([
        1,
        expect.stringMatching(/^broken: Uncaught TypeError/),
      ]);
      const type = await execute(porthole, opened.sandbox, ['head', '-c', '4', 'page.png']);
      expect(type.stdout.toString('latin1')).toBe('\x89PNG');
    });
  });
});
