// How far the heaps of this process may grow before they are collected. V8 by itself lets one that may become as large as
// ours grow to four times of what lives in it: fastest for ordinary reports, 70 MiB too much beside a large one.

import { setFlagsFromString } from 'node:v8';

/** Of what lives in a heap so much more may die in it. At 60 a large report takes 30 MiB more, and no less time. */
const SLOW_PERCENT = 30;

/** The flag is the whole process's and counts from the next collection on; 0 is V8's own measure. */
export function growSlowly(slowly: boolean): void {
  setFlagsFromString(`--heap-growing-percent=${slowly ? SLOW_PERCENT : 0}`);
}
