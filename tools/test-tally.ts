// Turns the events of `node --test` into a tally: what passed, failed and was skipped, with the
// reasons. Pure: the reporter (test-reporter.ts) feeds it and prints what it returns. A file's
// tests are told apart by the process that ran them and, where several files share one
// (test-groups.ts), by the suite of the file around them. It is stricter than Node in one point: a
// test file that ends without having reported its tests (an early `process.exit(0)`, or a file
// without tests) passes in Node, tests that had already run included. Here it fails.

import { GROUP_SUFFIX } from './test-groups.ts';

/** The part of a `node --test` event that is used; fields are absent where they make no sense. */
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
  /** The file whose tests are being reported, by the process of its group. */
  readonly #current = new Map<string, string>();
  /** The process that ran a file of a group: what it wrote is not told apart by file. */
  readonly #groups = new Map<string, string>();
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
    const entry = this.#relative(data.entryFile ?? data.file ?? data.name ?? '?');
    const isGroup = entry.endsWith(GROUP_SUFFIX);
    switch (type) {
      case 'test:dequeue':
        if (data.entryFile === undefined) this.#unfinished.add(entry);
        return undefined;
      case 'test:start':
        if (isGroup && data.entryFile !== undefined && data.nesting === 0)
          this.#fileBegan(entry, data);
        return undefined;
      case 'test:stdout':
      case 'test:stderr':
        this.#output.set(entry, (this.#output.get(entry) ?? '') + (data.message ?? ''));
        return undefined;
      case 'test:pass':
      case 'test:fail':
        if (data.entryFile === undefined) return this.#fileEnded(entry, type === 'test:pass', data);
        this.#testEnded(this.#current.get(entry) ?? entry, type === 'test:pass', data);
        return isGroup && data.nesting === 0 ? this.#fileOfGroupEnded(entry) : undefined;
      case 'test:summary':
        // The one without a file is the sum of all, and the last event.
        if (data.file === undefined) return this.#blameUnfinished();
        return isGroup ? void this.#unfinished.delete(entry) : this.#finish(entry);
      default:
        return undefined;
    }
  }

  /** Files that began and didn't end: the suspects when a run hangs. */
  get unfinished(): string[] {
    return [...this.#unfinished];
  }

  /**
   * The text that a file wrote to its standard output and error, together with the others of its
   * group.
   */
  outputOf(file: string): string {
    return this.#output.get(this.#groups.get(file) ?? file) ?? '';
  }

  #fileBegan(entry: string, { name = '?' }: TestEvent['data']): void {
    this.#current.set(entry, name);
    this.#groups.set(name, entry);
    this.#unfinished.add(name);
  }

  #testEnded(file: string, isPass: boolean, data: TestEvent['data']): void {
    const isFile = data.name === file;
    const place = isFile ? `${file}:1` : `${this.#relative(data.file ?? file)}:${data.line ?? 1}`;
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

  /**
   * Node reports a process as a test only when it didn't report tests itself: of a group, its last
   * file is to blame.
   */
  #fileEnded(entry: string, isPass: boolean, data: TestEvent['data']): FileTally {
    const file = this.#current.get(entry) ?? entry;
    this.#unfinished.delete(entry);
    if (!isPass) this.#fileFailed(file, describeError(data.details?.error));
    else if (!this.#mayBeEmpty) this.#fileFailed(file, NO_TESTS);
    return this.#finish(file);
  }

  /**
   * Where another test of the same process had failed, Node says nothing of the process that broke
   * down afterwards.
   */
  #blameUnfinished(): undefined {
    const groups = new Set(this.#groups.values());
    for (const file of this.#unfinished) if (!groups.has(file)) this.#fileFailed(file, NO_TESTS);
  }

  /** The suite of a file has ended. */
  #fileOfGroupEnded(entry: string): FileTally {
    const file = this.#current.get(entry) ?? entry;
    this.#current.delete(entry);
    const { passed, failed, skipped } = this.#countsOf(file);
    if (passed + failed + skipped === 0 && !this.#mayBeEmpty) this.#fileFailed(file, NO_TESTS);
    return this.#finish(file);
  }

  #fileFailed(file: string, report: string): void {
    this.#countsOf(file).failed += 1;
    this.tally.failures.push({ place: `${file}:1`, title: 'the file itself', report });
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

const NO_TESTS = 'the file has no tests, or ended before it had reported them (process.exit?)';

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
