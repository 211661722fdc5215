import { execute } from '#test/host/support/commands.ts';
import { editorOf } from '#test/host/support/editor.ts';
import { makeRun, startPreview } from '#test/host/support/runs.ts';
import type { TestHost } from '#test/support/in-process-host.ts';

/** The state shown on the screenshots. */
export interface Scene {
  /** Has a live preview. */
  readonly shown: { readonly runId: string; readonly sandboxId: string };
  /** Its agent requests a preview, and the request is then shown in front of every page. */
  readonly asking: { readonly runId: string; readonly ask: () => void };
  readonly toolId: string;
}

const SHOP = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Acme · Pricing</title>
<style>
  :root { color-scheme: light } * { box-sizing: border-box }
  body { margin: 0; font: 16px/1.5 system-ui, sans-serif; background: #fff; color: #14213d }
  header { padding: 36px 24px 24px; text-align: center } h1 { margin: 0; font-size: 30px } header p { margin: 6px 0 0; color: #5c677d }
  main { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 16px; padding: 0 24px 36px; max-width: 860px; margin: auto }
  article { padding: 20px; border: 1px solid #e0e4ec; border-radius: 12px } article.best { border: 2px solid #2a6f5b }
  h2 { margin: 0; font-size: 16px } b { display: block; margin: 8px 0; font-size: 26px } ul { margin: 0; padding-left: 18px; color: #5c677d }
</style>
<header><h1>Prices that grow with you</h1><p>Every plan has all features. Pay for what you use.</p></header>
<main>
<article><h2>Starter</h2><b>$0</b><ul><li>3 projects</li><li>1 GB of files</li></ul></article>
<article class="best"><h2>Team</h2><b>$24</b><ul><li>50 projects</li><li>100 GB of files</li></ul></article>
<article><h2>Company</h2><b>$96</b><ul><li>All the projects</li><li>2 TB of files</li></ul></article>
</main></html>
`;

const TOOL = `"""Compares our prices with a competitor's."""


def run(inputs, context):
    ours = {"Starter": 0, "Team": 24, "Company": 96}
    theirs = {"Starter": 5, "Team": 29, "Company": 90}
    dearer = [plan for plan, price in ours.items() if price > theirs[plan]]
    print(f"compared {len(ours)} plans in {inputs['currency']}")
    if context.get("action_id") == "match":
        ours |= {plan: theirs[plan] for plan in dearer}
    return {
        "outputs": {"plans": ours, "dearer": dearer},
        "next_actions": [{"id": "match", "title": "Match their prices"}],
    }
`;

/** Creates the state of a week's work. */
export async function makeScene(porthole: TestHost): Promise<Scene> {
  for (const title of [
    'Upgrade the payment library',
    'Weekly report',
    'Fix the rounding of totals in the checkout',
  ]) {
    const { runId } = await makeRun(porthole, undefined, { title });
    await porthole.call('POST', `/api/runs/${runId}/complete`);
  }
  for (const body of [
    { name: 'nightly-build', tags: { team: 'platform' } },
    { name: 'data-cleaning', tags: { team: 'research', project: 'census' } },
  ]) {
    await porthole.call('POST', '/v1/sandbox', { body });
  }
  const list = (await porthole.call('GET', '/v1/sandbox')).json<{
    sandboxes: { id: string; name: string | null }[];
  }>();
  const nightly = list.sandboxes.find(({ name }) => name === 'nightly-build')?.id ?? '';
  await porthole.call('POST', `/v1/sandbox/${nightly}/stop`);

  const keys = [
    ['Laptop', 'full', 365],
    ['Renovate', 'agent', 90],
    ['Nightly build', 'read', 30],
  ] as const;
  for (const [name, scope, days] of keys)
    await porthole.call('POST', '/api/keys', { body: { name, scope, expires_in: days * 86_400 } });

  const asking = await makeRun(porthole, undefined, { title: 'Try the new editor for recipes' });
  await serve(porthole, asking.sandboxId, '<title>Recipes</title><h1>Recipes</h1>');
  const shown = await makeRun(porthole, undefined, { title: 'Rebuild the pricing page' });
  await serve(porthole, shown.sandboxId, SHOP);
  await execute(porthole, shown.sandboxId, ['sh', '-c', HISTORY]);
  await startPreview(porthole, shown.runId, 3000);

  const editor = editorOf(porthole);
  await editor.makeTool('def run(inputs, context): return {}', {
    name: 'Refund an order',
    entrypoint: 'run',
  });
  const tool = await editor.makeTool(TOOL, {
    name: 'Price check',
    entrypoint: 'run',
    input_schema: {
      type: 'object',
      required: ['currency'],
      properties: { currency: { type: 'string', title: 'Currency', default: 'USD' } },
    },
  });
  const ask = () => {
    void porthole
      .call('POST', `/api/runs/${asking.runId}/sandbox/preview`, {
        token: asking.agentToken,
        body: { target_port: 3000 },
      })
      // Waits until the host ends.
      .catch(() => undefined);
  };
  return { shown, asking: { runId: asking.runId, ask }, toolId: tool.tool_id };
}

const SERVER = `const { createServer } = require('node:http');
const { readFile } = require('node:fs/promises');

const server = createServer(async (request, response) => {
  const page = await readFile('index.html');
  response.setHeader('content-type', 'text/html');
  response.end(page);
});

server.listen(3000, () => console.log('up'));
`;

const HISTORY = `cd /workspace && mkdir -p src styles && echo '# Pricing' >README.md && echo 'export const plans = [];' >src/plans.ts && echo 'b { color: teal }' >styles/plans.css
git init -q && git config user.name agent && git config user.email agent@example.com && git add . && git commit -qm 'Three plans instead of five' && echo 'export const plans = ["Starter", "Team", "Company"];' >src/plans.ts`;

/** Serves the page on port 3000 from a declared server of the sandbox. */
async function serve(porthole: TestHost, sandboxId: string, html: string): Promise<void> {
  await porthole.call('PUT', `/v1/sandbox/${sandboxId}/file/workspace/index.html`, { body: html });
  await porthole.call('PUT', `/v1/sandbox/${sandboxId}/file/workspace/server.js`, { body: SERVER });
  const body = { argv: ['node', 'server.js'], port: 3000 };
  await porthole.call('PUT', `/v1/sandbox/${sandboxId}/servers/web`, { body });
}
