// A fingerprint → the recipe of CTIS §5 that made it, and whether it is evidence. A hash of a line
// number or a version changes when the defect doesn't: such a fingerprint is stored for
// /ingest/check but not used for matching. Pure. Called by ctis/fingerprints.decode.ts.

import { type RecipeFields, recipes, sha256Hex } from './recipes.rules.ts';

/**
 * A recipe that fits the finding: its name, the text that it hashes, and the reason why the hash is
 * no evidence (null when it is).
 */
interface Recipe {
  readonly name: string;
  readonly text: string;
  readonly weakness: string | null;
  /** The number of hex digits that the producer keeps. */
  readonly digits: 32 | 64;
}

const BY_LINE = 'hashes the line number';
const BY_VERSION = 'hashes the version';
const BY_FILE = 'hashes the file, not the resource';
const BY_HOST = 'hashes the host, not the address';

/** A producer hashes one of the first aliases. */
const VARIANTS_MAX = 4;

/** The recipes whose members the finding has, the likeliest first. */
export function fittingRecipes(fields: RecipeFields): Recipe[] {
  const found: Recipe[] = [];
  const add = (
    name: string,
    text: string | null,
    weakness: string | null,
    digits: 32 | 64 = 64,
  ) => {
    if (text !== null) found.push({ name, text, weakness, digits });
  };
  const assets = fields.assets.slice(0, VARIANTS_MAX);
  if (fields.startLine === 0) {
    for (const host of hostsOf(fields, assets))
      add('nuclei', recipes.nuclei(fields, host), BY_HOST);
  }
  add('sast', recipes.sast(fields), BY_LINE);
  add('sast', recipes.sast(fields, 0), BY_LINE);
  add('sast-content', recipes.sastContent(fields), null);
  for (const message of new Set([fields.title, fields.message])) {
    add('generic', recipes.generic(fields, message), BY_LINE);
  }
  // Newer producers hash the masked value. A raw value can be tried only if the report holds it.
  for (const secret of new Set(['', ...fields.secrets])) {
    add('secret', recipes.secret(fields, secret), BY_LINE);
    add('secret-old', recipes.secretOld(fields, secret), BY_LINE);
    if (secret !== '') add('trivy-secret', recipes.trivySecret(fields, secret), BY_LINE, 32);
  }
  if (fields.packageName !== '') {
    for (const id of fields.vulnerabilities.slice(0, VARIANTS_MAX)) {
      add('sca', recipes.sca(fields, id), BY_VERSION);
      for (const place of [fields.path, ...assets]) {
        add('trivy', recipes.trivyVulnerability(fields, id, place), BY_VERSION, 32);
      }
      for (const image of assets)
        add('container', recipes.container(fields, image, id), BY_VERSION);
    }
  }
  if (fields.resourceType !== '') {
    for (const target of [fields.path, ...assets]) {
      for (const message of new Set([fields.message, fields.title])) {
        const text = recipes.trivyMisconfiguration(fields, target, message);
        add('trivy-misconfig', text, BY_FILE, 32);
      }
    }
  }
  addStable(fields, assets, add);
  return found;
}

/** The spellings of a host that producers hash: bare, or with its scheme. */
function hostsOf(fields: RecipeFields, assets: readonly string[]): ReadonlySet<string> {
  const { host } = fields;
  const spelled = host === '' ? [] : [host, `https://${host}`, `http://${host}`];
  return new Set([...spelled, ...assets]);
}

/** Adds the recipes that hash the defect itself, not its current place. */
function addStable(
  fields: RecipeFields,
  assets: readonly string[],
  add: (name: string, text: string, weakness: null) => void,
): void {
  if (fields.resourceType !== '' || fields.resourceName !== '') {
    add('misconfig', recipes.misconfig(fields), null);
  }
  if (fields.host !== '') add('dast', recipes.dast(fields), null);
  if (fields.contract !== '' || fields.weakness !== '') add('web3', recipes.web3(fields), null);
  for (const asset of assets) {
    if (fields.port !== '') add('va', recipes.network(fields, asset), null);
    if (fields.control !== '') add('compliance', recipes.compliance(fields, asset), null);
  }
}

/** The recipe that made a fingerprint; null for a fingerprint of the producer's own making. */
function recipeOf(fingerprint: string, fields: RecipeFields): Recipe | null {
  const text = fingerprint.trim().toLowerCase();
  if (!/^(?:[0-9a-f]{32}|[0-9a-f]{64})$/.test(text)) return null;
  const fits = ({ text: hashed, digits }: Recipe) =>
    digits === text.length && sha256Hex(hashed).startsWith(text);
  return fittingRecipes(fields).find(fits) ?? null;
}

interface FingerprintVerdict {
  /** The name of the recipe, where CTIS §5 has it. */
  readonly recipe: string | null;
  /** Why the fingerprint is no evidence; null when it may be. */
  readonly weakness: string | null;
}

/**
 * The recipe of a fingerprint, as far as it can be told, and whether the fingerprint is evidence.
 */
export function judgeFingerprint(fingerprint: string, fields: RecipeFields): FingerprintVerdict {
  // Gitleaks: `commit:file:rule:line` or `file:rule:line` in clear text (CTIS §5.2).
  const rule = fields.rule.trim();
  if (rule !== '' && fingerprint.trim().endsWith(`:${rule}:${fields.startLine}`)) {
    return { recipe: 'gitleaks', weakness: 'ends in the line number' };
  }
  const recipe = recipeOf(fingerprint, fields);
  return { recipe: recipe?.name ?? null, weakness: recipe?.weakness ?? null };
}
