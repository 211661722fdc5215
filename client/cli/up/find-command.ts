import { DENO, installPackages, packageManagerOf, type Tool } from './package-manager.ts';
import { needsRestart } from './reloads.ts';

/** The inputs for finding a project's command. Pure: files are read by the caller. */
export interface Project {
  /** Relative paths of its files, with `/`. */
  readonly files: ReadonlySet<string>;
  /** Texts of those among `FILES_TO_READ`, and of the package.json of each `workspaceFolders`. */
  readonly texts: ReadonlyMap<string, string>;
}

export interface FoundCommand {
  /** Label for people, e.g. `Vite (npm run dev)`. */
  readonly kind: string;
  /** A command line for the sandbox's shell, which has the port as PORT. */
  readonly command: string;
  readonly port: number;
  /** Relative to the project; '' for its root. */
  readonly cwd: string;
  readonly install?: Install | undefined;
  /** The program that the command needs, besides those of every image. */
  readonly tool?: Tool | undefined;
  /** Whether it shows an edit only after a restart. */
  readonly needsRestart?: boolean | undefined;
  /** Default of `--timeout`, if the command compiles before it listens. */
  readonly timeout?: string | undefined;
}

export interface Install {
  readonly command: string;
  /** Variables of its shell, e.g. `NAME=value`. */
  readonly variables?: string | undefined;
  /** The folder that it creates, relative to the project. */
  readonly makes: 'node_modules' | '.venv' | 'vendor/bundle';
  /** Files that it depends on: after a change it runs again. */
  readonly inputs: readonly string[];
}

const PYTHON_FILES = ['streamlit_app.py', 'main.py', 'app.py', 'wsgi.py', 'asgi.py', 'src/main.py'] as const;
export const FILES_TO_READ: readonly string[] = [
  'Procfile',
  'package.json',
  'pnpm-workspace.yaml',
  'deno.json',
  'deno.jsonc',
  'Dockerfile',
  'pnpm-lock.yaml',
  'yarn.lock',
  ...PYTHON_FILES,
];

/** Supported kinds in search order, for the message if none is found. */
export const LOOKED_FOR: readonly string[] = [
  'Procfile with a web line',
  'package.json with a dev or start script, also in a workspace',
  'deno.json with a dev or start task',
  'manage.py (Django)',
  `FastAPI, Flask, Streamlit or Gradio in ${PYTHON_FILES.join(', ')}`,
  'go.mod with main.go',
  'Cargo.toml with src/main.rs',
  'Gemfile with bin/rails (Ruby on Rails)',
  'index.html, also in public, dist or build',
];

/** A monorepo with several apps and no script in its root. */
export class SeveralApps extends Error {
  /** A command line for each app. */
  readonly commands: readonly string[];

  constructor(commands: readonly string[]) {
    super('several apps');
    this.commands = commands;
  }
}

