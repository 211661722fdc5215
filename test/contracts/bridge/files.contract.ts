import { describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import type { UnderTest } from '../bridge.contract.ts';
import { ask, get, put, refusal, run } from './bridge-client.ts';

const MAX = 33_554_432;

export function filesContract(bridge: UnderTest, id: () => string): void {
  describe('a file', () => {
    test.each([
      ['0 bytes', 0],
      ['1 byte', 1],
      ['1 MiB', 1 << 20],
      ['32 MiB', MAX],
    ])('comes back as it was written at a size of %s', async (_what, size) => {
      const bytes = randomBytes(size);
      const written = await put(bridge(), id(), 'workspace/data.bin', bytes);
      expect([written.status, written.json()]).toEqual([200, { ok: true }]);
      const read = await get(bridge(), id(), 'workspace/data.bin');
      expect([read.status, read.headers['content-type']]).toEqual([200, 'application/octet-stream']);
      expect(read.body.equals(bytes)).toBe(true);
    });

    test('is refused at 32 MiB and a byte, and leaves nothing behind', async () => {
      const answer = await put(bridge(), id(), 'workspace/too-large', Buffer.alloc(MAX + 1));
      expect(refusal(answer)).toEqual([
        413,
        'payload_too_large',
        'payload too large: 33554433 bytes exceeds the 33554432-byte limit',
      ]);
      expect((await get(bridge(), id(), 'workspace/too-large')).status).toBe(404);
    });

    test('is replaced whole, and keeps that it can be executed', async () => {
      await run(bridge(), id(), ['sh', '-c', 'printf "#!/bin/sh\\necho old\\n" > tool; chmod +x tool']);
      await put(bridge(), id(), 'workspace/tool', '#!/bin/sh\necho new\n');
      expect((await run(bridge(), id(), ['./tool'])).stdout.toString()).toBe('new\n');
    });

    test('makes the folders on its way', async () => {
      await put(bridge(), id(), 'workspace/a/b/c/file.txt', 'deep');
      expect((await run(bridge(), id(), ['cat', 'a/b/c/file.txt'])).stdout.toString()).toBe('deep');
    });

    test.each([
      ['a space', 'a b'],
      ['a percent sign', '100%'],
      ['an encoded slash in its name', 'a%2Fb'],
      ['a hash', 'a#b'],
      ['a plus', 'a+b'],
      ['a question mark', 'a?b'],
      ['an at', 'a@b'],
      ['quotes', `it's "so"`],
      ['UTF-8', 'é漢🚀'],
      ['a leading dash', '-rf'],
      ['a backslash', 'a\\b'],
      ['a newline', 'a\nb'],
      ['a dollar', '$HOME'],
      ['three dots', '...'],
    ])('may have %s in its name, and commands see that name', async (_what, name) => {
      const path = `workspace/names/${encodeURIComponent(name)}`;
      expect((await put(bridge(), id(), path, name)).status).toBe(200);
      expect((await get(bridge(), id(), path)).body.toString()).toBe(name);
      const { stdout } = await run(bridge(), id(), ['cat', `/workspace/names/${name}`]);
      expect(stdout.toString()).toBe(name);
    });

    test('returns 404 when it is not there', async () => {
      expect(refusal(await get(bridge(), id(), 'workspace/none'))).toEqual([
        404,
        'workspace_read_not_found',
        'File not found: /workspace/none',
      ]);
    });

    test.each(['GET', 'PUT'])('needs a path to be asked for by %s', async (method) => {
      expect(refusal(await ask(bridge(), method, `/v1/sandbox/${id()}/file/`))).toEqual([
        400,
        'invalid_request',
        'file path must not be empty',
      ]);
    });

    test.each([
      ['outside', 'etc/passwd'],
      ['climbing out', 'workspace/../etc/passwd'],
      ['climbing out, encoded', 'workspace/..%2f..%2fetc/passwd'],
      ['climbing out, encoded from the beginning', '..%2f..%2fetc/passwd'],
      ['beginning like the workspace', 'workspacefoo/a'],
      ['absolute within', '/etc/passwd'],
      ['the process itself', 'proc/self/environ'],
    ])('is refused when its path is %s', async (_what, path) => {
      const outside = [403, 'invalid_request', 'path must resolve to a location within /workspace'];
      expect(refusal(await get(bridge(), id(), path))).toEqual(outside);
      expect(refusal(await put(bridge(), id(), path, 'x'))).toEqual(outside);
    });

    test('is refused through links that leave the workspace', async () => {
      await run(bridge(), id(), [
        'sh',
        '-c',
        'ln -sfn /tmp outside; ln -sfn /etc/passwd secret; echo t > /tmp/there',
      ]);
      for (const path of ['workspace/outside/there', 'workspace/secret']) {
        expect((await get(bridge(), id(), path)).status).toBe(403);
        expect((await put(bridge(), id(), path, 'x')).status).toBe(403);
      }
      expect((await put(bridge(), id(), 'workspace/outside/new/file', 'x')).status).toBe(403);
      expect(
        (await run(bridge(), id(), ['sh', '-c', 'cat /tmp/there; ls -A /tmp/new'])).stdout.toString(),
      ).toBe('t\n');
    });

    test('is reached through links that stay inside', async () => {
      await run(bridge(), id(), [
        'sh',
        '-c',
        'mkdir -p real; ln -sfn real linked; ln -sfn real/x to-file; echo x > real/x',
      ]);
      expect((await get(bridge(), id(), 'workspace/linked/x')).body.toString()).toBe('x\n');
      await put(bridge(), id(), 'workspace/to-file', 'through');
      expect((await run(bridge(), id(), ['cat', 'real/x'])).stdout.toString()).toBe('through');
    });

    test('is refused when its path is a folder', async () => {
      await run(bridge(), id(), ['mkdir', '-p', 'folder']);
      expect((await get(bridge(), id(), 'workspace/folder')).status).toBe(400);
      expect((await put(bridge(), id(), 'workspace/folder', 'x')).status).toBe(400);
      expect((await put(bridge(), id(), 'workspace', 'x')).status).toBe(400);
    });

    test('comes whole when 20 are transferred at once', async () => {
      const files = Array.from({ length: 20 }, (_, at) => Buffer.alloc(200_000, at));
      await Promise.all(files.map((bytes, at) => put(bridge(), id(), `workspace/many/${at}`, bytes)));
      const read = await Promise.all(files.map((_, at) => get(bridge(), id(), `workspace/many/${at}`)));
      expect(read.every(({ body }, at) => body.equals(files[at] as Buffer))).toBe(true);
    });
  });
}
