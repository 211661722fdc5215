import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { editText } from '#core/files/edit-text.ts';

test.each([
  ['finds lines with LF in a text with CRLF', 'a\r\nb\r\nc\r\n', 'a\nb', 'x\ny', 'x\r\ny\r\nc\r\n'],
  ['writes a new line with the ending of the text', 'a\r\nb\r\n', 'a', 'a\nz', 'a\r\nz\r\nb\r\n'],
  ['keeps LF', 'a\nb\n', 'a\nb', 'a\nz\nb', 'a\nz\nb\n'],
  ['finds lines with CRLF in a text with LF', 'a\nb\n', 'a\r\nb', 'x\r\ny', 'x\ny\n'],
  ['finds lines with LF where most others have CRLF', 'a\r\nb\r\nc\nd', 'c\nd', 'e\nf', 'a\r\nb\r\ne\nf'],
  ['finds lines with CRLF where most others have LF', 'a\nb\nc\r\nd', 'c\nd', 'e\nf', 'a\nb\ne\r\nf'],
  ['writes line feeds into a text without lines', 'a', 'a', 'b\nc', 'b\nc'],
  ['keeps a byte order mark', '\uFEFFa\r\n', 'a', '$&', '\uFEFF$&\r\n'],
])('%s', (_, text, oldText, newText, expected) => {
  expect(editText(text, oldText, newText)).toEqual({ text: expected, found: 1 });
});

test('takes a carriage return in the old text as it is', () => {
  expect(editText('a\r\nb\r\n', '\r\n', '\n')).toEqual({ text: 'a\nb\n', found: 2 });
});

test('finds nothing where no line ending makes it fit', () => {
  expect(editText('a\r\nb', 'a\n\nb', 'c').found).toBe(0);
});

test('edits a text with CRLF as the same text with LF', () => {
  const text = fc.stringMatching(/^[ab\n]{0,12}$/);
  const property = fc.property(text, fc.stringMatching(/^[ab\n]{1,3}$/), text, (whole, oldText, newText) => {
    fc.pre(whole.includes('\n'));
    const expected = editText(whole, oldText, newText);
    const edited = editText(whole.replaceAll('\n', '\r\n'), oldText, newText);
    expect(edited).toEqual({ ...expected, text: expected.text.replaceAll('\n', '\r\n') });
  });
  fc.assert(property, { seed: 1 });
});
