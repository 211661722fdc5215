import { expect, test } from '@jest/globals';
import { readE2bPath } from '#handlers/e2b/home-path.ts';

test.each([
  ['', '/workspace', '/home/user'],
  ['a.txt', '/workspace/a.txt', '/home/user/a.txt'],
  ['./a/../b', '/workspace/b', '/home/user/b'],
  ['/home/user', '/workspace', '/home/user'],
  ['/home/user/a', '/workspace/a', '/home/user/a'],
  ['/home/users/a', '/home/users/a', '/home/users/a'],
  ['/workspace/a', '/workspace/a', '/workspace/a'],
  ['/home/user/../../etc/passwd', '/etc/passwd', '/etc/passwd'],
  ['../../workspace/a', '/workspace/a', '/workspace/a'],
  ['/tmp', '/workspace', '/tmp'],
  ['/tmp/a/b', '/workspace/a/b', '/tmp/a/b'],
  ['/tmpx', '/tmpx', '/tmpx'],
  ['/tmp/../etc', '/etc', '/etc'],
])('reads %j as a path of the sandbox, and shows it as it was given', (given, path, shown) => {
  const read = readE2bPath(given);
  expect(read.path).toBe(path);
  expect(read.shown(read.path)).toBe(shown);
});
