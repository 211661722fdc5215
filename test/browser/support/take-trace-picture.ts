/**
 * `node test/browser/support/take-trace-picture.ts FOLDER`: takes the picture of
 * `docs/guides/telemetry.md`, of an app in a pod of the test cluster. The folder has the built user
 * interface of Jaeger.
 */
import { join } from 'node:path';
import { traceAgentOnPods } from '#test/cluster/hosts/traced-pods.ts';
import { GET_APP } from '#test/host/support/traced-agent.ts';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startJaeger } from '#test/support/jaeger.ts';

const PICTURE = join(import.meta.dirname, '../../../docs/guides/trace.png');
/** Their statements would fill most of the picture. */
const COLLAPSED = ['approval.wait', 'preview.start', 'preview.readiness'];
/** Of the column with the spans' names, in pixels. */
const NAMES_WIDTH = 420;

const [ui] = process.argv.slice(2);
if (ui === undefined) throw new Error('Name the folder of the user interface of Jaeger.');
if (chromiumMissing !== undefined) throw new Error(chromiumMissing);
const jaeger = await startJaeger(ui);
const browser = await launchChromium();
try {
  const { traceId } = await traceAgentOnPods(jaeger);
  await jaeger.spans(traceId, [`${GET_APP} › shop GET / › shop load products`]);
  // Tall, so that the list has all rows.
  const page = await browser.newPage({ viewport: { width: 1280, height: 3_000 } });
  await page.goto(`${jaeger.url}/trace/${traceId}?uiEmbed=v0&uiTimelineHideMinimap=1`);
  const rows = page.locator('.span-row');
  const row = (name: string) => rows.filter({ has: page.getByText(name, { exact: true }) }).last();
  await row('load products').waitFor();
  for (const name of COLLAPSED) await row(name).locator('.SpanTreeOffset--iconWrapper').click();
  await page.mouse.move(0, 0);
  const divider = await page.locator('.VerticalResizer--dragger').boundingBox();
  if (divider === null) throw new Error('The page has no divider.');
  await page.mouse.move(divider.x, divider.y);
  await page.mouse.down();
  await page.mouse.move(NAMES_WIDTH, divider.y, { steps: 5 });
  await page.mouse.up();
  const last = await row('load products').boundingBox();
  if (last === null) throw new Error('The page has no span of the app.');
  await page.screenshot({
    path: PICTURE,
    clip: { x: 0, y: 0, width: 1280, height: last.y + last.height },
  });
} finally {
  await browser.close();
  await jaeger.end();
}
