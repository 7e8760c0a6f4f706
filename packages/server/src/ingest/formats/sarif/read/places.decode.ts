// An artifactLocation of a SARIF result (SARIF 2.1.0 §3.4) → its path in the checkout, or its
// address, by the run's roots (read/roots.decode.ts) and its table of artifacts (§3.14.15). Each
// uri is resolved once per run, as long as it is remembered. Nothing is fetched or looked up
// outside of the document. Called by read/locations.decode.ts and read/run.decode.ts.

import { limits } from '@muster/contract/plain';
import {
  cleanPath,
  decodePercentOnce,
  isForeignUri,
  isHttpUri,
  usablePath,
} from '../../common/path.rules.ts';
import type { Warnings } from '../../../json/warnings.decode.ts';
import { indexOf, type JsonObject, listOf, objectOf, stringOf } from '../../../json/json.decode.ts';
import { Roots } from './roots.decode.ts';
import { redactUrl, webPlaceOf } from '../../common/web.rules.ts';

export interface Place {
  /** The path in the checkout, or the address without query where the place is on the web. */
  readonly path: string | null;
  /** The address without credentials and query values; null for files. */
  readonly url: string | null;
  /** The web address as it was sent, from which parameters are read; never stored. */
  readonly rawUrl: string | null;
}

export const NOWHERE: Place = { path: null, url: null, rawUrl: null };

/** Files may stand in archives, and these in images. */
const NESTED_MAX = 8;

/** The number of places that are remembered, over all base ids. */
const REMEMBERED_MAX = 50_000;

export class Places {
  readonly #roots: Roots;
  readonly #artifacts: readonly unknown[];
  readonly #hasNested: boolean;
  /**
   * By base id, then by uri: joining the two anew for each location would cost more than two
   * look-ups.
   */
  readonly #known = new Map<string | null, Map<string, Place>>();
  #remembered = 0;
  readonly #warnings: Warnings;

  /**
   * `repository` is the analysis's repository in normal form: its name shows checkouts on other
   * machines.
   */
  constructor(run: JsonObject, repository: string | null, warnings: Warnings) {
    this.#warnings = warnings;
    this.#artifacts = listOf(run.artifacts);
    this.#hasNested = this.#artifacts.some((one) => indexOf(objectOf(one)?.parentIndex) !== null);
    this.#roots = new Roots(run, repository, warnings);
  }

  /** The place of an artifactLocation: its uri, else the artifact that its index names (§3.4.5). */
  of(location: JsonObject): Place {
    const uri = stringOf(location.uri);
    if (uri !== null && !this.#hasNested) return this.#resolve(uri, stringOf(location.uriBaseId));
    const index = indexOf(location.index);
    const artifact = objectOf(this.#artifacts[index ?? -1]);
    const listed = objectOf(artifact?.location);
    if (uri !== null && !(indexOf(artifact?.parentIndex) !== null && listed?.uri === uri)) {
      return this.#resolve(uri, stringOf(location.uriBaseId));
    }
    return index === null ? NOWHERE : this.#listed(index, []);
  }

  /**
   * The place of an artifact of the table. An artifact that is a part of another one (§3.24.3) is
   * named after it: `app.zip!/lib/a.c`. `inside` has the parts that led here; a cycle of parents
   * ends there.
   */
  #listed(index: number, inside: readonly number[]): Place {
    const artifact = objectOf(this.#artifacts[index]);
    const own = objectOf(artifact?.location);
    const uri = stringOf(own?.uri);
    const parent = this.#hasNested ? indexOf(artifact?.parentIndex) : null;
    const parts = [...inside, index];
    if (parent === null || parts.includes(parent) || parts.length > NESTED_MAX) {
      return uri === null ? NOWHERE : this.#resolve(uri, stringOf(own?.uriBaseId));
    }
    const container = this.#listed(parent, parts);
    if (uri === null || isForeignUri(uri)) return container;
    const inner = cleanPath(decodePercentOnce(uri)).replace(/^\//, '');
    if (container.path === null || inner === '') return this.#resolve(uri, null);
    const path = this.#warnings.text(`${container.path}!/${inner}`, limits.pathCharsMax);
    return { path, url: null, rawUrl: null };
  }

  #resolve(uri: string, baseId: string | null): Place {
    const known = this.#known.get(baseId)?.get(uri);
    if (known !== undefined) return known;
    const place = this.#placeOf(uri, baseId);
    if (uri.length + (baseId?.length ?? 0) <= limits.pathCharsMax) {
      this.#remember(baseId, uri, place);
    }
    return place;
  }

  #remember(base: string | null, uri: string, place: Place): void {
    // Where every result has a file of its own, remembering serves nobody.
    if (this.#remembered >= REMEMBERED_MAX) {
      this.#known.clear();
      this.#remembered = 0;
    }
    const ofBase = this.#known.get(base) ?? new Map<string, Place>();
    this.#known.set(base, ofBase.set(uri, place));
    this.#remembered += 1;
  }

  #placeOf(uri: string, baseId: string | null): Place {
    const said = usablePath(uri);
    if (said === null) return NOWHERE;
    const text = (baseId === null ? null : this.#roots.addressOf(said, baseId)) ?? said;
    if (isForeignUri(text)) {
      const address = isHttpUri(text) ? webPlaceOf(text)?.address : undefined;
      const url = this.#warnings.text(redactUrl(text), limits.pathCharsMax);
      const path = this.#warnings.text(address ?? url, limits.pathCharsMax);
      return { path, url, rawUrl: isHttpUri(text) ? text : null };
    }
    const path = this.#roots.pathOf(text, baseId);
    return usablePath(path) === null
      ? NOWHERE
      : { path: this.#warnings.text(path, limits.pathCharsMax), url: null, rawUrl: null };
  }
}
