/**
 * A client with a thread: creates its sandbox, or finds its earlier one, delegates part of it,
 * prints the configuration for the server, and keeps running.
 */
import { collect } from '#test/support/collect.ts';
import { Porthole } from '../../../client/index.ts';

const { PORTHOLE_URL: url = '', PORTHOLE_API_KEY: apiKey } = process.env;
const tags = { thread_id: '42', created_by: 'test' };
const porthole = new Porthole({ url, apiKey });

const [known] = await collect(porthole.sandboxes.list({ tags }));
await known?.resume();
const sandbox =
  known ?? (await porthole.sandboxes.create({ sessionKey: 'thread:42', tags, ttlSeconds: 600 }));
if (known === undefined) await sandbox.files.write('task.txt', 'count to three');
else sandbox.keepAlive(600);

const delegation = await sandbox.delegate({
  scopes: ['fs:read', 'fs:write', 'exec'],
  ttlSeconds: 600,
  label: 'the server',
});
const message = { found: known !== undefined, config: delegation.sandboxConfig() };
process.stdout.write(`${JSON.stringify(message)}\n`);
setInterval(() => undefined, 60_000);
