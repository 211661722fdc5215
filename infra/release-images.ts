/** The images of a release by digest, which `npm run images` writes; empty otherwise. */
export const RELEASE_IMAGES: Readonly<Record<string, string>> = {};
