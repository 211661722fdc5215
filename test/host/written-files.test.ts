import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { mcpClients } from './support/mcp-clients.ts';
import { makeRun, type MadeRun } from './support/runs.ts';
import { Porthole } from '../../client/index.ts';

/** Status of a refusal by a way to write, or what it says. */
type Way = (path: string, text: string) => Promise<unknown>;

/** Files of each kind, `old` before they are written. */
const FILES = `
cd /workspace && find . -mindepth 1 -delete
for mode in 600 640 755 700 444 666; do printf old > m$mode; chmod $mode m$mode; done
printf old > target; chmod 600 target
mkdir inner; printf old > inner/file; chmod 755 inner/file
ln -s target link; ln -s /workspace/target absolute; ln -s link chain
ln -s inner folder; ln -s ../target inner/up
ln -s new dangling; ln -s loop loop
ln -s /etc/passwd out; ln -s ../tmp/out-new out-dangling; ln -s /tmp out-folder
`;

describe('a write over what is there', () => {
  let porthole: TestHost;
  let run: MadeRun;
  const clients = mcpClients(() => porthole);
  beforeAll(async () => {
    porthole = await startTestHost();
    run = await makeRun(porthole);
  });
  afterAll(() => porthole.end());

  const sh = async (script: string) =>
    (await execute(porthole, run.sandboxId, ['sh', '-c', script])).stdout.toString();
  beforeEach(() => sh(FILES));

  const url = (rest: string) => new URL(`/v1/sandbox/${run.sandboxId}/${rest}`, porthole.host.url);
  const answered = async (response: Response) => {
    const body = await response.text();
    if (!response.ok) throw new Error(body);
    return body;
  };
  const callTool = async (name: string, args: Record<string, unknown>) => {
    const client = await clients.overHttp(run.agentToken);
    const result = await client.callTool({ name, arguments: args });
    if (result.isError === true) throw new Error(JSON.stringify(result.content));
  };
  const ways: Record<string, Way> = {
    PUT: async (path, body) => answered(await fetch(url(`file/workspace/${path}`), { method: 'PUT', body })),
    'a form': async (path, text) => {
      const form = new FormData();
      form.append('files', new Blob([text]), path);
      form.append('files', new Blob(['beside']), 'beside');
      return answered(await fetch(url('files'), { method: 'POST', body: form }));
    },
    write_file: (path, content) => callTool('write_file', { path, content }),
    edit_file: async (path, text) => {
      // What is not there yet cannot be edited.
      await sh(`[ -e ${path} ] || printf old > ${path}`);
      await callTool('edit_file', { path, old_text: 'old', new_text: text });
    },
    'the client': async (path, text) => {
      const client = new Porthole({ url: porthole.host.url });
      await (await client.sandboxes.find(run.sandboxId)).files.write(path, text);
    },
    'the upload of the client': async (path, text) => {
      const client = new Porthole({ url: porthole.host.url });
      await (await client.sandboxes.find(run.sandboxId)).files.upload({ [path]: text });
    },
  };

  describe.each(Object.entries(ways))('by %s', (_name, write) => {
    test('keeps its mode', async () => {
      for (const mode of ['600', '640', '755', '700', '444', '666']) await write(`m${mode}`, 'new');
      expect(await sh('stat -c "%n %a" m*; cat m*')).toBe(
        'm444 444\nm600 600\nm640 640\nm666 666\nm700 700\nm755 755\nnewnewnewnewnewnew',
      );
    });

    test('follows links in the workspace, to files and through folders', async () => {
      for (const path of ['link', 'absolute', 'chain', 'inner/up']) {
        await sh('printf old > target');
        await write(path, path);
        expect(await sh(`cat target; stat -c " %F %a" ${path} target`)).toBe(
          `${path} symbolic link 777\n regular file 600\n`,
        );
      }
      await write('folder/file', 'new');
      expect(await sh('cat inner/file; stat -c " %F %a" folder inner/file')).toBe(
        'new symbolic link 777\n regular file 755\n',
      );
    });

    test('makes the file to which a link leads', async () => {
      await write('dangling', 'new');
      expect(await sh('readlink dangling; cat new; stat -c " %a" new')).toBe('new\nnew 644\n');
    });

    test('writes nothing through a link that leaves the workspace, or leads nowhere', async () => {
      await sh('rm -f /tmp/out-new; printf old > /tmp/out-file');
      for (const path of ['out', 'out-dangling', 'out-folder/out-file', 'loop']) {
        await expect(write(path, 'new')).rejects.toThrow(/within \/workspace|not found|cannot be read/i);
      }
      expect(
        await sh('readlink out out-dangling loop; cat /tmp/out-file; ls /tmp/out-new beside 2>&1'),
      ).toMatch(/^\/etc\/passwd\n\.\.\/tmp\/out-new\nloop\nold.*/);
      expect(await sh('ls beside; grep -c new /etc/passwd')).toBe('0\n');
    });
  });

  test('makes new files that everyone may read, also where a temporary one is closed', async () => {
    await ways['PUT']?.('fresh', 'x');
    await ways['a form']?.('fresh-form', 'x');
    expect(await sh('stat -c "%n %a" fresh fresh-form')).toBe('fresh 644\nfresh-form 644\n');
  });

  test('by a tar replaces files and links, with the modes of its members', async () => {
    await sh(
      'mkdir /tmp/t; cd /tmp/t; printf new > m600; chmod 755 m600; printf new > link; tar cf /tmp/t.tar m600 link',
    );
    const tar = await sh('base64 -w0 /tmp/t.tar');
    await answered(await fetch(url('hydrate'), { method: 'POST', body: Buffer.from(tar, 'base64') }));
    expect(await sh('stat -c "%n %F %a" m600 link; cat target')).toBe(
      'm600 regular file 755\nlink regular file 644\nold',
    );
  });
});
