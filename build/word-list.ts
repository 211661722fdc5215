/** Words that `npm run check` rejects. A folder moves here once nothing is found in it. */
export const FOLDERS: readonly string[] = [
  'agent',
  'bench',
  'client',
  'console',
  'constructs',
  'examples',
  'guest',
  'handlers',
  'host',
  'infra',
  'policies',
  'proxy',
  'test',
];

/** Here only comments are checked: texts still have some of the words. */
export const COMMENT_FOLDERS: readonly string[] = ['adapters', 'build', 'core'];

export const WORDS: readonly string[] = [
  'told',
  'whoever',
  'somebody',
  'nobody',
  'whose',
  'standing',
  'stands',
  'lent',
  'bell',
  'news',
  'stray',
  'judge',
  'judged',
  'judges',
  'verdict',
  'keeper',
  'is to be had',
  'lets go of',
  'of its own',
  'there is none',
  'good for',
];
