import { execFileSync } from 'node:child_process';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Answer, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { skillTar, skillText, tarOf } from '#test/support/skill-tar.ts';
import { execute } from './support/commands.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE } from './support/people.ts';
import { outcome } from './support/runs.ts';

interface Skill {
  readonly name: string;
  readonly description: string;
  readonly shared: boolean;
}
interface Placed {
  readonly name: string;
  readonly kept: readonly string[];
}

describe('skills', () => {
  let porthole: TestHost;
  const put = (name: string, body: Buffer | string, token = ALICE, query = '') =>
    porthole.call('PUT', `/api/skills/${name}${query}`, { token, body });
  const list = async (token: string, query = '') => {
    const answer = await porthole.call('GET', `/api/skills${query}`, { token });
    return answer.json<{ skills: Skill[]; next: string | null }>();
  };
  const create = (skills: readonly string[], token = ALICE): Promise<Answer> =>
    porthole.call('POST', '/v1/sandbox', { token, body: { skills } });
  const made = async (skills: readonly string[]) => {
    const answer = await create(skills);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.json<{ id: string }>().id;
  };
  const sh = async (id: string, script: string) => {
    const { stdout, stderr } = await execute(porthole, id, ['sh', '-c', script], { token: ALICE });
    return `${stdout.toString()}${stderr.toString()}`;
  };
  const asAlice = (method: string, path: string) => porthole.call(method, path, { token: ALICE });
  const restart = async (id: string) => {
    await asAlice('POST', `/v1/sandbox/${id}/stop`);
    return (await asAlice('POST', `/v1/sandbox/${id}/resume`)).json<{ skills: Placed[] }>();
  };
  const sandboxes = async () =>
    (await asAlice('GET', '/v1/sandbox')).json<{ sandboxes: object[] }>().sandboxes.length;

  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE);
  });
  afterAll(() => porthole.end());

  describe('in the catalogue', () => {
    test('are added, replaced, read and deleted', async () => {
      const first = await put('pdf', skillTar('pdf', { 'scripts/fill.py': 'print(1)\n' }));
      expect(first.status).toBe(201);
      expect(first.json()).toMatchObject({
        name: 'pdf',
        description: 'What pdf does',
        shared: false,
        size: 56,
        files: [
          { path: 'SKILL.md', size: 47 },
          { path: 'scripts/fill.py', size: 9 },
        ],
      });
      const second = await put('pdf', skillTar('pdf'));
      expect(second.status).toBe(200);
      expect(second.json()['digest']).not.toBe(first.json()['digest']);
      expect((await asAlice('GET', '/api/skills/pdf')).json()).toEqual(second.json());
      expect((await asAlice('DELETE', '/api/skills/pdf')).status).toBe(204);
      expect(outcome(await asAlice('DELETE', '/api/skills/pdf'))).toEqual([404, 'skill_not_found']);
      expect(outcome(await asAlice('GET', '/api/skills/pdf'))).toEqual([404, 'skill_not_found']);
    });

    test('have the same digest for the same files, however they were packed', async () => {
      const tar = skillTar('same', { 'b/a': '1', c: '2' });
      const digests = [];
      for (const each of [tar, gzipSync(tar), tarOf({ c: '2', 'b/a': '1', 'SKILL.md': skillText('same') })]) {
        digests.push((await put('same', each)).json()['digest']);
      }
      expect(new Set(digests).size).toBe(1);
    });

    test('come as tar makes them of a folder', async () => {
      const script =
        'd=$(mktemp -d) && mkdir "$d/s" && printf "%s" "$1" >"$d/SKILL.md" && echo x >"$d/s/a b.txt" && tar -C "$d" -czf - . && rm -r "$d"';
      const tar = execFileSync('sh', ['-c', script, 'sh', skillText('real')]);
      const answer = await put('real', tar);
      expect(answer.json<{ files: { path: string }[] }>().files.map(({ path }) => path)).toEqual([
        'SKILL.md',
        's/a b.txt',
      ]);
    });

    test('are shared when an admin says so, and a user’s own skill comes first', async () => {
      expect(outcome(await put('house', skillTar('house'), ALICE, '?shared=true'))).toEqual([
        403,
        'forbidden',
      ]);
      expect((await put('house', skillTar('house'), ADA_ADMIN, '?shared=true')).status).toBe(201);
      const own = tarOf({ 'SKILL.md': skillText('house', 'Alice’s') });
      expect((await put('house', own)).status).toBe(201);
      const reported = async (token: string) =>
        (await list(token)).skills
          .filter(({ name }) => name === 'house')
          .map(({ description, shared }) => [description, shared]);
      expect(await reported(ALICE)).toEqual([['Alice’s', false]]);
      expect(await reported(BOB)).toEqual([['What house does', true]]);
      expect(outcome(await porthole.call('DELETE', '/api/skills/house', { token: BOB }))).toEqual([
        404,
        'skill_not_found',
      ]);
      expect((await asAlice('DELETE', '/api/skills/house')).status).toBe(204);
      expect(await reported(ALICE)).toEqual([['What house does', true]]);
      const path = '/api/skills/house?shared=true';
      expect(outcome(await asAlice('DELETE', path))).toEqual([403, 'forbidden']);
      expect((await porthole.call('DELETE', path, { token: ADA_ADMIN })).status).toBe(204);
    });

    test('are listed by name, page by page, without those of other users', async () => {
      for (const name of ['z3', 'z1', 'z2']) await put(name, skillTar(name), BOB);
      const first = await list(BOB, '?limit=2');
      expect([first.skills.map(({ name }) => name), first.next]).toEqual([['z1', 'z2'], 'z2']);
      const second = await list(BOB, `?limit=2&after=${first.next}`);
      expect([second.skills.map(({ name }) => name), second.next]).toEqual([['z3'], null]);
      expect((await list(ALICE)).skills.map(({ name }) => name)).not.toContain('z1');
    });
  });

  describe('are refused', () => {
    const link = (path: string, target: string, flag: string) => {
      const entry = Buffer.from(tarOf({ [path]: '' }).subarray(0, 512));
      entry.write(flag, 156);
      entry.write(target, 157);
      entry.write('        ', 148);
      const sum = entry.reduce((total, byte) => total + byte, 0);
      entry.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
      return Buffer.concat([entry, skillTar('bad')]);
    };
    const about = (text: string) => tarOf({ 'SKILL.md': text });
    test.each<[string, Buffer, RegExp]>([
      ['empty', Buffer.alloc(0), /it is empty/],
      ['no tar', Buffer.from('x'.repeat(2_000)), /checksum/],
      ['half a tar', skillTar('bad').subarray(0, 700), /cut off/],
      ['broken gzip', Buffer.from([0x1f, 0x8b, 1, 2, 3]), /gzip cannot be read/],
      [
        'a bomb',
        gzipSync(tarOf({ 'SKILL.md': skillText('bad'), zeros: Buffer.alloc(40_000_000) })),
        /more than 33554432 bytes/,
      ],
      ['a link out of it', link('a', '/etc/passwd', '2'), /"a" is a symlink/],
      ['a link within it', link('a', 'SKILL.md', '2'), /"a" is a symlink/],
      ['a pipe', link('a', '', '6'), /"a" is a fifo/],
      ['a device', link('a', '', '3'), /character device/],
      ['a name that leaves it', tarOf({ '../SKILL.md': skillText('bad') }), /has ".." in it/],
      ['an absolute name', tarOf({ '/SKILL.md': skillText('bad') }), /absolute/],
      ['a name of two lines', tarOf({ 'SKILL.md': skillText('bad'), 'a\nb': '' }), /control character/],
      [
        'a very long name',
        tarOf({ 'SKILL.md': skillText('bad'), [`${'d'.repeat(100)}/${'e'.repeat(98)}`]: '' }),
        /too long/,
      ],
      [
        'too many files',
        tarOf(Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`f${at}`, '']))),
        /more than 1000 files/,
      ],
      [
        'its folder and not what is in it',
        tarOf({ 'bad/SKILL.md': skillText('bad') }),
        /no SKILL\.md at its root/,
      ],
      ['no front matter', about('# bad'), /does not begin with a front matter/],
      ['a front matter that does not end', about('---\nname: bad\n'), /does not begin with a front matter/],
      ['no YAML', about('---\nname: [\n---\n'), /cannot be read/],
      ['a tag', about('---\nname: !!js/function bad\ndescription: d\n---\n'), /cannot be read/],
      ['an alias', about('---\nname: &a bad\ndescription: *a\n---\n'), /cannot be read/],
      ['a key twice', about('---\nname: bad\nname: bad\ndescription: d\n---\n'), /cannot be read/],
      ['a deep nest', about(`---\nname: ${'['.repeat(9_000)}\n---\n`), /cannot be read/],
      ['a list', about('---\n- name\n---\n'), /not a mapping/],
      ['no name', about('---\ndescription: d\n---\n'), /name in SKILL.md must be 1 to 64 .* got none/],
      ['another name', about(skillText('good')), /names it good, and the URL bad/],
      ['no description', about('---\nname: bad\n---\n'), /description in SKILL.md must be/],
      ['an empty description', about(skillText('bad', ' ')), /description in SKILL.md must be/],
      ['a long description', about(skillText('bad', 'd'.repeat(1_025))), /1 to 1024/],
      ['bytes that are no text', tarOf({ 'SKILL.md': Buffer.from([0xff, 0xfe]) }), /not UTF-8/],
    ])('%s', async (_what, body, message) => {
      const answer = await put('bad', body);
      expect(outcome(answer)).toEqual([400, 'invalid_request']);
      expect(answer.json()['error']).toMatch(message);
      expect(outcome(await asAlice('GET', '/api/skills/bad'))).toEqual([404, 'skill_not_found']);
    });

    test.each(['Upper', 'a--b', '-a', 'a'.repeat(65), 'a_b'])('rejects the name %s', async (name) => {
      expect(outcome(await put(name, skillTar('bad')))).toEqual([400, 'invalid_request']);
    });

    test('rejects more than may be sent', async () => {
      const answer = await put('bad', tarOf({ 'SKILL.md': skillText('bad'), big: Buffer.alloc(8_388_608) }));
      expect(outcome(answer)).toEqual([413, 'payload_too_large']);
    });
  });

  describe('in a sandbox', () => {
    beforeEach(async () => {
      await put(
        'pdf',
        skillTar('pdf', { 'scripts/fill.sh!': 'echo filled\n', 'old.md': 'old\n', 'note.md': '1\n' }),
      );
      await put('xls', skillTar('xls'));
    });

    test('lie below /workspace/skills before the first command', async () => {
      const id = await made(['pdf', 'xls']);
      expect(
        await sh(id, 'cd skills && find . -type f | sort && ./pdf/scripts/fill.sh && ls -A /workspace'),
      ).toBe(
        './.porthole\n./pdf/SKILL.md\n./pdf/note.md\n./pdf/old.md\n./pdf/scripts/fill.sh\n./xls/SKILL.md\nfilled\noutputs\nskills\n',
      );
      expect((await asAlice('GET', `/v1/sandbox/${id}`)).json()['skills']).toEqual([
        { name: 'pdf', digest: expect.stringMatching(/^[0-9a-f]{64}$/), kept: [] },
        { name: 'xls', digest: expect.stringMatching(/^[0-9a-f]{64}$/), kept: [] },
      ]);
    });

    test('are brought up to date by a resume: what is new comes, what is gone goes', async () => {
      const id = await made(['pdf', 'xls']);
      await put(
        'pdf',
        skillTar('pdf', { 'scripts/fill.sh!': 'echo better\n', 'more/new.md': 'new\n', 'note.md': '1\n' }),
      );
      const { skills } = await restart(id);
      expect(skills.map(({ kept }) => kept)).toEqual([[], []]);
      expect(
        await sh(id, 'cd skills && ./pdf/scripts/fill.sh; cat pdf/more/new.md pdf/note.md; ls pdf'),
      ).toBe('better\nnew\n1\nSKILL.md\nmore\nnote.md\nscripts\n');
    });

    test('are brought up to date by the command that wakes it', async () => {
      const id = await made(['pdf']);
      await put('pdf', skillTar('pdf', { 'note.md': '2\n' }));
      await asAlice('POST', `/v1/sandbox/${id}/stop`);
      expect(await sh(id, 'cat skills/pdf/note.md')).toBe('2\n');
    });

    test('leave alone what the user has changed, made or deleted, and tell of it', async () => {
      const id = await made(['pdf', 'xls']);
      await sh(
        id,
        'cd skills/pdf && echo mine >note.md && echo mine >old.md && mkdir -p more && echo mine >more/new.md && echo mine >my.md && rm scripts/fill.sh && ln -s /tmp linked',
      );
      await put(
        'pdf',
        skillTar('pdf', {
          'note.md': '2\n',
          'more/new.md': 'new\n',
          'more/other.md': 'o\n',
          'linked/x': 'x',
          'scripts/fill.sh': '2',
        }),
      );
      const { skills } = await restart(id);
      expect(skills[0]?.kept).toEqual(['pdf/linked/x', 'pdf/more/new.md', 'pdf/note.md']);
      expect(
        await sh(
          id,
          'cd skills/pdf && cat note.md old.md more/new.md my.md more/other.md; cat scripts/fill.sh; ls /tmp/x 2>&1 | wc -l; readlink linked',
        ),
      ).toBe('mine\nmine\nmine\nmine\no\n21\n/tmp\n');
      // The user's own skill stays the user's.
      await put('pdf', skillTar('pdf', { 'note.md': '3\n' }));
      expect((await restart(id)).skills[0]?.kept).toEqual(['pdf/note.md']);
      expect(await sh(id, 'cat skills/pdf/note.md skills/pdf/old.md; ls skills/pdf/more')).toBe(
        'mine\nmine\nnew.md\n',
      );
    });

    test.each([
      ['a file', 'rm -r skills && echo mine >skills', 'cat skills', 'mine\n'],
      ['a link', 'rm -r skills && mkdir /tmp/s && ln -s /tmp/s skills', 'ls -A /tmp/s', ''],
      [
        'a link to one of them',
        'rm -r skills/pdf && mkdir other && ln -s ../other skills/pdf',
        'ls -A other',
        '',
      ],
    ])('leave alone %s where they would lie', async (_what, before, look, seen) => {
      const id = await made(['pdf']);
      await sh(id, before);
      await put('pdf', skillTar('pdf', { 'note.md': '2\n' }));
      // The link's target is in memory: it is recreated after the stop.
      await asAlice('POST', `/v1/sandbox/${id}/stop`);
      expect(
        (await asAlice('POST', `/v1/sandbox/${id}/resume`)).json<{ skills: Placed[] }>().skills,
      ).toHaveLength(1);
      const sandbox = (await asAlice('GET', `/v1/sandbox/${id}`)).json<{ skills: Placed[] }>();
      expect(sandbox.skills[0]?.kept).toEqual(['pdf/SKILL.md', 'pdf/note.md']);
      expect(await sh(id, `mkdir -p /tmp/s; ${look}`)).toBe(seen);
    });

    test('survive a forged list, which creates nothing outside of them', async () => {
      const id = await made(['pdf']);
      const sum = '01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b';
      await sh(
        id,
        `echo >keep; printf '%s  pdf/../../keep\\n%s  /etc/hostname\\nrubbish\\n' ${sum} ${sum} >>skills/.porthole`,
      );
      await put('pdf', skillTar('pdf', { 'note.md': '2\n' }));
      await restart(id);
      expect(await sh(id, 'ls keep; cat skills/pdf/note.md; grep -c . skills/.porthole')).toBe(
        'keep\n2\n2\n',
      );
    });

    test('stay where the skill is deleted, and the sandbox resumes all the same', async () => {
      const id = await made(['pdf', 'xls']);
      await asAlice('DELETE', '/api/skills/pdf');
      await restart(id);
      expect(await sh(id, 'ls skills/pdf/SKILL.md skills/xls/SKILL.md')).toBe(
        'skills/pdf/SKILL.md\nskills/xls/SKILL.md\n',
      );
    });

    test.each<[string, readonly string[], [number, string], RegExp]>([
      ['that do not exist', ['pdf', 'nope', 'nada'], [404, 'skill_not_found'], /no skill "nope", "nada"/],
      ['twice', ['pdf', 'pdf'], [400, 'invalid_request'], /skills: each only once/],
      ['of no name', ['No'], [400, 'invalid_request'], /skills.0: must be 1 to 64/],
    ])('%s are refused, and nothing is made', async (_what, skills, expected, message) => {
      const before = await sandboxes();
      const answer = await create(skills);
      expect(outcome(answer)).toEqual(expected);
      expect(answer.json()['error']).toMatch(message);
      expect(await sandboxes()).toBe(before);
    });

    test('are hidden when they belong to another user', async () => {
      await put('secret', skillTar('secret'), BOB);
      expect(outcome(await create(['secret']))).toEqual([404, 'skill_not_found']);
    });

    test('are the shared ones for who has none of their names', async () => {
      await put('common', skillTar('common', { owner: 'everybody\n' }), ADA_ADMIN, '?shared=true');
      const id = await made(['common']);
      expect(await sh(id, 'cat skills/common/owner')).toBe('everybody\n');
      await put('common', skillTar('common', { owner: 'alice\n' }));
      await restart(id);
      expect(await sh(id, 'cat skills/common/owner')).toBe('alice\n');
    });

    test('arrive with a thousand files as well, and with a change of all of them', async () => {
      const files = (text: string) =>
        Object.fromEntries(Array.from({ length: 999 }, (_, at) => [`d${at % 10}/f ${at}`, text]));
      await put('many', skillTar('many', files('1')));
      const id = await made(['many']);
      expect(await sh(id, 'find skills/many -type f | wc -l')).toBe('1000\n');
      await put('many', skillTar('many', files('2')));
      await restart(id);
      expect(await sh(id, 'cat skills/many/d*/* | tr -d "\\n" | wc -c; cat "skills/many/d9/f 999"')).toMatch(
        /^999\n/,
      );
    });
  });
});
