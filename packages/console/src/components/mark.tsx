// The small shapes beside words, drawn, because no font surely has them. They only repeat the word
// beside them, so screen readers skip them.

const SHAPES = {
  ring: <circle cx="8" cy="8" r="5.5" className="stroke" />,
  dot: <circle cx="8" cy="8" r="5" />,
  target: (
    <>
      <circle cx="8" cy="8" r="5.5" className="stroke" />
      <circle cx="8" cy="8" r="2.5" />
    </>
  ),
  half: (
    <>
      <circle cx="8" cy="8" r="5.5" className="stroke" />
      <path d="M8 2.5a5.5 5.5 0 0 0 0 11z" />
    </>
  ),
  check: <path d="M2.5 8.5l3.5 3.5 7-8" className="stroke" />,
  cross: <path d="M3.5 3.5l9 9m0-9l-9 9" className="stroke" />,
  barred: (
    <>
      <circle cx="8" cy="8" r="5.5" className="stroke" />
      <path d="M4 12l8-8" className="stroke" />
    </>
  ),
  pause: <path d="M4 3h3v10H4zm5 0h3v10H9z" />,
  square: <rect x="3.5" y="3.5" width="9" height="9" />,
  twins: <path d="M2.5 2.5h7v7h-7zm4 7v4h7v-7h-4" className="stroke" />,
  play: <path d="M4 2.5v11l9-5.5z" />,
  up: <path d="M8 14V3M3.5 7.5L8 3l4.5 4.5" className="stroke" />,
  back: <path d="M14 8H3m4.5-4.5L3 8l4.5 4.5" className="stroke" />,
  out: <path d="M4 12l8-8M6 4h6v6" className="stroke" />,
} as const;

export type Shape = keyof typeof SHAPES;

export function Mark({ shape }: { readonly shape: Shape }) {
  return (
    <svg className="mark" viewBox="0 0 16 16" aria-hidden="true">
      {SHAPES[shape]}
    </svg>
  );
}
