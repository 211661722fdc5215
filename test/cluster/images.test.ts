import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sandboxPodManifests } from '#constructs/sandbox-pod.ts';
import { sandboxObjectName } from '#constructs/names.ts';
import { suite } from '#test/support/suite.ts';
import { functionsPort } from '../../infra/environment.plan.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { type BuiltImages, builtImages, imagesMissing } from './images/built-images.ts';
import { GUEST } from './guards/actor.ts';
import { ADMIN_KEY, API_HOST, functionHostObjects } from './images/function-host-objects.ts';

const namespace = `images-${randomBytes(4).toString('hex')}`;
const MINUTE = 60_000;

suite('the images, built from their Dockerfiles', missing() ?? imagesMissing(), () => {
  let fixture: Cluster;
  let images: BuiltImages;

  const kubectl = (args: readonly string[], stdin?: string) =>
    fixture.kubectl([`--namespace=${namespace}`, ...args], stdin);
  const apply = (object: object) => kubectl(['apply', '--filename=-'], JSON.stringify(object));
  const until = (what: string, condition: string) =>
    kubectl(['wait', what, `--for=${condition}`, '--timeout=60s']);
  const read = (what: string, path: string) => kubectl(['get', what, `--output=jsonpath=${path}`]);

  beforeAll(async () => {
    fixture = await cluster();
    images = await builtImages(fixture);
    await fixture.kubectl(['create', 'namespace', namespace]);
  }, 10 * MINUTE);
  afterAll(async () => {
    await fixture.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  describe('the function host, as infra/ runs it', () => {
    const inside = (...argv: string[]) => kubectl(['exec', 'functions', '--', ...argv]);

    const ask = async (method: string, path: string, body?: object) => {
      const outgoing = request({
        host: await read('pod/functions', '{.status.podIP}'),
        port: functionsPort({ environment: {} }),
        method,
        path,
        headers: {
          host: API_HOST,
          authorization: `Bearer ${ADMIN_KEY}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        agent: false,
      });
      outgoing.end(body && JSON.stringify(body));
      const [response] = (await once(outgoing, 'response')) as [
        NodeJS.ReadableStream & { statusCode: number },
      ];
      return [response.statusCode, JSON.parse(await text(response)) as unknown];
    };

    beforeAll(async () => {
      await apply(functionHostObjects(namespace, images).objects);
      await until('pod/functions', 'condition=Ready');
    }, 2 * MINUTE);

    test('answers the health check', async () => {
      expect(await ask('GET', '/health')).toEqual([200, { ok: true }]);
    });

    const check = async (wanted: string) => {
      const [, answer] = await ask('GET', '/api/installation/checks');
      const { checks } = answer as { checks: { name: string; state: string; detail: string }[] };
      return checks.find(({ name }) => name === wanted);
    };

    test('knows the version of the cluster', async () => {
      const { gitVersion } = JSON.parse(await kubectl(['get', '--raw', '/version'])) as {
        gitVersion: string;
      };
      expect(await check('versions')).toMatchObject({
        state: 'ok',
        detail: expect.stringContaining(`, Kubernetes ${gitVersion.slice(1)}, SQLite 3.`),
      });
    });

    test('knows how much of the quota is used', async () => {
      expect(await check('quota')).toBeUndefined();
      await apply(functionHostObjects(namespace, images).quota);
      const shown = { state: 'ok', detail: expect.stringMatching(/^\d+ of \d+ pers\w+, \d+ of \d+ pods$/) };
      // The cluster fills in its numbers without an event.
      while ((await check('quota')) === undefined) await pause(100);
      expect(await check('quota')).toMatchObject(shown);
      await kubectl(['delete', 'resourcequotas', '--all']);
    });

    test(
      'sees whether the cluster enforces the network policies of sandboxes',
      async () => {
        // Guests start, and policies take effect, without an event.
        const become = async (wanted: string) => {
          while ((await check('network policies'))?.state !== wanted) await pause(100);
        };
        expect((await ask('POST', '/v1/sandbox', {}))[0]).toBe(200);
        await become('warning');
        await apply(functionHostObjects(namespace, images).policies);
        await become('ok');
        await kubectl(['delete', 'networkpolicies', '--all']);
        await become('warning');
      },
      2 * MINUTE,
    );

    test('is a user without rights, who can write to the data folder and to /tmp alone', async () => {
      const script = `for each in / /opt/porthole /opt/porthole/host /usr/local /home /var/lib/porthole /tmp; do
        touch "$each/mark" 2>/dev/null && echo "$each"; done; id -u; grep CapEff /proc/self/status`;
      expect((await inside('sh', '-c', script)).trim().split(/\s+/)).toEqual([
        '/var/lib/porthole',
        '/tmp',
        '10001',
        'CapEff:',
        '0000000000000000',
      ]);
    });

    test('holds what production needs, and nothing else', async () => {
      const listed = (await inside('ls', '/opt/porthole')).trim().split('\n');
      expect(listed).toEqual([
        'LICENSE',
        'adapters',
        'base',
        'constructs',
        'core',
        'dist',
        'guest',
        'handlers',
        'host',
        'node_modules',
        'package.json',
        'protocol',
        'proxy',
      ]);
      const packages = (await inside('ls', '/opt/porthole/node_modules')).trim().split('\n');
      expect(packages).toEqual(expect.arrayContaining(['cdk8s', 'find-my-way', 'undici', 'zod']));
      const unwanted = /^(node-.*|esbuild|jest.*|playwright.*|typescript|vite|@pulumi|@types|\.cache)$/;
      expect(packages.filter((name) => unwanted.test(name))).toEqual([]);
    });

    test('adds less than 60 MB to its base', async () => {
      const [bytes] = (await inside('du', '--summarize', '--bytes', '/opt')).split('\t');
      expect(Number(bytes)).toBeLessThan(60_000_000);
    });

    test('starts from code that was compiled when it was built', async () => {
      const script = 'NODE_DEBUG_NATIVE=COMPILE_CACHE node --import=./host/run.ts --eval "" 2>&1';
      expect(await inside('sh', '-c', script)).toContain('ESM file:///opt/porthole/host/run.ts was accepted');
    });

    test(
      'does one pass of the reaper and ends',
      async () => {
        await until('pod/reaper', 'jsonpath={.status.phase}=Succeeded');
        expect(await kubectl(['logs', 'reaper'])).toContain('the pass is done');
      },
      MINUTE,
    );

    test(
      'ends by itself when it is asked to',
      async () => {
        // The command may end with its container, by SIGKILL.
        await inside('node', '--eval', 'process.kill(1, "SIGTERM")').catch((error: unknown) => {
          if (!String(error).includes('exit code 137')) throw error;
        });
        await until('pod/functions', 'jsonpath={.status.phase}=Succeeded');
        const code = '{.status.containerStatuses[0].state.terminated.exitCode}';
        expect(await read('pod/functions', code)).toBe('0');
      },
      MINUTE,
    );
  });

  describe('the sandbox, in a pod of the constructs', () => {
    const pod = sandboxObjectName('images');
    const inside = (script: string) => kubectl(['exec', pod, '--', 'bash', '-euc', script]);

    beforeAll(async () => {
      const limits = { memoryMebibytes: 512, workspaceMebibytes: 512, scratchMebibytes: 64 };
      const guestKeys = GUEST.keys.publicKeys;
      const props = { namespace, sandboxId: 'images', image: images.sandbox, guestKeys, ...limits };
      const manifests = sandboxPodManifests(props);
      await apply({ apiVersion: 'v1', kind: 'List', items: [manifests.volumeClaim, manifests.pod] });
      await until(`pod/${pod}`, 'condition=Ready');
    }, 2 * MINUTE);

    test.each([
      ['bash', 'echo "${BASH_VERSINFO[0]}"', /^5\n$/],
      ['coreutils', 'printf b,a | tr , "\\n" | sort | head -n 1', /^a\n$/],
      ['tar', 'cd /tmp && echo x >t && tar -cf - t | tar -tf -', /^t\n$/],
      ['find', 'find /workspace -maxdepth 0', /^\/workspace\n$/],
      ['ps', 'ps -o comm= -p $$; true', /^bash\n$/],
      ['python3', 'python3 -c "print(6 * 7)"', /^42\n$/],
      ['node', 'node -p 6*7', /^42\n$/],
      ['npm', 'npm --version', /^\d+\.\d+\.\d+\n$/],
    ])('runs %s', async (_name, script, output) => {
      expect(await inside(script)).toMatch(output);
    });

    test('runs the guest, with the porthole program beside it', async () => {
      const url = 'http://localhost:2790/v1/health';
      expect(await inside(`curl -s ${url}; ls /porthole/porthole`)).toMatch(
        /"code":"unauthorized".*\/porthole\/porthole\n$/s,
      );
      expect(await inside('cat /proc/[0-9]*/comm')).toContain('porthole-guest\n');
    });

    test('serves with node and fetches with curl', async () => {
      const server = 'http.createServer((q, s) => s.end("served")).listen(3000, () => console.log("up"))';
      expect(
        await inside(`exec 3< <(exec node -e '${server}'); read -u 3; curl -sf localhost:3000; kill $!`),
      ).toBe('served');
    });

    test('has user 1000 with a name and a home that can be written to', async () => {
      expect(await inside('id -u; id -un; echo ~; touch ~/mark; echo "$HOME"')).toBe(
        '1000\nsandbox\n/home/sandbox\n/home/sandbox\n',
      );
    });

    test('keeps a repository in the workspace, whatever user owns the volume', async () => {
      const author = '-c user.name=agent -c user.email=agent@example.com';
      const script = `cd /workspace; mkdir -p outputs; echo done >outputs/note; git init -q; git add .; git ${author} commit -qm first; git log --format=%s`;
      expect(await inside(script)).toBe('first\n');
      expect(await inside('cat /workspace/outputs/note')).toBe('done\n');
    });

    test('cannot change the image', async () => {
      const script = 'for each in / /usr/local /etc; do touch $each/mark 2>&1 || true; done';
      expect((await inside(script)).match(/Read-only file system/g)).toHaveLength(3);
    });
  });

  test(
    'reaps its dead processes, and has the folder for outputs, without the constructs too',
    async () => {
      const orphan = 'bash -c "sleep 0.1 & echo \\$!" | cat';
      const script = `orphan=$(${orphan}); while [ -e /proc/$orphan ]; do sleep 0.05; done; ps -o comm= -p 1; pwd; stat -c %u outputs`;
      const args = ['run', 'plain', `--image=${images.sandbox}`, '--restart=Never', '--'];
      await kubectl([...args, 'timeout', '10', 'bash', '-euc', script]);
      await until('pod/plain', 'jsonpath={.status.phase}=Succeeded');
      expect(await kubectl(['logs', 'plain'])).toBe('tini\n/workspace\n1000\n');
    },
    MINUTE,
  );
});
