/** Columns from left to right, each with its panes from top to bottom. */
export type Columns = readonly (readonly string[])[];

/** Relative sizes: of a pane the height in its column, of `column:<first pane>` the width. */
export type Shares = Readonly<Record<string, number>>;

/** In percent of the workspace. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The line between two neighbours. */
export interface Divider {
  /** Keys of `Shares`. */
  readonly before: string;
  readonly after: string;
  readonly isVertical: boolean;
  /** Where the line is: without width or height. */
  readonly box: Box;
  /** The space that both neighbours have together. */
  readonly space: Box;
  /** Of that space, the share of the first, in percent. */
  readonly value: number;
}

/** A divider stays between these, so that no pane becomes too small to be found. */
export const MIN_PERCENT = 15;
export const MAX_PERCENT = 85;

const WHOLE: Box = { left: 0, top: 0, width: 100, height: 100 };

/** Places the visible panes; those that remain take the space of hidden ones. */
export function arrangePanes(
  columns: Columns,
  isVisible: (pane: string) => boolean,
  shares: Shares,
): { readonly boxes: ReadonlyMap<string, Box>; readonly dividers: readonly Divider[] } {
  const shown = columns
    .map((panes) => ({ key: `column:${panes[0] ?? ''}`, panes: panes.filter(isVisible) }))
    .filter(({ panes }) => panes.length > 0);
  const boxes = new Map<string, Box>();
  const across = split(
    WHOLE,
    shown.map(({ key }) => key),
    true,
    shares,
  );
  const dividers = [...across.dividers];
  shown.forEach(({ panes }, at) => {
    const down = split(across.boxes[at] ?? WHOLE, panes, false, shares);
    panes.forEach((pane, index) => boxes.set(pane, down.boxes[index] ?? WHOLE));
    dividers.push(...down.dividers);
  });
  return { boxes, dividers };
}

/** The shares after a divider was moved: only its neighbours change. */
export function moveDivider(shares: Shares, { before, after }: Divider, value: number): Shares {
  const both = shareOf(shares, before) + shareOf(shares, after);
  const first = (both * Math.min(MAX_PERCENT, Math.max(MIN_PERCENT, value))) / 100;
  return { ...shares, [before]: first, [after]: both - first };
}

function shareOf(shares: Shares, key: string): number {
  return shares[key] ?? 1;
}

function split(space: Box, keys: readonly string[], isVertical: boolean, shares: Shares) {
  const total = keys.reduce((sum, key) => sum + shareOf(shares, key), 0);
  const boxes: Box[] = [];
  let from = isVertical ? space.left : space.top;
  for (const key of keys) {
    const size = ((isVertical ? space.width : space.height) * shareOf(shares, key)) / total;
    boxes.push(isVertical ? { ...space, left: from, width: size } : { ...space, top: from, height: size });
    from += size;
  }
  const dividers = boxes.slice(1).map((box, at): Divider => {
    const [before = '', after = ''] = keys.slice(at, at + 2);
    const first = boxes[at] ?? space;
    const value = (100 * shareOf(shares, before)) / (shareOf(shares, before) + shareOf(shares, after));
    const line = isVertical ? { width: 0 } : { height: 0 };
    const both = isVertical ? { width: first.width + box.width } : { height: first.height + box.height };
    return { before, after, isVertical, value, box: { ...box, ...line }, space: { ...first, ...both } };
  });
  return { boxes, dividers };
}

/** What the browser remembers. */
export interface KeptPanes {
  readonly hidden: readonly string[];
  readonly shares: Shares;
}

/** Undefined for a text that is not a stored layout: another version may have written it. */
export function readPanes(text: string | null): KeptPanes | undefined {
  let stored: unknown;
  try {
    stored = JSON.parse(text ?? 'null');
  } catch {
    return undefined;
  }
  if (typeof stored !== 'object' || stored === null) return undefined;
  const { hidden, shares } = stored as Record<string, unknown>;
  if (!Array.isArray(hidden) || !hidden.every((each) => typeof each === 'string')) return undefined;
  if (typeof shares !== 'object' || shares === null) return undefined;
  const isSize = (each: unknown) => typeof each === 'number' && each > 0 && Number.isFinite(each);
  return Object.values(shares).every(isSize) ? { hidden, shares: shares as Shares } : undefined;
}
