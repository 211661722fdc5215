import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp';

/** A text of any length: `head`, `pump` as often as it takes, `tail`. */
export interface WorstText {
  readonly head: string;
  readonly pump: string;
  readonly tail: string;
}

/** Repetitions from which a quantifier can cost more than a constant. */
const MANY = 64;
const COMMON = 'a0Z-_./:=" \t\n\r\0!,{<é'.split('');
/** Characters of the pattern that are combined to pumps of two. */
const MAX_PAIRED = 10;

/**
 * Texts on which a backtracking engine would take longest, if anything in the pattern allows it:
 * repeats of its parts, of what comes before each repetition, and of characters that it matches.
 */
export function worstTexts(source: string, flags: string): readonly WorstText[] {
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: flags.includes('u'),
    unicodeSets: flags.includes('v'),
  });
  const repeats: AST.Quantifier[] = [];
  const literals = new Set<string>();
  const classes = new Set<string>();
  visitRegExpAST(pattern, {
    onQuantifierEnter: (node) => {
      if (node.max - node.min >= MANY) repeats.push(node);
    },
    onCharacterEnter: ({ value }) => literals.add(String.fromCodePoint(value)),
    onCharacterClassEnter: ({ raw }) => classes.add(raw),
    onCharacterSetEnter: ({ raw }) => classes.add(raw),
  });
  if (repeats.length === 0) return [];
  const alphabet = [...new Set([...literals, ...COMMON])];
  const examples = new Examples(alphabet, flags);
  const kinds = new Map<string, string>();
  for (const char of alphabet) {
    const kind = [...classes].map((raw) => Number(examples.matches(raw, char))).join('');
    const own = literals.has(char) ? char : '';
    if (!kinds.has(own + kind)) kinds.set(own + kind, char);
  }
  const chars = [...kinds.values()];
  const paired = chars.slice(0, MAX_PAIRED);
  const shared = [
    ...chars,
    ...paired.flatMap((first) => paired.map((second) => first + second)),
    ...examples.ofAlternatives(pattern.alternatives),
  ];
  const unmatched = alphabet.findLast((char) => ![...classes].some((raw) => examples.matches(raw, char)));
  const tails = ['', '\n', unmatched ?? 'é', 'a\n!'];
  const texts = new Map<string, WorstText>();
  const add = (head: string, pump: string): void => {
    if (pump === '') return;
    for (const tail of tails) texts.set(JSON.stringify([head, pump, tail]), { head, pump, tail });
  };
  for (const pump of shared) add('', pump);
  for (const pump of chars) add('é', pump);
  for (const repeat of repeats) {
    const elements = examples.of(repeat.element).slice(0, 4);
    for (const before of examples.before(repeat).slice(0, 4)) {
      for (const pump of shared) add(before, pump);
      add('', before);
      for (const element of elements) {
        for (const between of ['', ...chars]) add('', before + element + between);
        for (const pump of [...elements, ...chars]) add(before + element, pump);
      }
    }
  }
  return [...texts.values()];
}

/** Short texts that parts of a pattern match. */
class Examples {
  readonly #alphabet: readonly string[];
  readonly #flags: string;

  constructor(alphabet: readonly string[], flags: string) {
    this.#alphabet = alphabet;
    this.#flags = flags.replaceAll(/[gy]/g, '');
  }

  matches(raw: string, char: string): boolean {
    return new RegExp(`^${raw}$`, this.#flags).test(char);
  }

  of(node: AST.Element): readonly string[] {
    switch (node.type) {
      case 'Character':
        return [String.fromCodePoint(node.value)];
      case 'CharacterClass':
      case 'CharacterSet':
      case 'ExpressionCharacterClass':
        return this.#alphabet.filter((char) => this.matches(node.raw, char)).slice(0, 3);
      case 'Quantifier':
        return this.of(node.element).map((each) => each.repeat(Math.max(node.min, 1)));
      case 'Group':
      case 'CapturingGroup':
        return this.ofAlternatives(node.alternatives);
      case 'Assertion':
      case 'Backreference':
        break;
    }
    return [''];
  }

  ofAlternatives(alternatives: readonly AST.Alternative[]): readonly string[] {
    return alternatives.slice(0, 4).flatMap(({ elements }) => this.#inSequence(elements));
  }

  /** What leads to this part, from the start of the pattern. */
  before(node: AST.Element): readonly string[] {
    const found = new Set(['']);
    let text: readonly string[] = [''];
    let part: AST.Node = node;
    for (let parent: AST.Node | null = node.parent; parent !== null; parent = parent.parent) {
      if (parent.type === 'Alternative') {
        const at = parent.elements.indexOf(part as AST.Element);
        text = this.#inSequence(parent.elements.slice(0, at)).flatMap((start) =>
          text.map((rest) => start + rest),
        );
        for (const each of text.slice(0, 3)) found.add(each);
      }
      part = parent;
    }
    return [...found];
  }

  /** The first examples of all, then the second ones, and so on. */
  #inSequence(elements: readonly AST.Element[]): readonly string[] {
    const each = elements.map((element) => this.of(element));
    const variants = Math.min(3, Math.max(1, ...each.map(({ length }) => length)));
    return Array.from({ length: variants }, (_, at) =>
      each.map((examples) => examples[Math.min(at, examples.length - 1)] ?? '').join(''),
    );
  }
}
