/** A user's action in the page, or an expected sight. Selectors are Playwright's. */
export type Step =
  | readonly ['see', selector: string, text: string]
  | readonly ['fill', selector: string, value: string]
  | readonly ['click', selector: string]
  | readonly ['press', selector: string, key: string]
  /** Selects a file of this name and content. */
  | readonly ['upload', selector: string, name: string, content: string];

/** Replaces text in one of the project's files. */
export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export interface Framework {
  readonly name: string;
  /** A folder of `projects`. Its `package.json` or `requirements.txt` names exact versions. */
  readonly project: string;
  /** Runs with `npm test`; the others with `npm run test:frameworks`. */
  readonly core?: true;
  /** Has separate packages in a folder of the installation, and compiles these of them. */
  readonly nativeBuild?: { readonly folder: string; readonly modules: readonly string[] };
  /** Run by `sh` in the project's folder, with the installation's commands on the PATH. */
  readonly start: string;
  readonly port: number;
  /** Default: `/`. */
  readonly path?: string;
  /** The frame with the content, if the page uses one. */
  readonly frame?: string;
  readonly page: readonly Step[];
  /** Path of a script or style sheet that the page loads. */
  readonly asset: RegExp;
  /** A form post, in the current page, or in the one at `at`. */
  readonly form: { readonly at?: string; readonly steps: readonly Step[] };
  /** Path of a WebSocket that the page opens, or why the framework has none. */
  readonly socket: RegExp | { readonly none: string };
  /** Errors that the framework also logs without Porthole. */
  readonly noise?: RegExp;
  /** How an edit appears: in the same document, or after a reload by the framework or the user. */
  readonly live: {
    readonly how: 'same document' | 'own reload' | 'manual reload';
    /** Continues in the page after the form: navigating would abort its pending requests. */
    readonly stays?: true;
    /** Steps before the edit; default: the steps of `page`. */
    readonly before?: readonly Step[];
    readonly edit?: Edit;
    readonly steps: readonly Step[];
  };
}

const FIRST = 'First version';
const SECOND = 'Second version';

const HEADING = ['see', 'h1', FIRST] as const;
/** An edit that arrives before hydration would not be shown. */
const HYDRATED = ['see', 'form[data-hydrated=true] button', 'Greet'] as const;

const headingEdit = (how: Framework['live']['how'], file: string): Framework['live'] => ({
  how,
  edit: { file, from: FIRST, to: SECOND },
  steps: [['see', 'h1', SECOND]],
});

/** The form of most projects. */
const greet = (output: string, input = 'input[name=name]', button = 'text=Greet >> nth=-1'): Step[] => [
  ['fill', input, 'Ada'],
  ['click', button],
  ['see', output, 'Hello, Ada'],
];

const next = (bundler: 'webpack' | 'Turbopack'): Framework => ({
  name: `Next (${bundler})`,
  project: 'next',
  start: `next dev --${bundler.toLowerCase()}`,
  port: 3000,
  page: [HEADING, HYDRATED],
  asset: /^\/_next\/static\/chunks\/.*\.js$/,
  form: { steps: [HYDRATED, ...greet('output')] },
  socket: /^\/_next\//,
  live: headingEdit('same document', 'app/page.js'),
});

