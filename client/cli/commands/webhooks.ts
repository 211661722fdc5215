import type { NewWebhook, WebhookWithSecret } from '../../node/webhooks.ts';
import { type CommandSpec, type Context, joinWithOr, readChoice, UsageError } from '../command.ts';
import { plain, showTable } from '../print.ts';

const SCOPES = ['own', 'org', 'installation'] as const;
const SIGNATURES = ['hmac', 'ed25519'] as const;

/** What the command does, by its first word. */
const ACTIONS: Readonly<Record<string, (context: Context) => Promise<number>>> = {
  async list(context) {
    const { given, porthole, signal } = context;
    const hooks = await porthole.webhooks.list({ all: given.is('all'), signal });
    const rows = hooks.map(({ id, state, failing_since: failing, scope, events, url }) => [
      id,
      state === 'active' && failing !== null ? 'failing' : state,
      scope,
      events.join(','),
      url,
    ]);
    return showTable(context, hooks, [['ID', 'STATE', 'SCOPE', 'EVENTS', 'URL'], ...rows], 'No webhooks.');
  },

  async create(context) {
    const { given, porthole, signal } = context;
    // The API checks them.
    const events = given.texts('event') as NewWebhook['events'];
    if (events.length === 0) throw new UsageError("name an event: --event 'preview.*', or --event '*'.");
    const [scope, signature] = [
      readChoice(given, 'scope', SCOPES),
      readChoice(given, 'signature', SIGNATURES),
    ];
    const hook = { url: argument(context, 1, 'a URL'), events, scope, signature, signal };
    return showSecret(context, await porthole.webhooks.create(hook));
  },

  async test(context) {
    const id = webhookOf(context);
    await context.porthole.webhooks.test(id, context);
    return context.show({ id }, plain(`${id} gets a test event`));
  },

  async rotate(context) {
    return showSecret(context, await context.porthole.webhooks.rotate(webhookOf(context), context));
  },

  async enable(context) {
    const hook = await context.porthole.webhooks.enable(webhookOf(context), context);
    return context.show(hook, plain(`${hook.id} ${hook.state}`));
  },

  async delete(context) {
    const id = webhookOf(context);
    await context.porthole.webhooks.delete(id, context);
    return context.show({ id }, plain(`${id} deleted`));
  },

  async deliveries(context) {
    const found = await context.porthole.webhooks.deliveries(webhookOf(context), context);
    const rows = found.map(({ id, created_at: at, type, subject, state, attempts, error }) => [
      id,
      at,
      type,
      subject,
      state,
      String(attempts),
      error ?? '',
    ]);
    const head = ['ID', 'CREATED', 'TYPE', 'SUBJECT', 'STATE', 'ATTEMPTS', 'ERROR'];
    return showTable(context, found, [head, ...rows], 'No deliveries.');
  },

  async redeliver(context) {
    const delivery = argument(context, 2, 'a delivery');
    const found = await context.porthole.webhooks.redeliver(webhookOf(context), delivery, context);
    return context.show(found, plain(`${found.id} ${found.state}`));
  },
};

export const webhooksCommand: CommandSpec = {
  name: 'webhooks',
  usage: '[action] [webhook|url] [delivery]',
  summary: 'list, make and end webhooks, and see what they delivered',
  details:
    'Actions: list, create, test, rotate, enable, delete, deliveries and redeliver. create and rotate print the secret once. deliveries prints the newest 100.',
  options: {
    event: {
      type: 'string',
      multiple: true,
      value: 'TYPE',
      help: "create: an event it gets, a group such as 'preview.*', or '*'",
    },
    scope: {
      type: 'string',
      value: 'SCOPE',
      choices: SCOPES,
      help: `create: which events, ${joinWithOr(SCOPES)}; default own, what is yours; others are for admins`,
    },
    signature: {
      type: 'string',
      value: 'KIND',
      choices: SIGNATURES,
      help: 'create: hmac, by a secret, or ed25519, by a public key; default hmac',
    },
    all: { type: 'boolean', help: "list: everyone's, for admins" },
  },
  examples: [
    ["porthole webhooks create https://example.com/hook --event 'preview.*'", 'its id and its secret'],
    ['porthole webhooks', 'yours'],
    ['porthole webhooks test whk_01…', 'sends it an event'],
    ['porthole webhooks deliveries whk_01…', 'what it had to deliver, and why that failed'],
  ],
  async run(context) {
    const [word = 'list'] = context.given.positionals;
    const action = Object.hasOwn(ACTIONS, word) ? ACTIONS[word] : undefined;
    if (action !== undefined) return action(context);
    throw new UsageError(
      `webhooks does ${joinWithOr(Object.keys(ACTIONS))}, got ${JSON.stringify(word.slice(0, 80))}.`,
    );
  },
};

function webhookOf(context: Context): string {
  return argument(context, 1, 'a webhook');
}

/** @throws UsageError */
function argument({ given }: Context, at: number, what: string): string {
  const text = given.positionals[at];
  if (text !== undefined && text !== '') return text;
  throw new UsageError(`name ${what}: porthole webhooks ${given.positionals[0]} …`);
}

function showSecret({ show }: Context, hook: WebhookWithSecret): Promise<number> {
  return show(hook, plain(hook.id), plain(hook.secret ?? hook.public_keys[0] ?? ''));
}
