// Fastify's own validators of requests, each compiled when the first request needs it. Compiling
// all of them takes a tenth of a start, and most processes never need most of them.

import AjvCompiler from '@fastify/ajv-compiler';

type Build = AjvCompiler.BuildCompilerFromPool;
type Compile = ReturnType<Build>;
type Validate = ReturnType<Compile>;

/** The function that Fastify asks for a compiler of schemas, with its settings for Ajv. */
export const buildValidators: Build = (schemas, options) => {
  const compile = AjvCompiler()(schemas, options);
  return (...schema) => lazily(() => compile(...schema));
};

/** A validator that behaves like the one of `make`, and calls `make` for the first value. */
function lazily(make: () => Validate): Validate {
  let made: Validate | null = null;
  const validate = (value: unknown): unknown => {
    made ??= make();
    const verdict = made(value);
    // Fastify reads the errors from the function that it called.
    lazy.errors = made.errors ?? null;
    return verdict;
  };
  const lazy = validate as Validate;
  return lazy;
}
