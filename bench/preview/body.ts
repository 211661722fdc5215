/** The benchmark's large body, in bytes: 100 MB in whole blocks of 64 KiB. */
export const BODY_BYTES = 1_526 * 64 * 1024;
