import { useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { usePolled } from '../live/use-live.ts';
import { Problem, State } from '../parts/elements.tsx';
import { Segments } from '../parts/segments.tsx';

/** Two sandboxes: `one` is before, and `other` is after. */
export interface Compared {
  readonly one: { readonly id: string; readonly name: string };
  readonly other: { readonly id: string; readonly name: string };
}

type Look = Answer<'POST /v1/sandbox/{id}/compare/page'>['one'];
type Lines = NonNullable<Look['difference']>['console'];

interface ComparePagesProps extends Compared {
  readonly port: number;
  readonly path: string;
}

/** The same page of two sandboxes: pictures, results, console, outline and timings. */
export function ComparePages({ one, other, port, path }: ComparePagesProps) {
  const { value, problem, reload } = usePolled(
    (signal) =>
      call('POST /v1/sandbox/{id}/compare/page', {
        path: { id: one.id },
        body: { with: other.id, port, path },
        signal,
      }),
    [one.id, other.id, port, path].join(' '),
  );
  if (value === undefined)
    return problem === undefined ? (
      <p className="quiet" role="status">
        Opening both pages in a browser…
      </p>
    ) : (
      <Problem words={problem} onRetry={reload} />
    );
  const { difference } = value.other;
  return (
    <>
      <Pictures one={one} other={other} looks={value} />
      <ChangedLines title="Console" name={other.name} lines={difference?.console} bad="new" />
      {difference?.outline == null ? null : (
        <ChangedLines title="Text and controls" name={other.name} lines={difference.outline} />
      )}
      <Timings one={one} other={other} looks={value} />
    </>
  );
}

interface LooksProps extends Compared {
  readonly looks: Answer<'POST /v1/sandbox/{id}/compare/page'>;
}

function Pictures({ one, other, looks }: LooksProps) {
  const [view, setView] = useState<'both' | 'difference'>('both');
  const pixels = looks.other.difference?.pixels ?? null;
  const marked = pixels?.picture ?? null;
  return (
    <section className="stack">
      <div className="section-head">
        <p role="status">{pictureWords(pixels)}</p>
        {marked === null ? null : (
          <Segments
            label="Show"
            value={view}
            onChange={setView}
            options={[
              { id: 'both', words: 'Both pages' },
              { id: 'difference', words: 'What differs' },
            ]}
          />
        )}
      </div>
      {view === 'difference' && marked !== null ? (
        <figure>
          <Picture of={marked} words={`What differs in ${other.name}`} />
          <figcaption className="quiet">What differs is red.</figcaption>
        </figure>
      ) : (
        <div className="both-pages">
          {[
            { name: one.name, look: looks.one },
            { name: other.name, look: looks.other },
          ].map(({ name, look }) => (
            <figure key={name}>
              <figcaption>
                <strong>{name}</strong> <State value={look.result} />
                {look.summary === look.result ? null : (
                  <span className="quiet">
                    {plainText(look.summary.replace(`${look.result}: `, ''), 300)}
                  </span>
                )}
              </figcaption>
              {look.screenshot === null ? (
                <p className="quiet">It has no picture.</p>
              ) : (
                <Picture of={look.screenshot} words={`Page of ${name}`} />
              )}
            </figure>
          ))}
        </div>
      )}
    </section>
  );
}

function pictureWords(pixels: NonNullable<Look['difference']>['pixels']): string {
  if (pixels === null) return 'The pictures cannot be compared.';
  if (pixels.changed === 0) return 'The pages look the same.';
  const percent = pixels.ratio * 100;
  return `${percent < 0.1 ? 'Less than 0.1' : percent.toFixed(1)} % of the picture differs.`;
}

interface PictureProps {
  readonly of: NonNullable<Look['screenshot']>;
  readonly words: string;
}

function Picture({ of: { media_type: type, width, height, data }, words }: PictureProps) {
  return <img src={`data:${type};base64,${data}`} width={width} height={height} alt={words} />;
}

interface ChangedLinesProps {
  readonly title: string;
  readonly name: string;
  readonly lines: Lines | undefined;
  /** Lines that are bad. @default those that are gone */
  readonly bad?: 'new';
}

/** Lines that one page has, and the other one has not. */
function ChangedLines({ title, name, lines, bad }: ChangedLinesProps) {
  const all = [
    ...(lines?.appeared ?? []).map((text) => ({ text, what: 'new', tone: bad === 'new' ? 'bad' : 'good' })),
    ...(lines?.gone ?? []).map((text) => ({ text, what: 'gone', tone: bad === 'new' ? 'good' : 'bad' })),
  ];
  return (
    <section>
      <h3>{title}</h3>
      {all.length === 0 ? (
        <p className="quiet">No difference</p>
      ) : (
        <ul className="changed-files" aria-label={`${title}: new and gone in ${name}`}>
          {all.map(({ text, what, tone }, index) => (
            <li key={index}>
              <span className={`state ${tone}`}>{what}</span>
              <code>
                <bdi>{plainText(text.replace(/^- /, ''), 300)}</bdi>
              </code>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const TIMES = [
  ['ttfb_ms', 'First byte'],
  ['fcp_ms', 'First content'],
  ['lcp_ms', 'Largest content'],
  ['load_ms', 'Loaded'],
] as const;

function Timings({ one, other, looks }: LooksProps) {
  return (
    <section>
      <h3>Timings</h3>
      <table className="list timings">
        <thead>
          <tr>
            <th scope="col">
              <span className="hidden">Point</span>
            </th>
            <th scope="col">{one.name}</th>
            <th scope="col">{other.name}</th>
          </tr>
        </thead>
        <tbody>
          {TIMES.map(([field, words]) => (
            <tr key={field}>
              <th scope="row">{words}</th>
              <td>{formatMs(looks.one.timings[field])}</td>
              <td>{formatMs(looks.other.timings[field])}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="quiet">Each page was opened once, so times vary.</p>
    </section>
  );
}

function formatMs(ms: number | null): string {
  return ms === null ? '–' : `${Math.round(ms).toLocaleString()} ms`;
}
