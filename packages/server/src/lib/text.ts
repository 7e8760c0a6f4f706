// Cuts texts to a length. A character that the cut halves becomes U+FFFD, so no text ends in half a
// surrogate pair.

/**
 * At most `length` UTF-16 code units; half a surrogate pair at the cut becomes U+FFFD, which every
 * database stores.
 */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, length).toWellFormed();
