import { Porthole } from '@porthole/client';
import { PortholeBackend } from '@porthole/integrations/deepagents';

await using sandbox = await new Porthole().sandboxes.create({ onExit: 'delete' });
const backend = new PortholeBackend(sandbox, { timeoutMs: 2_000 });
const large = new Uint8Array(3_000_000).fill(255);
const uploaded = await backend.uploadFiles([
  ["/tmp/it's here/a.bin", large],
  ['/workspace/notes/b.txt', new TextEncoder().encode('one\ntwo\n')],
  ['relative.txt', large],
  ['/workspace', large],
]);
const downloaded = await backend.downloadFiles(["/tmp/it's here/a.bin", '/workspace/none', '/tmp']);
console.log(
  JSON.stringify({
    order: await backend.execute('echo out; echo err >&2; echo out; exit 3'),
    timed: (await backend.execute('echo begun; sleep 30')).exitCode,
    cut: (({ output, truncated }) => [output.length, truncated])(
      await backend.execute('head -c 2000000 /dev/zero | tr "\\0" x'),
    ),
    uploaded: uploaded.map(({ error }) => error),
    downloaded: downloaded.map(({ content, error }) => [content?.length ?? null, error]),
    same: Buffer.compare(downloaded[0]?.content ?? new Uint8Array(), large) === 0,
    edited: (await backend.edit('/workspace/notes/b.txt', 'two', 'three')).error ?? null,
    read: (await backend.read('/workspace/notes/b.txt')).content,
    found: (await backend.grep('three', '/workspace')).matches?.map(({ path, line }) => [path, line]),
    listed: (await backend.ls('/workspace/notes')).files?.map(({ path }) => path),
  }),
);
