import pixelmatch from 'pixelmatch';
import type { Page } from 'playwright-core';
import { PNG } from 'pngjs';
import type { Area, PageVisit, Picture, PixelDifference } from '#core/pages/page-browser.ts';

const THUMBNAIL_WIDTH = 320;
/** Of the part of a page that a thumbnail shows, relative to its width. */
const TALLEST_THUMBNAIL = 2;
/** Changed pixels in neighbouring cells of this size, in pixels, are one area. */
const CELL = 24;
const MAX_AREAS = 20;
const MAX_PICTURE_BYTES = 1_048_576;
const TALLEST = 8_000;
const ENCODING = { filterType: 2, deflateLevel: 3, deflateStrategy: 0 } as const;

/** A screenshot as PNG, or as a smaller JPEG where that is too large. Null if none can be taken. */
export async function takePicture(
  page: Page,
  { picture, viewport }: PageVisit,
  timeout: number,
): Promise<Picture | null> {
  if (picture === undefined) return null;
  const size = picture.fullPage
    ? await page
        .evaluate('({ width: innerWidth, height: document.documentElement.scrollHeight })')
        .catch(() => viewport)
    : viewport;
  const { width, height: full } = size as { width: number; height: number };
  const height = Math.min(full || viewport.height, TALLEST);
  const area = picture.fullPage ? { fullPage: true, clip: { x: 0, y: 0, width, height } } : {};
  const options = { ...area, timeout, animations: 'disabled' } as const;
  try {
    let bytes = await page.screenshot({ ...options, type: 'png' });
    let mediaType: Picture['mediaType'] = 'image/png';
    for (const quality of [80, 40, 10]) {
      if (bytes.length <= MAX_PICTURE_BYTES) break;
      bytes = await page.screenshot({ ...options, type: 'jpeg', quality, scale: 'css' });
      mediaType = 'image/jpeg';
    }
    if (bytes.length > MAX_PICTURE_BYTES) return null;
    return { mediaType, width, height, base64: bytes.toString('base64') };
  } catch {
    return null;
  }
}

/**
 * A small copy of a screenshot, and its difference to an earlier one. Undefined where the pictures
 * cannot be compared: large screenshots are JPEG, which is lossy.
 */
export function comparePictures(
  now: Picture,
  before: Picture | undefined,
): { readonly thumbnail: Picture | null; readonly difference: PixelDifference | null } {
  if (now.mediaType !== 'image/png') return { thumbnail: null, difference: null };
  // Screenshots of an unchanged page are equal byte by byte; the earlier thumbnail still fits.
  if (before?.base64 === now.base64) return { thumbnail: null, difference: UNCHANGED };
  const image = decode(now);
  const thumbnail = shrink(image);
  if (before?.mediaType !== 'image/png') return { thumbnail, difference: null };
  return { thumbnail, difference: differenceOf(decode(before), image) };
}

const UNCHANGED: PixelDifference = { changedPixels: 0, changedRatio: 0, areas: [], picture: null };

function differenceOf(before: PNG, now: PNG): PixelDifference {
  const width = Math.max(before.width, now.width);
  const height = Math.max(before.height, now.height);
  const output = new PNG({ width, height });
  const [a, b] = [padded(before, width, height), padded(now, width, height)];
  // Exact: the same Chromium renders the same page to the same pixels.
  const changedPixels = pixelmatch(a, b, output.data, width, height, { threshold: 0, includeAA: true });
  if (changedPixels === 0) return UNCHANGED;
  const base64 = encode(output);
  return {
    changedPixels,
    changedRatio: changedPixels / (width * height),
    areas: areasOf(a, b, width, height),
    picture:
      Buffer.byteLength(base64, 'base64') > MAX_PICTURE_BYTES
        ? null
        : { mediaType: 'image/png', width, height, base64 },
  };
}

/** With one filter for all lines: to try all five takes six times as long. */
function encode(image: PNG): string {
  return PNG.sync.write(image, ENCODING).toString('base64');
}

function decode({ base64 }: Picture): PNG {
  return PNG.sync.read(Buffer.from(base64, 'base64'));
}

/** On a larger transparent canvas: pages grow. */
function padded(image: PNG, width: number, height: number): Buffer {
  if (image.width === width && image.height === height) return image.data;
  const canvas = new PNG({ width, height });
  PNG.bitblt(image, canvas, 0, 0, image.width, image.height, 0, 0);
  return canvas.data;
}

/** Boxes around groups of changed cells, the largest first. */
function areasOf(a: Buffer, b: Buffer, width: number, height: number): readonly Area[] {
  const columns = Math.ceil(width / CELL);
  const cells = new Map<number, { left: number; top: number; right: number; bottom: number }>();
  const [from, to] = [
    new Uint32Array(a.buffer, a.byteOffset, a.length / 4),
    new Uint32Array(b.buffer, b.byteOffset, b.length / 4),
  ];
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = y * width + x;
      if (from[at] === to[at]) continue;
      const key = Math.floor(y / CELL) * columns + Math.floor(x / CELL);
      const box = cells.get(key);
      if (box === undefined) cells.set(key, { left: x, top: y, right: x + 1, bottom: y + 1 });
      else {
        box.left = Math.min(box.left, x);
        box.right = Math.max(box.right, x + 1);
        box.bottom = y + 1;
      }
    }
  }
  const areas: Area[] = [];
  for (const [key, box] of cells) {
    if (!cells.delete(key)) continue;
    const left = [key];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      for (const [dx, dy] of NEIGHBOURS) {
        const column = (next % columns) + dx;
        const other = next + dy * columns + dx;
        const found = column < 0 || column >= columns ? undefined : cells.get(other);
        if (found === undefined) continue;
        cells.delete(other);
        left.push(other);
        box.left = Math.min(box.left, found.left);
        box.top = Math.min(box.top, found.top);
        box.right = Math.max(box.right, found.right);
        box.bottom = Math.max(box.bottom, found.bottom);
      }
    }
    areas.push({ x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top });
  }
  return areas.toSorted((one, two) => two.width * two.height - one.width * one.height).slice(0, MAX_AREAS);
}

const NEIGHBOURS = [-1, 0, 1].flatMap((dy) => [-1, 0, 1].map((dx) => [dx, dy] as const));

/** Each pixel of the copy is the mean of a square of pixels. */
function shrink({ data, width: from, height: full }: PNG): Picture {
  const step = Math.max(1, Math.floor(from / THUMBNAIL_WIDTH));
  const width = Math.floor(from / step);
  const height = Math.floor(Math.min(full, from * TALLEST_THUMBNAIL) / step);
  const sums = new Uint32Array(width * height * 4);
  for (let y = 0; y < height * step; y += 1) {
    let to = Math.floor(y / step) * width * 4;
    let at = y * from * 4;
    for (let x = 0; x < width; x += 1, to += 4) {
      for (const end = at + step * 4; at < end; at += 4) {
        sums[to]! += data[at]!;
        sums[to + 1]! += data[at + 1]!;
        sums[to + 2]! += data[at + 2]!;
      }
      sums[to + 3] = 255 * step ** 2;
    }
  }
  const small = new PNG({ width, height });
  small.data.set(sums.map((sum) => sum / step ** 2));
  return { mediaType: 'image/png', width, height, base64: encode(small) };
}
