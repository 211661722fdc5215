/**
 * The images that ship with the catalogue, built from their Dockerfiles, as sandboxes of a real
 * engine.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Build, say, imagesMissing, withBuilds } from '#test/cluster/images/built-images.ts';
import { CATALOGUE_RECIPES } from '#test/cluster/images/image-recipe.ts';
import { execute } from '#test/host/support/commands.ts';
import { makeRun, startPreview, visit } from '#test/host/support/runs.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { dockerEnvironment } from './support/docker-environment.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';

const MINUTE = 60_000;

/** Programs of every image. */
const COMMON: readonly Row[] = [
  ['sh', 'echo $((6 * 7))', /^42\n$/],
  ['bash', 'bash -c \'echo "${BASH_VERSINFO[0]}"\'', /^5\n$/],
  ['tar', 'cd /tmp && echo x >t && tar -cf - t | tar -tf -', /^t\n$/],
  ['find', 'find /workspace -maxdepth 0', /^\/workspace\n$/],
  ['sha256sum', 'printf a | sha256sum | cut -c 1-8', /^ca978112\n$/],
  ['curl', 'curl --version | head -n 1 | cut -d " " -f 1', /^curl\n$/],
  ['git', 'git init -q r && cd r && git status --short --branch | cut -c 1-2', /^##\n$/],
  [
    'an ordinary user with a home',
    'id -u; id -un; touch ~/mark && echo "$HOME"',
    /^1000\nsandbox\n\/home\/sandbox\n$/,
  ],
  ['no rights', 'grep CapEff /proc/self/status', /^CapEff:\t0000000000000000\n$/],
  [
    'no key, and nothing of the machine that built it',
    'find / -xdev "(" -name .npmrc -o -name "id_*" -path "*/.ssh/*" ")" 2>/dev/null; env | grep -i "https\\?_proxy=" | grep -v "=http://127.0.0.1:2792$"; true',
    /^$/,
  ],
];
const PYTHON: readonly Row[] = [
  ['python', 'python -c "print(6 * 7)"', /^42\n$/],
  ['pip', 'pip --version', /^pip \d/],
];
/** Takes seconds: `multi` only shows that it has the package for it. */
const ENVIRONMENT: Row = ['a virtual environment', 'python3 -m venv v && v/bin/pip --version', /^pip \d/];
const NODE: readonly Row[] = [
  ['node', 'node -p 6*7', /^42\n$/],
  ['npm', 'npm --version; npm prefix --global', /^\d+\.\d+\.\d+\n\/home\/sandbox\/.local\n$/],
];
const MULTI: readonly Row[] = [
  ...PYTHON,
  ...NODE,
  ['pip for virtual environments', 'python3 -c "import ensurepip; print(ensurepip.version())"', /^\d+\./],
  ['go', 'printf "package main\\nfunc main() { println(42) }\\n" >m.go && go run m.go 2>&1', /^42\n$/],
  ['ruby', 'ruby -e "puts 6 * 7"', /^42\n$/],
  ['c', 'echo "int main(void) { return 42; }" >m.c && make -s m && ./m; echo $?', /^42\n$/],
  ['c++', 'echo "#include <iostream>\nint main() { std::cout << 42; }" >n.cc && g++ n.cc && ./a.out', /^42$/],
];
const ROWS: Readonly<Record<keyof typeof CATALOGUE_RECIPES, readonly Row[]>> = {
  python: [...COMMON, ...PYTHON, ENVIRONMENT],
  node: [...COMMON, ...NODE],
  multi: [...COMMON, ...MULTI],
  'code-interpreter': [...COMMON, ...PYTHON],
};
/** A program, a shell command line, and its output. */
type Row = readonly [what: string, line: string, prints: RegExp];

suite('the catalogue of images', engineMissing() ?? imagesMissing(CATALOGUE_RECIPES), () => {
  let engine: TestEngine;
  let porthole: TestHost;

  beforeAll(async () => {
    engine = await openTestEngine();
    const images = await withBuilds(CATALOGUE_RECIPES, say, async (builds) => {
      const loaded: Record<string, { reference: string }> = {};
      for (const [at, name] of Object.keys(CATALOGUE_RECIPES).entries())
        loaded[name] = { reference: await engine.loadBuilt(builds[at] as Build) };
      return loaded;
    });
    porthole = await startTestHost({
      ...dockerEnvironment(engine),
      PORTHOLE_IMAGES: JSON.stringify(images),
    });
  }, 30 * MINUTE);
  afterAll(async () => {
    await porthole.end();
    await engine.stop();
  }, MINUTE);

  describe.each(Object.entries(ROWS))('%s', (name, rows) => {
    let sandboxId: string;
    let runId: string;
    beforeAll(async () => {
      ({ sandboxId, runId } = await makeRun(porthole, undefined, { image: name }));
    }, MINUTE);

    test.each(rows)('has %s', async (_what, line, prints) => {
      const { stdout, stderr, exitCode } = await execute(porthole, sandboxId, ['sh', '-c', line]);
      expect([stderr.toString(), exitCode]).toEqual(['', 0]);
      expect(stdout.toString()).toMatch(prints);
    });

    test('goes by its name in the answers', async () => {
      const sandbox = (await porthole.call('GET', `/v1/sandbox/${sandboxId}`)).json();
      expect(sandbox).toMatchObject({ image: name, state: 'running' });
    });

    test('shows a server on a loopback port in a preview', async () => {
      const page = `hello from ${name}`;
      await execute(porthole, sandboxId, ['sh', '-c', `mkdir -p site && echo '${page}' >site/index.html`]);
      await execute(porthole, sandboxId, ['sh', '-c', SERVE]);
      const { session_id, ready } = await startPreview(porthole, runId, 3000);
      expect(ready).toBe(true);
      const shown = await visit(porthole, session_id, porthole.host.port);
      expect(shown.text).toBe(`${page}\n`);
    });
  });

  test('runs code in the kernels of the code interpreter', async () => {
    const { sandboxId } = await makeRun(porthole, undefined, { image: 'code-interpreter' });
    const run = async (body: object) => {
      const answer = await porthole.call('POST', `/v1/sandbox/${sandboxId}/code`, {
        headers: { accept: 'application/json' },
        body,
      });
      return answer.json<{ results: readonly Record<string, string>[]; exception: unknown }>();
    };
    const plot = 'import matplotlib.pyplot as plt\nplt.plot([1, 2, 3]); plt.show()';
    const [python, chart, javascript, bash] = [
      await run({ code: 'import numpy, pandas\nint(numpy.arange(5).sum())' }),
      await run({ code: plot }),
      await run({ code: '6 * 7', language: 'javascript' }),
      await run({ code: 'cd /tmp; pwd', language: 'bash' }),
    ];
    expect(python).toMatchObject({ results: [{ text: '10' }], exception: null });
    expect(
      Buffer.from(chart?.results[0]?.['png'] ?? '', 'base64')
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
    expect(javascript).toMatchObject({ results: [{ text: '42' }], exception: null });
    expect(bash).toMatchObject({ stdout: '/tmp\n', exception: null });
  }, 120_000);
});

/** Serves with the image's programs, in the background; returns once it listens. */
const SERVE = `cd site
if command -v python3 >/dev/null; then setsid python3 -m http.server --bind 127.0.0.1 3000 >/dev/null 2>&1 </dev/null &
else setsid node -e 'http.createServer((q, s) => fs.createReadStream("index.html").pipe(s)).listen(3000, "127.0.0.1")' >/dev/null 2>&1 </dev/null &
fi
until curl -sf -o /dev/null http://127.0.0.1:3000/; do :; done
`;
