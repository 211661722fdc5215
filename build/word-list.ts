/** Words that `npm run check` rejects. A folder moves here once nothing is found in it. */
export const FOLDERS: readonly string[] = [
  'adapters',
  'agent',
  'core',
  'base',
  'bench',
  'client',
  'console',
  'constructs',
  'examples',
  'guest',
  'handlers',
  'host',
  'infra',
  'integrations',
  'policies',
  'python',
  'protocol',
  'proxy',
  'test',
];

/** Here only comments are checked: this list has the words. */
export const COMMENT_FOLDERS: readonly string[] = ['build'];

export const WORDS: readonly string[] = [
  'told',
  'whoever',
  'somebody',
  // Not the user of /etc/passwd.
  'nobody(?!:)',
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