export const FRAMEWORKS: readonly Framework[] = [
  {
    name: 'Vite',
    project: 'vite',
    core: true,
    start: 'vite',
    port: 5173,
    page: [HEADING],
    asset: /^\/src\/main\.js$/,
    form: { steps: greet('h1') },
    socket: /^\/$/,
    live: headingEdit('same document', 'src/heading.js'),
  },
  next('webpack'),
  { ...next('Turbopack'), core: true },
  {
    name: 'Astro',
    project: 'astro',
    start: 'astro dev',
    port: 4321,
    page: [HEADING],
    asset: /^\/@vite\/client$/,
    form: { steps: greet('output') },
    socket: /^\/$/,
    live: headingEdit('own reload', 'src/pages/index.astro'),
  },
  {
    name: 'SvelteKit',
    project: 'sveltekit',
    start: 'vite dev',
    port: 5173,
    page: [HEADING, HYDRATED],
    asset: /\/client\/entry\.js$|\/start\.js$/,
    form: { steps: greet('output') },
    socket: /^\/$/,
    live: headingEdit('same document', 'src/routes/+page.svelte'),
  },
  {
    name: 'Nuxt',
    project: 'nuxt',
    start: 'nuxt dev',
    port: 3000,
    page: [HEADING, HYDRATED],
    asset: /^\/_nuxt\/@vite\/client$/,
    form: { steps: greet('h1') },
    socket: /^\/_nuxt\//,
    live: headingEdit('same document', 'app/app.vue'),
  },
  {
    name: 'webpack-dev-server',
    project: 'webpack',
    core: true,
    start: 'webpack serve',
    port: 8080,
    page: [HEADING],
    asset: /^\/main\.js$/,
    form: { steps: greet('h1') },
    socket: /^\/ws$/,
    live: headingEdit('same document', 'src/heading.js'),
  },
  {
    name: 'Storybook',
    project: 'storybook',
    start: 'storybook dev --port 6006 --ci',
    port: 6006,
    path: '/?path=/story/heading--primary',
    frame: '#storybook-preview-iframe',
    page: [HEADING],
    asset: /^\/sb-manager\/runtime\.js$/,
    form: { steps: greet('h1') },
    socket: /^\//,
    live: headingEdit('same document', 'stories/heading.js'),
  },
  {
    name: 'Angular',
    project: 'angular',
    start: 'node api.js & ng serve',
    port: 4200,
    page: [HEADING],
    asset: /^\/main\.js$/,
    form: { steps: greet('h1') },
    socket: /^\/$/,
    live: headingEdit('same document', 'src/app.html'),
  },
  {
    name: 'Django',
    project: 'django',
    core: true,
    start:
      'python3 manage.py migrate && DJANGO_SUPERUSER_PASSWORD=secret python3 manage.py createsuperuser --noinput --username ada --email ada@example.com && python3 manage.py runserver',
    port: 8000,
    page: [HEADING, ['see', 'output', 'welcome']],
    asset: /^\/static\/admin\/css\/base\.css$/,
    form: {
      at: '/admin/',
      steps: [
        ['fill', '#id_username', 'ada'],
        ['fill', '#id_password', 'secret'],
        ['click', 'input[type=submit]'],
        ['see', '#user-tools strong', 'ada'],
      ],
    },
    socket: /^\/ws$/,
    live: headingEdit('manual reload', 'shop/templates/index.html'),
  },
  {
    name: 'Flask',
    project: 'flask',
    start: 'python3 -m flask run --debug',
    port: 5000,
    page: [HEADING, ['see', 'output', 'welcome']],
    asset: /^\/static\/style\.css$/,
    form: { steps: greet('p') },
    socket: /^\/ws$/,
    live: headingEdit('manual reload', 'templates/index.html'),
  },
  {
    name: 'FastAPI',
    project: 'fastapi',
    start: 'python3 -m uvicorn main:app --reload',
    port: 8000,
    page: [HEADING, ['see', 'output', 'welcome']],
    asset: /^\/static\/style\.css$/,
    form: { steps: greet('p') },
    socket: /^\/ws$/,
    live: headingEdit('manual reload', 'templates/index.html'),
  },
  {
    name: 'Express and Socket.IO',
    project: 'express',
    start: 'node server.js',
    port: 3000,
    page: [HEADING],
    asset: /^\/socket\.io\/socket\.io\.js$/,
    form: { steps: greet('h1') },
    socket: /^\/socket\.io\/$/,
    live: headingEdit('same document', 'heading.txt'),
  },
  {
    name: 'Jupyter Lab',
    project: 'jupyter',
    start: 'JUPYTER_TOKEN=secret python3 -m jupyterlab --no-browser',
    port: 8888,
    path: '/lab/tree/notes.ipynb',
    page: [['see', 'button#login_submit', 'Log in']],
    asset: /^\/static\/.*\.css$/,
    form: {
      steps: [
        ['fill', '#password_input', 'secret'],
        ['click', '#login_submit'],
        ['see', '.jp-Notebook .cm-content', 'six times seven'],
      ],
    },
    socket: /^\/api\/kernels\/.*\/channels$/,
    live: {
      how: 'same document',
      before: [['see', '#jp-main-statusbar', 'Idle']],
      steps: [
        ['click', '.jp-Notebook .cm-content'],
        ['press', '.jp-Notebook .cm-content', 'Shift+Enter'],
        ['see', '.jp-OutputArea-output', 'six times seven is 42'],
      ],
    },
  },
  {
    name: 'Streamlit',
    project: 'streamlit',
    start: 'python3 -m streamlit run app.py --server.headless true',
    port: 8501,
    page: [HEADING],
    asset: /^\/static\/js\/.*\.js$/,
    form: {
      steps: [
        ...greet('.stForm', 'input[type=text]', 'button:has-text("Greet")'),
        ['upload', 'input[type=file]', 'data.csv', '1,2,3'],
        ['see', '.stApp', 'data.csv has 5 bytes'],
      ],
    },
    socket: /^\/_stcore\/stream$/,
    // Its metrics service is on the Internet.
    noise: /metrics config/,
    live: {
      how: 'same document',
      stays: true,
      edit: { file: 'posts.txt', from: 'First post', to: 'Second post' },
      steps: [['see', '.stApp', 'Second post']],
    },
  },
  {
    name: 'Gradio',
    project: 'gradio',
    start: 'python3 app.py',
    port: 7860,
    page: [HEADING],
    asset: /^\/assets\/.*\.js$/,
    form: {
      steps: [
        ['fill', 'label:has-text("Name") >> textarea, input', 'Ada'],
        ['click', 'button:has-text("Greet")'],
        ['see', '.gradio-container', 'Hello, Ada'],
      ],
    },
    socket: { none: 'it streams events over HTTP' },
    live: {
      how: 'same document',
      stays: true,
      edit: { file: 'posts.txt', from: 'First post', to: 'Second post' },
      steps: [['see', '.gradio-container', 'Second post']],
    },
  },
  {
    name: 'code-server',
    project: 'code-server',
    nativeBuild: {
      folder: 'node_modules/code-server/lib/vscode',
      modules: ['@vscode/native-watchdog', '@vscode/spdlog', 'node-pty'],
    },
    start: 'PASSWORD=secret code-server --disable-workspace-trust --disable-telemetry .',
    port: 8080,
    page: [['see', '.card-box .header', 'Welcome to code-server']],
    asset: /^\/_static\/.*\.css$/,
    form: {
      steps: [
        ['fill', 'input[type=password]', 'secret'],
        ['click', 'input[type=submit]'],
        ['see', '.monaco-workbench .explorer-folders-view', 'notes.txt'],
      ],
    },
    socket: /^\//,
    // `vsda` is not in the package, GitHub is unreachable here, and navigation cancels the pending
    // requests of the previous page.
    noise: /vsda|authentication provider 'github' to register|ERR color: #f33 (?:Error: )?Canceled/,
    live: {
      how: 'same document',
      stays: true,
      before: [
        ['click', '.explorer-folders-view >> text=notes.txt'],
        ['see', '.monaco-editor .view-lines', FIRST],
      ],
      edit: { file: 'notes.txt', from: FIRST, to: SECOND },
      steps: [['see', '.monaco-editor .view-lines', SECOND]],
    },
  },
];

/**
 * The frameworks of these projects, `all`, or the core without names.
 * @throws Error for an unknown project
 */
export function selectFrameworks(names: readonly string[]): readonly Framework[] {
  if (names.length === 0) return FRAMEWORKS.filter((framework) => framework.core);
  if (names.includes('all')) return FRAMEWORKS;
  for (const name of names) {
    if (FRAMEWORKS.some(({ project }) => project === name)) continue;
    const known = [...new Set(FRAMEWORKS.map(({ project }) => project))].join(', ');
    throw new Error(`No framework is called ${name}: name some of ${known}, or all.`);
  }
  return FRAMEWORKS.filter(({ project }) => names.includes(project));
}
