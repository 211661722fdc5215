import { type CommandSpec, UsageError } from '../command.ts';
import { readDuration, readTags } from '../read-values.ts';
import { readVariables } from '../read-variables.ts';
import { NETWORK_OPTIONS, networkOf } from './network.ts';

export const createCommand: CommandSpec = {
  name: 'create',
  usage: '[image]',
  summary: 'create a sandbox, and print its id',
  options: {
    name: { type: 'string', value: 'NAME', help: 'to find it by; unique among yours' },
    tag: { type: 'string', multiple: true, value: 'KEY=VALUE', help: 'to find it by' },
    ttl: {
      type: 'string',
      value: 'TIME',
      help: 'stop it, and keep its files, after this time without a heartbeat',
    },
    session: { type: 'string', value: 'KEY', help: 'the same key gives the same sandbox' },
    ...NETWORK_OPTIONS,
    env: {
      type: 'string',
      multiple: true,
      value: 'NAME[=VALUE]',
      help: 'without a value: copied from this shell',
    },
    cpu: { type: 'string', value: 'CORES', help: 'e.g. 0.5' },
    memory: { type: 'string', value: 'MB', help: 'of memory' },
    disk: { type: 'string', value: 'MB', help: 'of disk' },
    skill: { type: 'string', multiple: true, value: 'NAME', help: 'placed below /workspace/skills' },
    timeout: { type: 'string', value: 'TIME', help: 'stop it after this time, whatever it does' },
    'delete-on-timeout': { type: 'boolean', help: 'delete it then, with its files' },
    'delete-with-thread': { type: 'boolean', help: 'let delete --tag take it without --force' },
  },
  examples: [
    ['porthole create --name dev', 'one with a name'],
    ['porthole create python --tag thread_id=42 --ttl 1h', 'with an image, a tag and a time to live'],
  ],
  async run({ given, porthole, streams, signal, print }) {
    const ttl = given.text('ttl');
    const timeout = given.text('timeout');
    const resources = {
      cpu: number('cpu', given.text('cpu')),
      memoryMb: number('memory', given.text('memory')),
      diskMb: number('disk', given.text('disk')),
    };
    const env = readVariables(given.texts('env'), streams.environment);
    const sandbox = await porthole.sandboxes.create({
      image: given.positionals[0],
      name: given.text('name'),
      tags: given.texts('tag').length === 0 ? undefined : readTags(given.texts('tag')),
      sessionKey: given.text('session'),
      ttlSeconds: ttl === undefined ? undefined : readDuration('ttl', ttl),
      timeoutSeconds: timeout === undefined ? undefined : readDuration('timeout', timeout),
      onTimeout: given.is('delete-on-timeout') ? 'delete' : undefined,
      ...networkOf(given),
      env: Object.keys(env).length === 0 ? undefined : env,
      resources: Object.values(resources).every((each) => each === undefined) ? undefined : resources,
      skills: given.texts('skill').length === 0 ? undefined : given.texts('skill'),
      deleteWithThread: given.is('delete-with-thread') ? true : undefined,
      signal,
    });
    await print(given.is('json') ? JSON.stringify(await sandbox.refresh({ signal })) : sandbox.id);
    await sandbox.close();
    return 0;
  },
};

function number(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}(\.\d{1,3})?$/.test(text)) return Number(text);
  throw new UsageError(
    `--${option} must be a positive number of at most nine digits, got ${JSON.stringify(text)}.`,
  );
}