/** @throws SeveralApps */
export function findCommand(project: Project): FoundCommand | undefined {
  for (const rule of [
    fromProcfile,
    fromRails,
    fromPackage,
    fromDeno,
    fromDjango,
    fromPython,
    fromGo,
    fromRust,
    fromStatic,
  ]) {
    const found = rule(project);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The install step for a given command: the same as for the project's own. */
export function installOf(project: Project): Install | undefined {
  const { files, texts } = project;
  return texts.has('package.json') ? installPackages(project) : (installPython(files) ?? installGems(files));
}

/** The package manager of a project, if a given command uses it. */
export function toolFor(line: string, project: Project): Tool | undefined {
  if (!project.texts.has('package.json')) return undefined;
  const { tool } = packageManagerOf(project);
  return tool !== undefined && line.split(/[^\w.-]+/).includes(tool.name) ? tool : undefined;
}

function fromProcfile(project: Project): FoundCommand | undefined {
  const [, command] = /^web:\s*(\S.*)$/m.exec(project.texts.get('Procfile') ?? '') ?? [];
  if (command === undefined) return undefined;
  const install = installOf(project);
  const line = install?.makes === '.venv' ? inVenv(command) : command;
  const tool = toolFor(command, project);
  return {
    kind: 'Procfile',
    command: line,
    port: portIn(command) ?? 3000,
    cwd: '',
    install,
    tool,
    needsRestart: needsRestart(command, scriptsOf(project)),
  };
}

/** The scripts of a project's root. */
export function scriptsOf({ texts }: Project): Readonly<Record<string, string>> {
  return parse(texts.get('package.json') ?? '').scripts ?? {};
}

interface Manifest {
  readonly workspaces?: unknown;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly tasks?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Default ports of dev servers; the first dependency that a project has decides. */
const FRAMEWORKS: readonly (readonly [dependency: string, name: string, port: number])[] = [
  ['next', 'Next.js', 3000],
  ['nuxt', 'Nuxt', 3000],
  ['astro', 'Astro', 4321],
  ['@sveltejs/kit', 'SvelteKit', 5173],
  ['@angular/cli', 'Angular', 4200],
  ['gatsby', 'Gatsby', 8000],
  ['vite', 'Vite', 5173],
  ['express', 'Express', 3000],
];

/** Patterns of the folders of workspaces: `apps/*`, or one folder. */
export function workspaceFolders(texts: Project['texts']): readonly string[] {
  const { workspaces } = parse(texts.get('package.json') ?? '');
  const listed =
    typeof workspaces === 'object' && workspaces !== null && 'packages' in workspaces
      ? workspaces.packages
      : workspaces;
  const own = Array.isArray(listed) ? listed.filter((each) => typeof each === 'string') : [];
  const pnpm = (texts.get('pnpm-workspace.yaml') ?? '').matchAll(/^[ \t]*-[ \t]*['"]?([^'"#\s]+)/gm);
  const patterns = [...own, ...Array.from(pnpm, ([, pattern]) => pattern ?? '')];
  const tidy = patterns.map((each) =>
    each.replace(/^\.\//, '').replace(/(?<!\/)\/+(?:\*\*?)?$/, (end) => (end.includes('*') ? '/*' : '')),
  );
  return [
    ...new Set([
      'apps/*',
      'packages/*',
      ...tidy.filter((each) => !/^!|\.\.|^\/|[*?[{][^*?[{/]*\//.test(each)),
    ]),
  ];
}

interface Runnable {
  /** Relative to the project; '' for its root. */
  readonly cwd: string;
  readonly script: string;
  readonly line: string;
  readonly needsRestart: boolean;
  readonly framework: (typeof FRAMEWORKS)[number] | undefined;
  readonly hasDependencies: boolean;
}

function runnableOf(path: string, text: string): Runnable | undefined {
  const { scripts, dependencies, devDependencies } = parse(text);
  const script = ['dev', 'start', 'serve', 'preview'].find((name) => scripts?.[name] !== undefined);
  if (script === undefined) return undefined;
  const uses = { ...dependencies, ...devDependencies };
  return {
    cwd: path.slice(0, Math.max(0, path.length - '/package.json'.length)),
    script,
    line: scripts?.[script] ?? '',
    needsRestart: needsRestart(scripts?.[script] ?? '', scripts),
    framework: FRAMEWORKS.find(([dependency]) => dependency in uses),
    hasDependencies: Object.keys(uses).length > 0,
  };
}

/** The apps of a monorepo: those in `apps` and those of a known framework come first. */
function appsOf(runnable: readonly Runnable[]): readonly Runnable[] {
  const prefer = (all: readonly Runnable[], by: (each: Runnable) => boolean): readonly Runnable[] =>
    all.some(by) ? all.filter(by) : all;
  const inApps = prefer(runnable, ({ cwd }) => cwd.startsWith('apps/'));
  return prefer(inApps, ({ framework }) => framework !== undefined);
}

function fromPackage(project: Project): FoundCommand | undefined {
  const { texts } = project;
  const root = texts.get('package.json');
  if (root === undefined) return undefined;
  const paths = [...texts.keys()].filter((path) => path.endsWith('/package.json')).toSorted();
  const apps = appsOf(paths.flatMap((path) => runnableOf(path, texts.get(path) ?? '') ?? []));
  const { name: manager, tool } = packageManagerOf(project);
  const own = runnableOf('package.json', root);
  if (own === undefined && apps.length > 1) {
    throw new SeveralApps(apps.map(({ cwd, script }) => `cd ${cwd} && ${manager} run ${script}`));
  }
  const found = own ?? apps[0];
  if (found === undefined) return undefined;
  const { cwd, script, line, hasDependencies } = found;
  // A script of the root that starts the workspaces, as of Turborepo.
  const [, name, port] = found.framework ?? apps[0]?.framework ?? [];
  // The production servers of these have another default port than their dev servers.
  const usual = script === 'preview' && port === 5173 ? 4173 : port;
  return {
    kind: `${name ?? 'package.json'} (${manager} run ${script})`,
    command: `${manager} run ${script}`,
    port: portIn(line) ?? usual ?? 3000,
    cwd,
    install: hasDependencies || paths.length > 0 ? installPackages(project) : undefined,
    tool,
    needsRestart: found.needsRestart,
  };
}

function fromDjango({ files }: Project): FoundCommand | undefined {
  if (!files.has('manage.py')) return undefined;
  return python(files, 'Django', 'python3 manage.py runserver "127.0.0.1:$PORT"', {
    port: 8000,
    needs: 'django',
  });
}

function fromPython({ files, texts }: Project): FoundCommand | undefined {
  for (const path of PYTHON_FILES) {
    const text = texts.get(path) ?? '';
    const [, app] =
      /^(\w+)[ \t]*(?::[^=\r\n\u2028\u2029]+)?=\s*(?:\w+\.)?(?:FastAPI|Flask|Starlette)\(/m.exec(text) ?? [];
    const module = path.replace(/\.py$/, '').replaceAll('/', '.');
    if (/^[ \t]*(?:import|from)\s+streamlit\b/m.test(text)) {
      const line = `python3 -m streamlit run ${path} --server.port "$PORT" --server.address 127.0.0.1 --server.headless true --server.runOnSave true`;
      return python(files, 'Streamlit', line, { port: 8501, needs: 'streamlit' });
    }
    if (/^[ \t]*(?:import|from)\s+gradio\b/m.test(text)) {
      const line = `GRADIO_SERVER_PORT="$PORT" python3 ${path}`;
      return { ...python(files, 'Gradio', line, { port: 7860, needs: 'gradio' }), needsRestart: true };
    }
    if (app === undefined) continue;
    if (/\bFlask\(/.test(text)) {
      return python(files, 'Flask', `python3 -m flask --app ${module}:${app} run --debug --port "$PORT"`, {
        port: 5000,
        needs: 'flask',
      });
    }
    const line = `python3 -m uvicorn ${module}:${app} --host 127.0.0.1 --port "$PORT" --reload`;
    return python(files, 'FastAPI (uvicorn)', line, { port: 8000, needs: 'fastapi[standard]' });
  }
  return undefined;
}

function fromGo({ files }: Project): FoundCommand | undefined {
  if (!files.has('go.mod') || !files.has('main.go')) return undefined;
  // The first start compiles the standard library, too.
  return { kind: 'Go', command: 'go run .', port: 8080, cwd: '', timeout: '5m', needsRestart: true };
}

function fromRust({ files }: Project): FoundCommand | undefined {
  if (!files.has('Cargo.toml') || !files.has('src/main.rs')) return undefined;
  return { kind: 'Rust', command: 'cargo run', port: 3000, cwd: '', timeout: '10m', needsRestart: true };
}

/** Before package.json: that of a Rails project builds its assets. */
function fromRails({ files }: Project): FoundCommand | undefined {
  if (!files.has('Gemfile') || !files.has('bin/rails')) return undefined;
  return {
    kind: 'Ruby on Rails',
    // A server that was killed leaves its pid, and the next one would not start.
    command: 'rm -f tmp/pids/server.pid && exec ruby bin/rails server -b 127.0.0.1 -p "$PORT"',
    port: 3000,
    cwd: '',
    install: installGems(files),
  };
}

function fromDeno({ texts }: Project): FoundCommand | undefined {
  const text = texts.get('deno.json') ?? texts.get('deno.jsonc');
  if (text === undefined) return undefined;
  // Whole lines of comments; a file with others is not read.
  const { tasks } = parse(text.replaceAll(/^[ \t]*\/\/.*$/gm, ''));
  const name = ['dev', 'start', 'serve'].find((each) => typeof tasks?.[each] === 'string');
  if (name === undefined) return undefined;
  const line = tasks?.[name] ?? '';
  return {
    kind: `Deno (deno task ${name})`,
    command: `deno task ${name}`,
    port: portIn(line) ?? 8000,
    cwd: '',
    tool: DENO,
    needsRestart: needsRestart(line, tasks),
  };
}

function fromStatic({ files }: Project): FoundCommand | undefined {
  const folder = ['', 'public/', 'dist/', 'build/'].find((each) => files.has(`${each}index.html`));
  if (folder === undefined) return undefined;
  const of = folder === '' ? '.' : folder.slice(0, -1);
  return {
    kind: 'static files',
    command: `exec python3 -m http.server "$PORT" --bind 127.0.0.1 --directory ${of}`,
    port: 3000,
    cwd: '',
  };
}

/** The framework of a project that names no packages, unless the sandbox has it. */
function installAlone(name: string): Install {
  const module = name.replace(/\[.*/, '');
  return {
    command: `${MAKE_VENV} --system-site-packages && { .venv/bin/python -c 'import ${module}' 2>/dev/null || ${PIP_INSTALL} '${name}'; }`,
    makes: '.venv',
    inputs: [],
  };
}

function python(
  files: ReadonlySet<string>,
  kind: string,
  line: string,
  { port, needs }: { readonly port: number; readonly needs: string },
): FoundCommand {
  const install = installPython(files) ?? installAlone(needs);
  return { kind, command: inVenv(line), port, cwd: '', install };
}

export function inVenv(line: string): string {
  return `. .venv/bin/activate && ${line}`;
}

const MAKE_VENV = 'python3 -m venv .venv';
const PIP_INSTALL = '.venv/bin/python -m pip install --quiet';

/** The installers of Python projects, by their file; the first that a project has decides. */
const PYTHON_INSTALLS: readonly (readonly [file: string, command: string])[] = [
  ['uv.lock', `${MAKE_VENV} && ${PIP_INSTALL} uv && .venv/bin/uv sync --quiet --frozen --inexact`],
  ['poetry.lock', `${MAKE_VENV} && ${PIP_INSTALL} poetry && . .venv/bin/activate && poetry install --quiet`],
  ['requirements.txt', `${MAKE_VENV} && ${PIP_INSTALL} -r requirements.txt`],
  ['pyproject.toml', `${MAKE_VENV} && ${PIP_INSTALL} .`],
];

function installPython(files: ReadonlySet<string>): Install | undefined {
  const [input, command] = PYTHON_INSTALLS.find(([file]) => files.has(file)) ?? [];
  if (input === undefined || command === undefined) return undefined;
  return { command, makes: '.venv', inputs: [input] };
}

/** Installs gems that the sandbox lacks. */
function installGems(files: ReadonlySet<string>): Install | undefined {
  if (!files.has('Gemfile')) return undefined;
  return {
    command:
      'bundle check >/dev/null || { bundle config set --local path vendor/bundle && bundle install --quiet; }',
    makes: 'vendor/bundle',
    inputs: ['Gemfile', 'Gemfile.lock'].filter((each) => files.has(each)),
  };
}

/** The command of an image, by the last CMD of its Dockerfile. */
export function commandOfImage(dockerfile: string): string | undefined {
  const [, text] = [...dockerfile.matchAll(/^[ \t]*CMD[ \t]+(\S.*)$/gim)].at(-1) ?? [];
  if (text === undefined || !text.startsWith('[')) return text?.trim();
  try {
    const words = JSON.parse(text) as unknown;
    return Array.isArray(words) ? words.join(' ') : undefined;
  } catch {
    return undefined;
  }
}

/** The port that a command line names. */
function portIn(line: string): number | undefined {
  const [, text] = /(?:--port[= ]|\s-p[= ]?|\bPORT=|:)(\d{4,5})\b/.exec(line) ?? [];
  return text === undefined ? undefined : Number(text);
}

function parse(text: string): Manifest {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
