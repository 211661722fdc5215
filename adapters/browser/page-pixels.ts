import { PNG } from 'pngjs';

/** A part of a picture, in CSS pixels. */
export interface PixelBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A picture of the viewport. `ratio` is its pixels for each CSS pixel. */
export interface Pixels {
  readonly image: PNG;
  readonly ratio: number;
}

/** Below this contrast (WCAG 2.2, 1 to 21) a text cannot be read. Black on #121212 has 1.12. */
const READABLE = 1.15;
/** Share of the pixels of a text that differ from its background; of ordinary text, a tenth. */
const INK = 0.004;
/** Maximum difference per channel of two colours that count as equal. */
const ALIKE = 6;

export function readPixels(base64: string, cssWidth: number): Pixels {
  const image = PNG.sync.read(Buffer.from(base64, 'base64'));
  return { image, ratio: image.width / Math.max(1, cssWidth) };
}

/** Share of the pixels that differ from the commonest colour: 0 for a blank page. */
export function drawnShare({ image }: Pixels): number {
  const { data, width, height } = image;
  const [red, green, blue] = commonest(data, width, { left: 0, top: 0, right: width, bottom: height });
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    const isAlike =
      Math.abs(data[at]! - red) <= ALIKE &&
      Math.abs(data[at + 1]! - green) <= ALIKE &&
      Math.abs(data[at + 2]! - blue) <= ALIKE;
    if (!isAlike) count += 1;
  }
  return count / (width * height);
}

/** Whether something in the box has another brightness than its background. */
export function isReadable({ image, ratio }: Pixels, box: PixelBox): boolean {
  const { data, width, height } = image;
  const area = {
    left: Math.max(0, Math.floor(box.x * ratio)),
    top: Math.max(0, Math.floor(box.y * ratio)),
    right: Math.min(width, Math.ceil((box.x + box.width) * ratio)),
    bottom: Math.min(height, Math.ceil((box.y + box.height) * ratio)),
  };
  const all = (area.right - area.left) * (area.bottom - area.top);
  if (all <= 0) return true;
  const background = luminance(...commonest(data, width, area));
  const needed = Math.max(2, all * INK);
  let ink = 0;
  for (let y = area.top; y < area.bottom; y += 1) {
    for (let x = area.left; x < area.right; x += 1) {
      const at = (y * width + x) * 4;
      if (contrast(luminance(data[at]!, data[at + 1]!, data[at + 2]!), background) < READABLE) continue;
      ink += 1;
      if (ink >= needed) return true;
    }
  }
  return false;
}

interface Edges {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

type Colour = readonly [red: number, green: number, blue: number];

function commonest(data: Buffer, width: number, { left, top, right, bottom }: Edges): Colour {
  const counts = new Map<number, number>();
  let best = 0;
  let most = 0;
  // Every second line and column of large areas is enough.
  const step = (right - left) * (bottom - top) > 40_000 ? 2 : 1;
  for (let y = top; y < bottom; y += step) {
    for (let x = left; x < right; x += step) {
      const at = (y * width + x) * 4;
      const colour = (data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!;
      const count = (counts.get(colour) ?? 0) + 1;
      counts.set(colour, count);
      if (count > most) [best, most] = [colour, count];
    }
  }
  return [(best >> 16) & 255, (best >> 8) & 255, best & 255];
}

/** WCAG 2.2, relative luminance, by channel value. */
const LINEAR = Array.from({ length: 256 }, (_, value) => {
  const share = value / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
});

function luminance(red: number, green: number, blue: number): number {
  return 0.2126 * LINEAR[red]! + 0.7152 * LINEAR[green]! + 0.0722 * LINEAR[blue]!;
}

function contrast(a: number, b: number): number {
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
