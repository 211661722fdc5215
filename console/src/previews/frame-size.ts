/** Sizes of screens, in CSS pixels, upright for hand-held devices. */
export const DEVICES = {
  fit: { words: 'Full width', width: 0, height: 0 },
  phone: { words: 'Phone 390 × 844', width: 390, height: 844 },
  tablet: { words: 'Tablet 820 × 1180', width: 820, height: 1_180 },
  laptop: { words: 'Laptop 1280 × 800', width: 1_280, height: 800 },
  desktop: { words: 'Desktop 1920 × 1080', width: 1_920, height: 1_080 },
} as const;

export type Device = keyof typeof DEVICES;

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The size of the page in CSS pixels, and its scale: a device shrinks until it fits its pane. */
export function frameBox(space: Size, device: Device, isRotated: boolean) {
  if (device === 'fit') return { ...space, scale: 1 };
  const { width, height } = DEVICES[device];
  const size = isRotated ? { width: height, height: width } : { width, height };
  const fitting = Math.min(1, space.width / size.width, space.height / size.height);
  // A pane that is not laid out yet has no size.
  return { ...size, scale: fitting > 0 ? fitting : 1 };
}
