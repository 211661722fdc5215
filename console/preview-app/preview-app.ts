/** The page that chat applications show for `start_preview` and `look` (MCP Apps). */
import type { McpUiHostContext } from '@modelcontextprotocol/ext-apps';
import { plainText } from '../../base/plain-text.ts';
import { audienceOf } from '../src/previews/access-labels.ts';
import { ChatHost, type Json, objectIn, objectsIn, textIn } from './chat-host.ts';

/** Interval in milliseconds of polls for approvals while the call waits. */
const POLL = 2_000;
/** Interval in milliseconds of polls for the preview's state. */
const REFRESH = 15_000;
/** Clickjacking: a button that has just appeared takes no press for so long, in milliseconds. */
const SETTLE = 500;
/** Permissions of the page in the frame, on its own origin; it can never navigate this page. */
const SANDBOX = 'allow-scripts allow-forms allow-same-origin allow-popups allow-modals allow-downloads';

const byId = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;
const badge = byId('state');
const title = byId('title');
const words = byId('words');
const requests = byId('requests');
const frame = byId('frame');
const picture = byId('picture');
const reload = byId<HTMLButtonElement>('reload');
const open = byId<HTMLButtonElement>('open');

const setting = (name: string) =>
  document.querySelector<HTMLMetaElement>(`meta[name="porthole-${name}"]`)?.content ?? '';
/** The address of Porthole, and the domain of its previews. */
const porthole = setting('url');
const zone = setting('zone');

let input: Json = {};
let isWaiting = false;
let url: string | undefined;
let watching: ReturnType<typeof setInterval> | undefined;

const host = new ChatHost({
  onInput(given) {
    input = given;
    if (url !== undefined) return;
    show('busy', 'opening', 'Waiting for the preview to open.');
    isWaiting = true;
    void pollRequests();
  },
  onResult(result) {
    stopWaiting();
    void present(result);
  },
  onCancelled() {
    stopWaiting();
    show('off', 'cancelled', 'The call was cancelled. Ask the agent to open the preview again.');
  },
  onContext: applyTheme,
});

function stopWaiting(): void {
  isWaiting = false;
  requests.replaceChildren();
}

/** @param tone selects the colour */
function show(tone: 'good' | 'busy' | 'bad' | 'off', state: string, text: string): void {
  const port = portOf(input);
  title.textContent = port === undefined ? 'Preview' : `Preview of port ${port}`;
  badge.className = tone;
  badge.textContent = state;
  words.textContent = plainText(text, 600);
}

function portOf(value: Json, field = 'port'): number | undefined {
  const port = value[field];
  return typeof port === 'number' && Number.isInteger(port) ? port : undefined;
}

/** The same run as that of the tool call; without one, that of the session or the agent. */
function ofRun(): Json {
  const run = textIn(input, 'run_id');
  return run === '' ? {} : { run_id: run };
}

async function present(result: Json): Promise<void> {
  const [first] = objectsIn(result, 'content').filter(({ type }) => type === 'text');
  const text = textIn(first ?? {}, 'text');
  if (result['isError'] === true) return show('bad', 'not open', text);
  const data = objectIn(result, 'structuredContent');
  // `start_preview` nests the check of the page; `look` is one.
  const page = data['page'] === undefined ? data : objectIn(data, 'page');
  const check = textIn(page, 'result');
  if (check === 'broken') show('bad', 'broken', textIn(page, 'summary'));
  else if (check !== '') show('good', check, textIn(page, 'summary'));
  else if (data['ready'] === true) show('good', 'live', '');
  else show('busy', 'not serving yet', text);
  const given = textIn(data, 'preview_url');
  if (given !== '') setAddress(given);
  else if (!(await refresh())) showPicture(result);
  clearInterval(watching);
  watching = setInterval(() => void refresh(), REFRESH);
}

/** @returns whether the preview is live and its address known */
async function refresh(): Promise<boolean> {
  const answer = await host.call('list_previews', ofRun());
  if (answer === undefined) return url !== undefined;
  const port = portOf(input);
  const preview = objectsIn(answer, 'previews').find((each) => portOf(each, 'target_port') === port);
  if (preview === undefined) {
    if (url !== undefined) end();
    return false;
  }
  setAddress(textIn(preview, 'preview_url'));
  if (textIn(preview, 'reason') === 'sandbox_stopped') {
    show('off', 'stopped', 'The sandbox is stopped. Its next command starts it again.');
  }
  return url !== undefined;
}

function end(): void {
  clearInterval(watching);
  url = undefined;
  frame.replaceChildren();
  reload.hidden = open.hidden = true;
  show('off', 'ended', 'The preview has ended. Ask the agent to open it again.');
}

/** Only a preview of this Porthole is framed, whatever the message says. */
function setAddress(given: string): void {
  if (given === url || !URL.canParse(given)) return;
  const { protocol, hostname } = new URL(given);
  if (!/^https?:$/.test(protocol) || !hostname.endsWith(`.${zone}`)) return;
  url = given;
  reload.hidden = open.hidden = false;
  load();
}

