/** The inputs for finding a project's command. Pure: files are read by the caller. */
export interface Project {
  /** Relative paths of its files, with `/`. */
  readonly files: ReadonlySet<string>;
  /** Texts of those among `FILES_TO_READ`, and of each workspace's package.json. */
  readonly texts: ReadonlyMap<string, string>;
}

export interface FoundCommand {
  /** Label for people, e.g. `Vite (npm run dev)`. */
  readonly kind: string;
  /** A command line for the sandbox's shell. */
  readonly command: string;
  readonly port: number;
  /** Relative to the project; '' for its root. */
  readonly cwd: string;
  readonly install?: Install | undefined;
}

export interface Install {
  readonly command: string;
  /** The folder that it creates, relative to the project. */
  readonly makes: string;
  /** The files that it depends on. */
  readonly inputs: readonly string[];
}

const PYTHON_FILES = ['streamlit_app.py', 'main.py', 'app.py', 'wsgi.py', 'asgi.py', 'src/main.py'] as const;
export const FILES_TO_READ: readonly string[] = ['Procfile', 'package.json', ...PYTHON_FILES];

/** Supported kinds in search order, for the message if none is found. */
export const LOOKED_FOR: readonly string[] = [
  'Procfile with a web line',
  'package.json with a dev or start script, also in a workspace',
  'manage.py (Django)',
  `FastAPI, Flask or Streamlit in ${PYTHON_FILES.join(', ')}`,
  'go.mod with main.go',
  'index.html, also in public, dist or build',
];

export function findCommand(project: Project): FoundCommand | undefined {
  for (const rule of [fromProcfile, fromPackage, fromDjango, fromPython, fromGo, fromStatic]) {
    const found = rule(project);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The install step for a given command: the same as for the project's own. */
export function installOf({ files, texts }: Project): Install | undefined {
  if (texts.has('package.json')) return installPackages(files);
  return installPython(files);
}

function fromProcfile(project: Project): FoundCommand | undefined {
  const [, command] = /^web:\s*(\S.*)$/m.exec(project.texts.get('Procfile') ?? '') ?? [];
  if (command === undefined) return undefined;
  const install = installOf(project);
  const line = install?.makes === '.venv' ? inVenv(command) : command;
  return { kind: 'Procfile', command: line, port: portIn(command) ?? 3000, cwd: '', install };
}

interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>;
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

function fromPackage({ files, texts }: Project): FoundCommand | undefined {
  if (!texts.has('package.json')) return undefined;
  const manifests = [...texts.keys()].filter((path) => /(?:^|\/)package\.json$/.test(path));
  // The project itself, then its workspaces: apps before packages, by name.
  const depth = (path: string): number => path.split('/').length;
  for (const path of manifests.toSorted((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1))) {
    const manifest = parse(texts.get(path) ?? '');
    const script = ['dev', 'start', 'serve', 'preview'].find(
      (name) => manifest.scripts?.[name] !== undefined,
    );
    if (script === undefined) continue;
    const line = manifest.scripts?.[script] ?? '';
    const uses = { ...manifest.dependencies, ...manifest.devDependencies };
    const [, name, port] = FRAMEWORKS.find(([dependency]) => dependency in uses) ?? [];
    const manager = managerOf(files);
    // The production servers of these have another default port than their dev servers.
    const usual = script === 'preview' && port === 5173 ? 4173 : port;
    return {
      kind: `${name ?? 'package.json'} (${manager} run ${script})`,
      command: `${manager} run ${script}`,
      port: portIn(line) ?? usual ?? 3000,
      cwd: path.slice(0, Math.max(0, path.length - '/package.json'.length)),
      install: Object.keys(uses).length > 0 || manifests.length > 1 ? installPackages(files) : undefined,
    };
  }
  return undefined;
}

function fromDjango({ files }: Project): FoundCommand | undefined {
  if (!files.has('manage.py')) return undefined;
  return python(files, 'Django', 'python3 manage.py runserver 127.0.0.1:8000', 8000);
}

function fromPython({ files, texts }: Project): FoundCommand | undefined {
  for (const path of PYTHON_FILES) {
    const text = texts.get(path) ?? '';
    const [, app] = /^(\w+)\s*(?::[^=\n]+)?=\s*(?:\w+\.)?(?:FastAPI|Flask|Starlette)\(/m.exec(text) ?? [];
    const module = path.replace(/\.py$/, '').replaceAll('/', '.');
    if (/^\s*(?:import|from)\s+streamlit\b/m.test(text)) {
      const line = `python3 -m streamlit run ${path} --server.port 8501 --server.address 127.0.0.1 --server.headless true`;
      return python(files, 'Streamlit', line, 8501);
    }
    if (app === undefined) continue;
    if (/\bFlask\(/.test(text)) {
      return python(files, 'Flask', `python3 -m flask --app ${module}:${app} run --debug --port 5000`, 5000);
    }
    const line = `python3 -m uvicorn ${module}:${app} --host 127.0.0.1 --port 8000 --reload`;
    return python(files, 'FastAPI (uvicorn)', line, 8000);
  }
  return undefined;
}

function fromGo({ files }: Project): FoundCommand | undefined {
  if (!files.has('go.mod') || !files.has('main.go')) return undefined;
  return { kind: 'Go', command: 'go run .', port: 8080, cwd: '' };
}

function fromStatic({ files }: Project): FoundCommand | undefined {
  const folder = ['', 'public/', 'dist/', 'build/'].find((each) => files.has(`${each}index.html`));
  if (folder === undefined) return undefined;
  const of = folder === '' ? '.' : folder.slice(0, -1);
  return {
    kind: 'static files',
    command: `exec python3 -m http.server 3000 --bind 127.0.0.1 --directory ${of}`,
    port: 3000,
    cwd: '',
  };
}

function python(files: ReadonlySet<string>, kind: string, line: string, port: number): FoundCommand {
  const install = installPython(files);
  return { kind, command: install === undefined ? line : inVenv(line), port, cwd: '', install };
}

function inVenv(line: string): string {
  return `. .venv/bin/activate && ${line}`;
}

function installPackages(files: ReadonlySet<string>): Install {
  const manager = managerOf(files);
  const lock = { npm: 'package-lock.json', pnpm: 'pnpm-lock.yaml', yarn: 'yarn.lock', bun: 'bun.lock' }[
    manager
  ];
  const hasLock = files.has(lock);
  const quiet = manager === 'npm' ? ' --no-audit --no-fund' : '';
  return {
    command: `${manager} ${manager === 'npm' && hasLock ? 'ci' : 'install'}${quiet}`,
    makes: 'node_modules',
    inputs: hasLock ? ['package.json', lock] : ['package.json'],
  };
}

function installPython(files: ReadonlySet<string>): Install | undefined {
  const input = ['requirements.txt', 'pyproject.toml'].find((each) => files.has(each));
  if (input === undefined) return undefined;
  const what = input === 'requirements.txt' ? '-r requirements.txt' : '.';
  return {
    command: `python3 -m venv .venv && .venv/bin/python -m pip install --quiet ${what}`,
    makes: '.venv',
    inputs: [input],
  };
}

function managerOf(files: ReadonlySet<string>): 'npm' | 'pnpm' | 'yarn' | 'bun' {
  if (files.has('pnpm-lock.yaml')) return 'pnpm';
  if (files.has('yarn.lock')) return 'yarn';
  return files.has('bun.lock') ? 'bun' : 'npm';
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
