import { expect, test } from '@jest/globals';
import { appendLog, localPort, logText } from '../../console/src/sandboxes/log-text.ts';

test.each([
  ['removes colours', '\u001B[1;32mready\u001B[0m in 3 ms', 'ready in 3 ms'],
  ['removes titles and links of terminals', '\u001B]0;title\u0007a\u001B]8;;http://x\u001B\\b', 'ab'],
  ['keeps the last state of a progress bar', '10 %\r50 %\r100 %\ndone', '100 %\ndone'],
  ['keeps line ends of Windows as one', 'a\r\nb', 'a\nb'],
  ['shows bidirectional overrides', 'a\u202Eb', 'a�b'],
  ['keeps tabs', 'a\tb\n', 'a\tb\n'],
])('%s', (_, raw, text) => {
  expect(logText(raw)).toBe(text);
});

test('drops the oldest whole lines of a long log', () => {
  const log = appendLog('first\n'.repeat(40_000), 'last\n');
  expect(log.length).toBeLessThanOrEqual(200_000);
  expect(log).toMatch(/^first\n/);
  expect(log).toMatch(/\nlast\n$/);
});

test.each([
  ['http://localhost:5173/', '5173'],
  ['http://127.0.0.1:3000/a', '3000'],
  ['http://[::1]:8080/', '8080'],
  ['http://0.0.0.0:8000/', '8000'],
  ['https://localhost/', '443'],
  ['https://localhost.example.com:3000/', undefined],
  ['https://example.com/', undefined],
])('reads the port of the sandbox in %s', (address, port) => {
  expect(localPort(new URL(address))).toBe(port);
});