/** Loads the start page: the location of a cross-origin frame cannot be read. */
function load(): void {
  if (url === undefined) return;
  const page = document.createElement('iframe');
  page.title = title.textContent ?? 'Preview';
  page.referrerPolicy = 'no-referrer';
  page.setAttribute('sandbox', SANDBOX);
  page.src = url;
  frame.replaceChildren(page);
  picture.replaceChildren();
}

/** The picture of `look`, where the chat lets this page call no tools. */
function showPicture(result: Json): void {
  const [image] = objectsIn(result, 'content').filter(({ type }) => type === 'image');
  const type = textIn(image ?? {}, 'mimeType');
  if (image === undefined || !/^image\/(png|jpeg)$/.test(type)) return;
  const shown = document.createElement('img');
  shown.alt = `What port ${portOf(input)} shows`;
  shown.src = `data:${type};base64,${textIn(image, 'data')}`;
  picture.replaceChildren(shown);
}

/** Shows what the call waits for, until its result arrives. */
async function pollRequests(): Promise<void> {
  const answer = await host.call('list_approvals', {});
  if (!isWaiting) return;
  setTimeout(() => void pollRequests(), answer === undefined ? REFRESH : POLL);
  if (answer === undefined) return askElsewhere();
  const run = textIn(input, 'run_id');
  const waiting = objectsIn(answer, 'approvals').filter(
    (each) =>
      textIn(each, 'tool') === 'start_preview' &&
      portOf(objectIn(each, 'arguments'), 'target_port') === portOf(input) &&
      (run === '' || textIn(each, 'run_id') === run),
  );
  const ids = new Set(waiting.map((each) => textIn(each, 'request_id')));
  const shown = [...requests.children] as HTMLElement[];
  for (const card of shown) if (!ids.has(card.dataset['request'] ?? '')) card.remove();
  const known = new Set(shown.map((card) => card.dataset['request']));
  requests.append(...waiting.filter((each) => !known.has(textIn(each, 'request_id'))).map(requestCard));
  if (waiting.length > 0) show('busy', 'waiting for you', '');
}

/** With the token of an agent nothing can be approved: the person decides in the console. */
function askElsewhere(): void {
  show('busy', 'opening', 'If it waits for an approval, decide in Porthole’s console.');
  if (porthole !== '') requests.replaceChildren(button('Open Porthole', '', () => host.open(porthole)));
}

function requestCard(request: Json): HTMLElement {
  const id = textIn(request, 'request_id');
  const card = document.createElement('section');
  card.dataset['request'] = id;
  const question = document.createElement('p');
  const run = plainText(textIn(request, 'run_title'), 80) || textIn(request, 'run_id');
  const port = portOf(objectIn(request, 'arguments'), 'target_port');
  const rotates = objectIn(request, 'arguments')['rotate'] === true;
  question.textContent = `${rotates ? 'Replace the' : 'Open a'} preview of port ${port} for run ${run}? ${audienceOf(textIn(request, 'level'))}.`;
  const decide = async (decision: 'approve' | 'deny') => {
    for (const each of card.querySelectorAll('button')) each.disabled = true;
    const body = { run_id: textIn(request, 'run_id'), request_id: id, decision };
    const decided = await host.call('decide_approval', body);
    // A refusal: it was decided elsewhere or has timed out. The next poll says what waits.
    if (decided === undefined) question.textContent = 'This request was not decided here: it is closed.';
    else question.textContent = decision === 'approve' ? 'Approved. The preview opens.' : 'Denied.';
    for (const each of card.querySelectorAll('button')) each.remove();
  };
  // Two presses: one press in a frame may be an accident, or stolen.
  const approve = button('Approve', 'primary', () => {
    approve.replaceWith(button('Confirm: open it', 'primary', () => decide('approve')));
  });
  card.append(
    question,
    approve,
    button('Deny', 'danger', () => decide('deny')),
  );
  return card;
}

function button(text: string, kind: string, onPress: () => unknown): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.className = kind;
  made.textContent = text;
  made.disabled = true;
  setTimeout(() => (made.disabled = false), SETTLE);
  made.addEventListener('click', ({ isTrusted }) => {
    if (isTrusted) onPress();
  });
  return made;
}

function applyTheme({ theme }: McpUiHostContext): void {
  if (theme === 'light' || theme === 'dark') document.documentElement.style.colorScheme = theme;
}

reload.addEventListener('click', () => {
  load();
  void refresh();
});
open.addEventListener('click', () => {
  if (url !== undefined) void host.open(url);
});
const main = byId('main');
new ResizeObserver(() => host.resized(Math.ceil(main.getBoundingClientRect().height))).observe(main);
applyTheme(await host.connect());
