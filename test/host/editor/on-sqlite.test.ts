import { describe } from '@jest/globals';
import { editorContract } from '#test/contracts/editor.contract.ts';

describe('the editor, with its records in SQLite', () => editorContract(() => ({})));
