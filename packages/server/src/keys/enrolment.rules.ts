// Decides which labels a runner may give itself when it enrols. Commands are targeted by labels, so
// whoever chooses the labels chooses which work is offered. Called by enrolment.ts.

type Labels = Readonly<Record<string, string>>;

/** An entry `name` allows any value, an entry `name=value` that value only. */
const allows = (entry: string, name: string, value: string): boolean =>
  entry === name || entry === `${name}=${value}`;

/**
 * The names of labels that were asked for and aren't allowed. The token's own labels are always
 * allowed with their value. `allowed` null: the token doesn't restrict labels, so all are allowed.
 */
export function labelsBeyond(
  asked: Labels,
  own: Labels,
  allowed: readonly string[] | null,
): string[] {
  if (allowed === null) return [];
  return Object.entries(asked)
    .filter(
      ([name, value]) =>
        !(Object.hasOwn(own, name) && own[name] === value) &&
        !allowed.some((entry) => allows(entry, name, value)),
    )
    .map(([name]) => name);
}
