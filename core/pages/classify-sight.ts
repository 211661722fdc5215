import { documentFault } from './document-faults.ts';
import type { PageFacts, PageObservation, PageSight } from './page-browser.ts';
import { cause, type Ranked, unsure } from './page-cause.ts';

/** What a person sees of a page that was answered with success. */
export type SeenPage = Pick<
  PageObservation,
  'facts' | 'sight' | 'status' | 'pending' | 'contentType' | 'overlays' | 'url'
>;

/** A picture with fewer pixels of another colour than its commonest shows nothing. */
const NOTHING_DRAWN = 0.00002;
/** A lone progress indicator draws less. */
const LITTLE_DRAWN = 0.02;
/** Bars and borders around an empty page draw less. */
const FRAME_DRAWN = 0.3;
/** Share of the text that is lost before a page counts as unreadable. */
const MUCH_LOST = 0.25;
/** With fewer characters out of view, clipped or hidden, a page counts as blank. */
const FEW_OUTSIDE = 20;

/** Faults that show, each from pixels, boxes or the structure of the document. */
export function ofSight(seen: SeenPage): Ranked[] {
  const { facts, sight, status, contentType, overlays } = seen;
  if (facts === null || (status ?? 0) >= 400) return [];
  const { structure } = sight ?? {};
  const served =
    structure === undefined ? undefined : documentFault({ url: seen.url, contentType, facts, structure });
  if (served !== undefined) return [served];
  if (contentType !== null && !/html|xml/.test(contentType)) return [];
  // Without the pixels, only the elements show whether the page is blank.
  if (sight === null || sight === undefined) return ofElements(seen, facts);
  const loading = ofLoading(seen, facts, sight);
  const covered = overlays.length > 0 || loading.length > 0 ? [] : ofCover(facts, sight);
  const empty = loading.length > 0 ? [] : ofEmptiness(seen, facts, sight);
  const isEmpty = empty.some(({ proof }) => proof);
  return [...loading, ...covered, ...empty, ...(isEmpty || overlays.length > 0 ? [] : ofText(sight))];
}

function waitsFor(pending: readonly string[]): string {
  return pending.length === 0 ? '' : ` It waits for ${pending.slice(0, 3).join(', ')}.`;
}

function ofLoading({ pending }: SeenPage, facts: PageFacts, { spinner, drawn }: PageSight): Ranked[] {
  const waits = waitsFor(pending);
  if (spinner?.isOver === true) {
    const message = `The layer ${spinner.element} lies over the page with a loading animation that does not end.${waits}`;
    return [cause(15, 'still_loading', message)];
  }
  const isAlone = facts.loading || (facts.textLength < 60 && facts.controls === 0 && facts.media <= 1);
  if (spinner !== null && isAlone) {
    const isMute = facts.textLength === 0;
    const isIndicator = spinner.isMarked || facts.loading || (isMute && pending.length > 0);
    const isSmall = drawn < LITTLE_DRAWN && spinner.share < LITTLE_DRAWN;
    if (isIndicator || (isMute && isSmall)) {
      const words = facts.text === '' ? '' : ` and "${facts.text.slice(0, 60)}"`;
      const message = `The page shows only a loading animation (${spinner.element})${words} after 4 s.${waits}`;
      const found = cause(15, 'still_loading', message);
      return [isIndicator ? found : unsure(found)];
    }
  }
  return facts.loading
    ? [cause(15, 'still_loading', `The page shows only ${quoted(facts)} after 4 s.${waits}`)]
    : [];
}

function quoted({ text }: PageFacts): string {
  return text === '' ? 'a loading state' : `"${text.slice(0, 60)}"`;
}

/** An opaque layer hides the page; a transparent one that takes no input makes it dead. */
function ofCover({ coveredBy, controls }: PageFacts, { cover, drawn }: PageSight): Ranked[] {
  if (coveredBy === null || cover === null) return [];
  const found = cause(
    16,
    'covered',
    `The element ${cover.element} lies over the whole page: nothing below it can be used.`,
  );
  if (cover.isOpaque && drawn < NOTHING_DRAWN) return [found];
  // For instance the input layer of a game, or a splash screen.
  if (cover.takesInput) return [];
  if (cover.isOpaque) return [unsure(found)];
  // Text below a transparent layer can be read.
  return controls > 0 ? [found] : [];
}

