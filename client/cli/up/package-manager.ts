import type { Install, Project } from './find-command.ts';

export type ManagerName = 'npm' | 'pnpm' | 'yarn' | 'bun';

/** A program that a project needs and that an image may lack. It is a package of npm. */
export interface Tool {
  readonly name: string;
  /** With its version or a range, e.g. `pnpm@10.33.0`. */
  readonly package: string;
  /** Whether the project names the version: another one in the sandbox does not do. */
  readonly isExact: boolean;
  /** Variables of the tool, where it is used. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface PackageManager {
  readonly name: ManagerName;
  /** Undefined for npm, which comes with Node. */
  readonly tool?: Tool | undefined;
}

/** Where tools and their caches are: on the disk of the workspace, out of watched folders. */
export const TOOLS = '/workspace/.porthole/tools';
const CACHES = `${TOOLS}/node_modules`;

/** Files that decide, in this order, where no field of package.json does. */
const FILES: readonly (readonly [file: string, name: ManagerName])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['pnpm-workspace.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['.yarnrc.yml', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
];

const LOCKS: Readonly<Record<ManagerName, readonly string[]>> = {
  npm: ['package-lock.json', 'npm-shrinkwrap.json'],
  pnpm: ['pnpm-lock.yaml'],
  yarn: ['yarn.lock'],
  bun: ['bun.lock', 'bun.lockb'],
};

/** The package manager of a project: by its `packageManager`, and else by its files. */
export function packageManagerOf({ files, texts }: Pick<Project, 'files' | 'texts'>): PackageManager {
  const declared = declaredIn(texts.get('package.json') ?? '');
  const name = declared?.name ?? FILES.find(([file]) => files.has(file))?.[1] ?? 'npm';
  if (name === 'npm') return { name };
  const version = declared?.version ?? usualVersion(name, texts);
  const isBerry = name === 'yarn' && !/^[\^~]?[01]\b/.test(version);
  return {
    name,
    tool: {
      name,
      package: `${isBerry ? '@yarnpkg/cli-dist' : name}@${version}`,
      isExact: declared !== undefined,
      environment: isBerry ? BERRY : {},
    },
  };
}

/** The cache of Yarn is a part of the installation: it stays with the workspace. */
const BERRY: Tool['environment'] = {
  YARN_ENABLE_GLOBAL_CACHE: 'false',
  YARN_ENABLE_MIRROR: 'false',
  YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
  YARN_ENABLE_TELEMETRY: 'false',
};

export const DENO: Tool = {
  name: 'deno',
  package: 'deno@2',
  isExact: false,
  environment: { DENO_DIR: `${CACHES}/.deno`, DENO_TLS_CA_STORE: 'system,mozilla' },
};

/** The versions that read the project's lock file. */
function usualVersion(name: ManagerName, texts: Project['texts']): string {
  if (name === 'pnpm') {
    const [, lock] = /^lockfileVersion: ['"]?(\d)/m.exec(texts.get('pnpm-lock.yaml') ?? '') ?? [];
    return lock === '5' ? '7' : lock === '6' ? '8' : '10';
  }
  if (name === 'bun') return '1';
  const isClassic = texts.get('yarn.lock')?.includes('# yarn lockfile v1') === true;
  return isClassic ? '1' : '4';
}

/** `packageManager` of Corepack, without its hash; else `devEngines.packageManager`. */
function declaredIn(text: string): { readonly name: ManagerName; readonly version: string } | undefined {
  const { packageManager, devEngines } = parse(text);
  const own = typeof packageManager === 'string' ? packageManager : '';
  const [, exact, exactVersion] = /^(npm|pnpm|yarn|bun)@([\w.-]+)/.exec(own) ?? [];
  if (exactVersion !== undefined) return { name: exact as ManagerName, version: exactVersion };
  const { name, version } = devEngines?.packageManager ?? {};
  if (!isManager(name) || (version !== undefined && !/^[\w.^~-]+$/.test(version))) return undefined;
  return { name, version: version ?? usualVersion(name, new Map()) };
}

function isManager(name: unknown): name is ManagerName {
  return typeof name === 'string' && Object.hasOwn(LOCKS, name);
}

interface ManagedManifest {
  readonly packageManager?: unknown;
  readonly devEngines?: {
    readonly packageManager?: { readonly name?: unknown; readonly version?: string };
  };
}

function parse(text: string): ManagedManifest {
  try {
    return (JSON.parse(text) as ManagedManifest | null) ?? {};
  } catch {
    return {};
  }
}

const COMMANDS: Readonly<Record<ManagerName, string>> = {
  npm: 'npm install --no-audit --no-fund',
  pnpm: 'pnpm install',
  yarn: 'yarn install',
  bun: 'bun install',
};

/** Caches on the disk: the home folder of a sandbox may be small. pnpm 11 reads other names. */
const CACHE_VARIABLES: Readonly<Record<ManagerName, string>> = {
  npm: `npm_config_cache=${CACHES}/.npm`,
  pnpm: ['npm', 'pnpm']
    .flatMap((of) => [`${of}_config_store_dir=${CACHES}/.pnpm`, `${of}_config_confirm_modules_purge=false`])
    .join(' '),
  yarn: `YARN_CACHE_FOLDER=${CACHES}/.yarn`,
  bun: `BUN_INSTALL_CACHE_DIR=${CACHES}/.bun`,
};

/** How the packages of a project are installed. */
export function installPackages(project: Pick<Project, 'files' | 'texts'>): Install {
  const { name, tool } = packageManagerOf(project);
  const lock = LOCKS[name].find((file) => project.files.has(file));
  const line =
    name === 'npm' && lock !== undefined ? COMMANDS.npm.replace(' install', ' ci') : COMMANDS[name];
  const manifests = [...project.texts.keys()].filter((path) => path.endsWith('package.json')).toSorted();
  return {
    command: line,
    // Yarn's own cache is in the workspace by its variables.
    variables: tool?.environment === BERRY ? '' : CACHE_VARIABLES[name],
    makes: 'node_modules',
    inputs: lock === undefined ? manifests : ['package.json', lock],
  };
}

/**
 * A line that makes sure that a tool is there: the sandbox's own if any version does, and else the
 * package from npm, by the registry that is configured.
 */
export function provideTool({ name, package: wanted, isExact }: Tool): string {
  const marker = `${TOOLS}/node_modules/.${name}-of-porthole`;
  const has = `[ "$(cat ${marker} 2>/dev/null)" = '${wanted}' ]`;
  const install = `npm install --prefix ${TOOLS} --cache ${CACHES}/.npm --no-audit --no-fund --loglevel=error '${wanted}'`;
  const own = isExact ? '' : `command -v ${name} >/dev/null || `;
  return `${own}${has} || { mkdir -p ${TOOLS} && ${install} && printf %s '${wanted}' > ${marker}; }`;
}

/** A command line with the tool on its PATH. */
export function withTool(line: string, tool: Tool | undefined): string {
  if (tool === undefined) return line;
  const variables = Object.entries(tool.environment).map(([name, value]) => ` ${name}=${value}`);
  return `export PATH="${TOOLS}/node_modules/.bin:$PATH"${variables.join('')}; ${line}`;
}
