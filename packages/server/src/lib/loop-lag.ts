// Measures how far the event loop of this thread lags behind; the only place that does. The flush
// of presence reads the lag.

import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * How often the loop is sampled. Half of it costs more than it tells; double hides lags that
 * callers feel.
 */
const RESOLUTION_MS = 20;

export class LoopLag {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor() {
    this.#histogram.enable();
  }

  /** The lag in milliseconds below which 99 of 100 samples since the last call stayed. */
  takeP99Ms(): number {
    const p99 = this.#histogram.percentile(99) / 1e6 - RESOLUTION_MS;
    this.#histogram.reset();
    return Number.isFinite(p99) ? Math.max(p99, 0) : 0;
  }
}
