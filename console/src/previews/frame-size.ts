/** Sizes of screens, in CSS pixels, upright for hand-held devices. */
export const DEVICES = {
  fit: { words: 'Fit the pane', width: 0, height: 0 },
  phone: { words: 'Phone 390 × 844', width: 390, height: 844 },
  tablet: { words: 'Tablet 820 × 1180', width: 820, height: 1_180 },
  laptop: { words: 'Laptop 1280 × 800', width: 1_280, height: 800 },
  desktop: { words: 'Desktop 1920 × 1080', width: 1_920, height: 1_080 },
} as const;

export type Device = keyof typeof DEVICES;

/** `auto` shrinks a device until it fits the pane. */
export const ZOOMS = { auto: 'Zoom to fit', '0.5': '50 %', '0.75': '75 %', '1': '100 %' } as const;
export type Zoom = keyof typeof ZOOMS;

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The size of the page in CSS pixels, and its scale, in the space that its pane has. */
export function frameBox(space: Size, device: Device, isRotated: boolean, zoom: Zoom) {
  const { width, height } = DEVICES[device];
  if (device === 'fit') {
    const scale = zoom === 'auto' ? 1 : Number(zoom);
    return { width: space.width / scale, height: space.height / scale, scale };
  }
  const size = isRotated ? { width: height, height: width } : { width, height };
  const fitting = Math.min(1, space.width / size.width, space.height / size.height);
  // A pane that is not laid out yet has no size.
  return { ...size, scale: zoom === 'auto' ? (fitting > 0 ? fitting : 1) : Number(zoom) };
}
