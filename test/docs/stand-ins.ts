/**
 * Stand-ins for programs of the pages that a test cannot run: a Pulumi engine with a cloud behind
 * it, `docker build` and `docker push`, a cluster, `npm ci`. They have no effect. Each validates
 * its arguments against the repository, and fails on those that the real program would reject, or
 * that no page has used before. Usage: `stand-ins.ts PROGRAM ARGUMENT…` in the folder of a page.
 * `stack.json` and `images.json` are its state.
 */
import { existsSync, fstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LABELS, SANDBOX_LABELS } from '#constructs/names.ts';
import { FUNCTIONS_NAME } from '../../infra/environment.plan.ts';
import { componentLabels, STACK_LABELS } from '../../infra/labels.ts';

const ROOT = join(import.meta.dirname, '../..');
const MANAGED = 'label=app.kubernetes.io/managed-by=porthole';

function check(holds: boolean, problem: string): asserts holds {
  if (holds) return;
  process.stderr.write(`${process.argv.slice(2).join(' ')}: ${problem}\n`);
  process.exit(1);
}
const say = (line: string) => void process.stdout.write(`${line}\n`);
const inRepository = (...path: string[]) => existsSync(join(ROOT, ...path));
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const load = <T>(file: string, initial: T): T =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : initial;

async function npm([command = '', ...rest]: readonly string[]): Promise<void> {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
  if (command === 'ci') check(inRepository('package-lock.json'), 'no package-lock.json');
  else {
    const script = command === 'run' ? (rest.find((each) => !each.startsWith('-')) ?? '') : command;
    check(scripts[script] !== undefined, `package.json has no script ${script}`);
    // The test's host runs already: only the settings of this one need validation.
    if (script === 'start') (await import('#host/config/config.ts')).readConfig(process.env);
  }
}

function docker([command = '', ...rest]: readonly string[]): void {
  const built = load<string[]>('images.json', []);
  const option = (name: string) => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : undefined);
  if (command === 'build') {
    const context = rest.at(-1) ?? '';
    const file = option('--file') ?? join(context, 'Dockerfile');
    check(inRepository(context), `no folder ${context}`);
    check(inRepository(file), `no file ${file}`);
    writeFileSync('images.json', JSON.stringify([...built, option('--tag')]));
  } else if (command === 'push') {
    check(built.includes(rest.at(-1) ?? ''), 'no build before it has this tag');
  } else if (command === 'ps' || (command === 'volume' && rest[0] === 'ls')) {
    check(rest.includes('--quiet') && option('--filter') === MANAGED, `names others than ${MANAGED}`);
    say('id-1\nid-2');
  } else {
    const isRemoval = command === 'rm' || (command === 'volume' && rest[0] === 'rm');
    check(isRemoval && rest.slice(-2).join() === 'id-1,id-2', 'does not remove what was listed');
  }
}

async function pulumi([command = '', ...rest]: readonly string[]): Promise<void> {
  const named = rest.filter((argument) => !argument.startsWith('-'));
  if (command === 'login') check(URL.canParse(rest[0] ?? ''), 'names no place for the state');
  else if (command === 'preview' || command === 'up') {
    check(rest[0] === '--policy-pack', 'is without the policies');
    check(inRepository(rest[1] ?? '', 'PulumiPolicy.yaml'), 'no policy pack');
  } else if (command === 'cancel' || command === 'refresh') {
    check(rest[0] === '--yes', 'asks');
  } else if (command === 'stack' && rest[0] === 'init') {
    check(inRepository(`Pulumi.${rest[1]}.yaml`), 'no stack file');
  } else if (command === 'stack' && rest[0] === 'output') {
    const exported = new RegExp(`^export const ${rest[1]}\\b`, 'm').test(textOf('infra/main.ts'));
    check(exported, 'infra/main.ts does not export it');
    check(rest[1] === 'apiUrl', 'the stand-in has no such output');
    say(process.env['STAND_IN_API_URL'] ?? '');
  } else if (command === 'config' && rest[0] === 'set') {
    const [, key = '', value] = named;
    const { StackConfigSchema, SECRET_KEYS } = await import('../../infra/stack-config-schema.ts');
    const name = key.replace(/^porthole:/, '');
    check(name !== key && name in StackConfigSchema.shape, 'infra/stack-config has no such key');
    const isSecret = rest.includes('--secret');
    check(isSecret === (SECRET_KEYS as readonly string[]).includes(name), 'is secret exactly with --secret');
    const piped = fstatSync(0).isFIFO() ? readFileSync(0, 'utf8').trim() : undefined;
    check(piped !== '', 'the pipe is empty');
    const stack = load<Record<string, string>>('stack.json', {});
    writeFileSync('stack.json', JSON.stringify({ ...stack, [key]: value ?? piped ?? 'typed at the prompt' }));
  } else {
    check(
      command === 'config' && named.join(' ') === 'get porthole:serviceKey',
      'the stand-in cannot do this',
    );
    check('porthole:serviceKey' in load<object>('stack.json', {}), 'no command before it sets the key');
    say(process.env['STAND_IN_SERVICE_KEY'] ?? '');
  }
}

/** What the pages ask of the cluster, with the names and labels that the stack gives. */
function kubectl(given: readonly string[]): void {
  const [own] = Object.entries(STACK_LABELS)[0] ?? [];
  const sandboxes = `-l ${LABELS.managedBy}=${SANDBOX_LABELS[LABELS.managedBy]}`;
  const { 'app.kubernetes.io/component': component } = componentLabels('functions');
  const answers: Readonly<Record<string, string>> = {
    'get service kubernetes --output jsonpath={.spec.clusterIP}': '10.96.0.1',
    [`-n porthole scale deployment ${FUNCTIONS_NAME} --replicas 0`]: 'scaled',
    [`-n porthole delete cronjobs -l ${own}=porthole`]: 'deleted',
    [`-n porthole wait --for=delete pods -l app.kubernetes.io/component=${component} --timeout 2m`]: 'met',
    [`-n agentweaver delete sandboxclaims.extensions.agents.x-k8s.io ${sandboxes} --cascade=foreground`]:
      'deleted',
    [`-n agentweaver delete services,pods,persistentvolumeclaims ${sandboxes}`]: 'deleted',
    '-n agentweaver get pods,persistentvolumeclaims': '',
    '-n agentweaver get sandboxes.agents.x-k8s.io': '',
    'create namespace gateways': 'created',
    '-n gateways create secret tls porthole-preview-tls --cert previews.crt --key previews.key': 'created',
    '-n gateways create secret tls porthole-api-tls --cert api.crt --key api.key': 'created',
  };
  const answer = answers[given.join(' ')];
  check(answer !== undefined, 'the stand-in cannot do this');
  say(answer ?? '');
}

const programs = { npm, docker, pulumi, kubectl };
const [program = '', ...given] = process.argv.slice(2);
check(program in programs, 'no such stand-in');
await programs[program as keyof typeof programs](given);
