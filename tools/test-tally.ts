// Turns the events of `node --test` into a tally: what passed, failed and was skipped, with the
// reasons. Pure: the reporter (test-reporter.ts) feeds it and prints its result. It is stricter
// than Node in one point: a test file that ends without having reported its tests (an early
// `process.exit(0)`, or a file without tests) passes in Node, tests that had already run included.
// Here it fails.

/** The used part of a `node --test` event; fields are absent where they make no sense. */
export interface TestEvent {
  type: string;
  data: {
    name?: string;
    nesting?: number;
    file?: string;
    line?: number;
    /** Set by Node on events from within a test file; absent on those about the file itself. */
    entryFile?: string;
    skip?: string | boolean;
    todo?: string | boolean;
    message?: string;
    duration_ms?: number;
    details?: { type?: string; error?: Error & { failureType?: string; cause?: unknown } };
  };
}

export interface Failure {
  /** The place of the test: `path:line`. */
  place: string;
  title: string;
  /** The error with its stack, or what happened to the file. */
  report: string;
}

export interface Skip {
  place: string;
  title: string;
  reason: string;
}

/** The counts of one test file, for its line in the report. */
export interface FileTally {
  file: string;
  passed: number;
  failed: number;
  skipped: number;
}

export interface Tally {
  passed: number;
  failures: Failure[];
  skips: Skip[];
}

/** Collects the events of one run. Paths are made relative to `root`. */
export class TallyKeeper {
  readonly tally: Tally = { passed: 0, failures: [], skips: [] };
  readonly #files = new Map<string, FileTally>();
  readonly #output = new Map<string, string>();
  readonly #unfinished = new Set<string>();
  readonly #root: string;
  /** Whether files without a matching test are fine: in a run narrowed by test names. */
  readonly #mayBeEmpty: boolean;

  constructor(root: string, mayBeEmpty = false) {
    this.#root = root;
    this.#mayBeEmpty = mayBeEmpty;
  }

  /** Takes an event in; returns the file's counts when it was the last event of this file. */
  add(event: TestEvent): FileTally | undefined {
    const { type, data } = event;
    const file = this.#relative(data.entryFile ?? data.file ?? data.name ?? '?');
    switch (type) {
      case 'test:dequeue':
        if (data.entryFile === undefined) this.#unfinished.add(file);
        return undefined;
      case 'test:stdout':
      case 'test:stderr':
        this.#output.set(file, (this.#output.get(file) ?? '') + (data.message ?? ''));
        return undefined;
      case 'test:pass':
      case 'test:fail':
        if (data.entryFile === undefined) return this.#fileEnded(file, type === 'test:pass', data);
        this.#testEnded(file, type === 'test:pass', data);
        return undefined;
      case 'test:summary':
        // The event without a file is the sum of all.
        return data.file === undefined ? undefined : this.#finish(file);
      default:
        return undefined;
    }
  }

  /** Files that began and didn't end: the suspects when a run hangs. */
  get unfinished(): string[] {
    return [...this.#unfinished];
  }

  /** The text that a file wrote to its standard output and error. */
  outputOf(file: string): string {
    return this.#output.get(file) ?? '';
  }

  #testEnded(file: string, isPass: boolean, data: TestEvent['data']): void {
    const place = `${this.#relative(data.file ?? file)}:${data.line ?? 1}`;
    const title = data.name ?? '?';
    const counts = this.#countsOf(file);
    const reason = skipReason(data);
    if (reason !== undefined) {
      counts.skipped += 1;
      this.tally.skips.push({ place, title, reason });
    } else if (!isPass) {
      // The failed subtests have been counted already.
      if (data.details?.error?.failureType === 'subtestsFailed') return;
      counts.failed += 1;
      this.tally.failures.push({ place, title, report: describeError(data.details?.error) });
    } else if (data.details?.type !== 'suite') {
      counts.passed += 1;
      this.tally.passed += 1;
    }
  }

  /** Node reports a file as a test only when the file didn't report tests itself. */
  #fileEnded(file: string, isPass: boolean, data: TestEvent['data']): FileTally {
    const counts = this.#countsOf(file);
    if (!isPass || !this.#mayBeEmpty) {
      counts.failed += 1;
      const report = isPass
        ? 'the file has no tests, or ended before it had reported them (process.exit?)'
        : describeError(data.details?.error);
      this.tally.failures.push({ place: `${file}:1`, title: 'the file itself', report });
    }
    return this.#finish(file);
  }

  #finish(file: string): FileTally {
    this.#unfinished.delete(file);
    return this.#countsOf(file);
  }

  #countsOf(file: string): FileTally {
    const known = this.#files.get(file);
    if (known !== undefined) return known;
    const counts = { file, passed: 0, failed: 0, skipped: 0 };
    this.#files.set(file, counts);
    return counts;
  }

  #relative(file: string): string {
    return file.startsWith(`${this.#root}/`) ? file.slice(this.#root.length + 1) : file;
  }
}

function skipReason({ skip, todo }: TestEvent['data']): string | undefined {
  if (skip !== undefined && skip !== false)
    return skip === true || skip === '' ? 'no reason' : skip;
  if (todo === undefined || todo === false) return undefined;
  return typeof todo === 'string' && todo !== '' ? `to do: ${todo}` : 'to do';
}

/** The test's own error rather than the runner's wrapper, with the stack where there is one. */
function describeError(error: NonNullable<TestEvent['data']['details']>['error']): string {
  const inner = error?.cause ?? error;
  if (inner instanceof Error) return inner.stack ?? inner.message;
  return typeof inner === 'string' ? inner : (JSON.stringify(inner) ?? 'no error given');
}
