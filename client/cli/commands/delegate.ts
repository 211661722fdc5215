import type { Scope } from '../../resources/delegations.ts';
import { choiceOf, type CommandSpec, UsageError } from '../command.ts';
import { findSandbox } from '../hold-sandbox.ts';
import { plain } from '../print.ts';
import { readDuration } from '../read-values.ts';

const SCOPES = ['fs:read', 'fs:write', 'exec'] as const satisfies readonly Scope[];

export const delegateCommand: CommandSpec = {
  name: 'delegate',
  usage: '<sandbox>',
  summary: 'share part of a sandbox, and print the configuration for the delegate',
  details:
    'The output on stdout contains the credential: anyone who has it can use what you share. It is the part of a run configuration with the sandbox, {"configurable": {"sandbox": …}}.',
  options: {
    scope: {
      type: 'string',
      multiple: true,
      value: 'SCOPE',
      choices: SCOPES,
      help: `${SCOPES.join(', ')}; default all three`,
    },
    command: { type: 'string', multiple: true, value: 'NAME', help: 'the only programs that may be run' },
    path: {
      type: 'string',
      multiple: true,
      value: 'PATH',
      help: 'the only folders that may be read and written; not with exec',
    },
    ttl: { type: 'string', value: 'TIME', help: 'how long; default 1h' },
    once: { type: 'boolean', help: 'it cannot be renewed' },
    label: { type: 'string', value: 'TEXT', help: 'whom it is for' },
    revoke: { type: 'string', value: 'ID', help: 'revoke one instead' },
    list: { type: 'boolean', help: 'list the active ones instead' },
  },
  examples: [
    ['porthole delegate try --scope fs:read --scope exec --command python3 --ttl 30m', 'some of it'],
    ['porthole delegate try --list', 'list delegations'],
  ],
  async run(context) {
    const { given, signal, show, note } = context;
    const scopes = given.texts('scope').map((text) => choiceOf('scope', text, SCOPES));
    const revoked = given.text('revoke');
    if (revoked === '')
      throw new UsageError('--revoke must be the id of a delegation, got "": --list names them.');
    const sandbox = await findSandbox(context);
    if (revoked !== undefined) {
      await sandbox.delegations.revoke(revoked, { signal });
      return show({ revoked }, `${revoked} revoked`);
    }
    if (given.is('list')) {
      const all = await sandbox.delegations.list({ signal });
      const lines = all.map(({ delegation_id: id, expires_at: until, label }) =>
        plain(`${id} until ${until} ${label ?? ''}`.trim()),
      );
      return show(all, ...lines);
    }
    const delegation = await sandbox.delegate({
      scopes: scopes.length === 0 ? (given.texts('path').length === 0 ? SCOPES : SCOPES.slice(0, 2)) : scopes,
      commands: given.texts('command').length === 0 ? undefined : given.texts('command'),
      paths: given.texts('path').length === 0 ? undefined : given.texts('path'),
      ttlSeconds: readDuration('ttl', given.text('ttl') ?? '1h'),
      renewable: given.is('once') ? false : undefined,
      label: given.text('label'),
      signal,
    });
    const config = delegation.sandboxConfig();
    if (!given.is('json')) await note(`${delegation.id} until ${delegation.expiresAt.toISOString()}`);
    return show({ ...delegation.toJSON(), config }, JSON.stringify(config));
  },
};
