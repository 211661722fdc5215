import { parseArgs } from 'node:util';
import { type CommandSpec, type Given, optionsOf, UsageError } from './command.ts';

/**
 * Parses the arguments of a command. Arguments after `--` are not parsed.
 * @throws UsageError
 */
export function readArguments(
  spec: CommandSpec,
  words: readonly string[],
): Given & { readonly help: boolean } {
  const end = words.indexOf('--');
  const rest = end === -1 ? undefined : words.slice(end + 1);
  const options = Object.fromEntries(
    Object.entries(optionsOf(spec)).map(([name, { type, short, multiple = false }]) => [
      name,
      { type, multiple, ...(short === undefined ? {} : { short }) },
    ]),
  );
  const { values, positionals, tokens } = parse(words.slice(0, end === -1 ? undefined : end), options);
  const help = values['help'] === true;
  // Otherwise the last one would win silently.
  const twice = tokens.find(
    (token, at) =>
      token.kind === 'option' &&
      options[token.name]?.type === 'string' &&
      options[token.name]?.multiple === false &&
      tokens.some((other, before) => before < at && other.kind === 'option' && other.name === token.name),
  );
  if (!help && twice?.kind === 'option') throw new UsageError(`${twice.rawName} may be given once only.`);
  const [least, most] = positionalsOf(spec);
  if (!help && (positionals.length < least || positionals.length > most)) {
    throw new UsageError(wrongCount(spec, positionals, rest));
  }
  if (!help && rest !== undefined && spec.takesRest !== true) {
    throw new UsageError(`This command takes nothing after "--". Usage: ${usageOf(spec)}`);
  }
  return {
    positionals,
    rest,
    help,
    text: (option) => values[option] as string | undefined,
    texts: (option) => (values[option] as readonly string[] | undefined) ?? [],
    is: (option) => values[option] === true,
  };
}

/** The minimum and maximum number of positionals in the usage; ` | ` separates alternatives. */
function positionalsOf({ usage }: CommandSpec): readonly [least: number, most: number] {
  const places = usage.replace(/\[?--.*/, '').match(/[<[]\S+/g) ?? [];
  const least = usage.includes(' | ') ? 0 : places.filter((each) => each.startsWith('<')).length;
  return [least, places.some((each) => each.endsWith('…')) ? Infinity : places.length];
}

function wrongCount(spec: CommandSpec, positionals: readonly string[], rest: unknown): string {
  const [least, most] = positionalsOf(spec);
  const usage = usageOf(spec);
  if (positionals.length < least) return `An argument is missing. Usage: ${usage}`;
  const command = positionals.slice(most).join(' ');
  return spec.takesRest === true && rest === undefined
    ? `Put "--" before the command: -- ${command}. Usage: ${usage}`
    : `Unexpected argument "${positionals[most]}". Usage: ${usage}`;
}

export function usageOf({ name, usage }: Pick<CommandSpec, 'name' | 'usage'>): string {
  return usage === '' ? `porthole ${name}` : `porthole ${name} ${usage}`;
}

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>;

function parse(words: string[], options: Options) {
  try {
    const known: Options = { ...options, help: { type: 'boolean', short: 'h' } };
    return parseArgs({ args: words, options: known, allowPositionals: true, tokens: true });
  } catch (error) {
    // The first sentence states the problem; the rest is about JavaScript.
    const [what = ''] = (error as Error).message.split(/\.\s/);
    const option = /'(--?[\w-]+)/.exec(what)?.[1] ?? '';
    const given = words.find((word) => word.startsWith(`${option}=`))?.slice(option.length + 1);
    if (given !== undefined && /does not take/.test(what)) {
      throw new UsageError(
        `${option} takes no value, got ${JSON.stringify(given.slice(0, 40))}: leave that out.`,
      );
    }
    if (/argument (?:missing|is ambiguous)/.test(what)) {
      const next = words[words.lastIndexOf(option) + 1];
      const got = next === undefined ? 'nothing' : JSON.stringify(next.slice(0, 40));
      throw new UsageError(`${option} needs a value, got ${got}: write ${option}=VALUE.`);
    }
    const isKey = /Unknown option '--?(api-?key|key|token)'/i.test(what);
    throw new UsageError(
      isKey
        ? `${what}: a key never goes on a command line, where others see it. Set PORTHOLE_API_KEY.`
        : `${what}.`,
    );
  }
}