/** Nothing in view, by boxes and by pixels. */
function ofEmptiness(seen: SeenPage, facts: PageFacts, sight: PageSight): Ranked[] {
  const { lengths, controls, drawn, isMountFlat } = sight;
  const isBare = facts.textLength + facts.media + facts.controls === 0;
  const isNothingInView = lengths.inView + controls === 0;
  if (isNothingInView && drawn < NOTHING_DRAWN) return [whyNothing(seen, facts, sight)];
  if (isBare && isMountFlat && drawn < FRAME_DRAWN) return [cause(17, 'blank', blank(facts, seen.pending))];
  // A canvas or a frame without a picture.
  if (lengths.inView === 0 && drawn < NOTHING_DRAWN) {
    return [unsure(cause(17, 'blank', 'The page is blank: its canvas, frame or controls show one colour.'))];
  }
  return ofOutside(sight);
}

function whyNothing({ pending }: SeenPage, facts: PageFacts, sight: PageSight): Ranked {
  const { lengths, hidden, outside, below, clippedBy } = sight;
  if (lengths.outside > FEW_OUTSIDE && outside !== null) return outsideView(outside);
  if (lengths.below > 0 && below !== null) {
    return cause(
      16.5,
      'outside_view',
      `The content is out of view: it begins ${below} px below the top of the page.`,
    );
  }
  const isClipped = facts.clippedText > 0 && facts.emptyMount === null;
  if (isClipped || lengths.clipped > FEW_OUTSIDE) {
    const element = clippedBy ?? facts.clippedBy ?? 'an element';
    return cause(16, 'zero_size', `All of the page is hidden: ${element} has no height or width.`);
  }
  if (lengths.hidden > FEW_OUTSIDE && hidden !== null && facts.emptyMount === null) {
    const how = { display: 'display: none', visibility: 'visibility: hidden', opacity: 'opacity: 0' }[
      hidden.by
    ];
    return cause(16, 'hidden', `All of the page is hidden: ${hidden.element} has ${how}.`);
  }
  return cause(17, 'blank', blank(facts, pending));
}

function outsideView(element: string): Ranked {
  return cause(16.5, 'outside_view', `The content is outside of the page: no scrolling shows ${element}.`);
}

/** Most of the content, beside a little that is in view. */
function ofOutside({ lengths, outside }: PageSight): Ranked[] {
  const isMost = lengths.outsideMain > 100 && lengths.inView + lengths.below < lengths.outsideMain / 3;
  return isMost && outside !== null ? [outsideView(outside)] : [];
}

function ofText({ unreadable }: PageSight): Ranked[] {
  return unreadable
    .filter(({ share, headings }) => share >= MUCH_LOST || headings > 0)
    .map(({ scheme, share }) => {
      const part = share > 0.9 ? 'All text' : `${Math.max(1, Math.round(share * 100))}% of the text`;
      const where = scheme === 'dark' ? 'With a dark color scheme, ' : '';
      const words = `${part} in view has the colour of its background and cannot be read.`;
      return cause(18, 'unreadable', where === '' ? words : where + words[0]?.toLowerCase() + words.slice(1));
    });
}

/** What the elements alone say. */
function ofElements({ pending, overlays }: SeenPage, facts: PageFacts): Ranked[] {
  const { textLength, media, controls, clippedText, clippedBy, coveredBy } = facts;
  const isBare = textLength + media + controls === 0;
  const found: Ranked[] = [];
  if (facts.loading)
    found.push(
      cause(15, 'still_loading', `The page shows only ${quoted(facts)} after 4 s.${waitsFor(pending)}`),
    );
  else if (clippedText > 0 && isBare) {
    const element = clippedBy ?? 'an element';
    found.push(cause(16, 'zero_size', `All of the page is hidden: ${element} has no height or width.`));
  } else if (isBare) found.push(cause(17, 'blank', blank(facts, pending)));
  if (coveredBy !== null && overlays.length === 0) {
    const message = `The element ${coveredBy} lies over the whole page: nothing below it can be used.`;
    found.push(cause(16, 'covered', message));
  }
  return found;
}

function blank({ emptyMount }: PageFacts, pending: readonly string[]): string {
  const what = emptyMount === null ? 'The page is blank' : `The page is blank: ${emptyMount} is empty`;
  return pending.length === 0
    ? `${what}.`
    : `${what}, while ${pending.slice(0, 3).join(', ')} is still loading.`;
}
