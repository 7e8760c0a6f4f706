// How far the event loop of this thread lags behind: the one place that measures it. Asked by the flush of presence.

import { monitorEventLoopDelay } from 'node:perf_hooks';

/** How often the loop is looked at. Half of it costs more than it tells; double hides lags that callers feel. */
const RESOLUTION_MS = 20;

export class LoopLag {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor() {
    this.#histogram.enable();
  }

  /** The lag in milliseconds that 99 of 100 looks since the last call stayed below. */
  takeP99Ms(): number {
    const p99 = this.#histogram.percentile(99) / 1e6 - RESOLUTION_MS;
    this.#histogram.reset();
    return Number.isFinite(p99) ? Math.max(p99, 0) : 0;
  }
}
