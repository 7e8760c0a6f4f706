// Cutting texts without cutting characters.

/** At most `length` UTF-16 code units; half a surrogate pair at the cut becomes U+FFFD, which every database stores. */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, length).toWellFormed();
