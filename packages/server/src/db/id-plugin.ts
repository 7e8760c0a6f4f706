// Ids are text in TypeScript and 16-byte blobs in SQLite; only this file changes one into the
// other. Queries change while they are printed (`IdCompiler`, the printer of SQLite), results in a
// Kysely plugin (`IdPlugin`). The COLUMN NAME decides (isIdColumn), never the look of a value, so
// that a rule id which happens to be a UUID stays text. PostgreSQL needs none of this.
//
// Converted: inserted and updated values, comparisons whose left side is an id column (also in
// lists, between and tuples), and results, aliases included. Raw SQL and values in a select use
// `idValue`.

import {
  type BinaryOperationNode,
  type ColumnUpdateNode,
  type InsertQueryNode,
  type KyselyPlugin,
  type OperationNode,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type PrimitiveValueListNode,
  type QueryResult,
  type RootOperationNode,
  SqliteQueryCompiler,
  type TupleNode,
  type UnknownRow,
  type ValueListNode,
  type ValueNode,
  type ValuesNode,
} from 'kysely';
import { ID_BYTES, idToBytes, idToText, isSameId } from '../lib/id-bytes.ts';
import { isIdColumn } from './tables.ts';

/** See the head of this file. Stateless: one instance serves any number of queries. */
export class IdPlugin implements KyselyPlugin {
  transformQuery(args: PluginTransformQueryArgs): RootOperationNode {
    return args.node;
  }

  /** Rows come from our own driver as fresh objects, and are changed in place. */
  async transformResult(args: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    const { rows } = args.result;
    const first = rows[0];
    if (first === undefined) return args.result;
    for (const name of Object.keys(first)) {
      if (!isIdColumn(name)) continue;
      // An id that repeats from one row to the next is converted once, and is one text.
      let above: { readonly id: Uint8Array; readonly text: string } | null = null;
      for (const row of rows) {
        const id = row[name];
        if (!(id instanceof Uint8Array) || id.length !== ID_BYTES) continue;
        if (above === null || !isSameId(above.id, id)) above = { id, text: idToText(id) };
        row[name] = above.text;
      }
    }
    return args.result;
  }
}

/** The value as it is stored in a column of this name: only texts in id columns change. */
export function storedValue(column: string, value: unknown): unknown {
  return typeof value === 'string' && isIdColumn(column) ? idToBytes(value) : value;
}

/**
 * Prints ids as they are stored. A pass of its own over each query would cost as much as the
 * printing.
 */
export class IdCompiler extends SqliteQueryCompiler {
  protected override visitInsertQuery(node: InsertQueryNode): void {
    const { columns, values } = node;
    if (columns === undefined || values?.kind !== 'ValuesNode') {
      super.visitInsertQuery(node);
      return;
    }
    const names = columns.map((column) => column.column.name);
    const converted: ValuesNode = {
      ...(values as ValuesNode),
      values: (values as ValuesNode).values.map((row) => convertedRow(row, names)),
    };
    super.visitInsertQuery({ ...node, values: converted });
  }

  protected override visitColumnUpdate(node: ColumnUpdateNode): void {
    const name = columnName(node.column);
    const isId = name !== null && isIdColumn(name);
    super.visitColumnUpdate(isId ? { ...node, value: convertedId(node.value) } : node);
  }

  protected override visitBinaryOperation(node: BinaryOperationNode): void {
    const { leftOperand, rightOperand } = node;
    super.visitBinaryOperation({
      ...node,
      rightOperand: convertedOperand(leftOperand, rightOperand),
    });
  }
}

/** The name of the column that a node refers to; null when it isn't one. */
function columnName(node: OperationNode): string | null {
  if (node.kind === 'ColumnNode') {
    return (node as unknown as { column: { name: string } }).column.name;
  }
  if (node.kind === 'ReferenceNode') {
    return columnName((node as unknown as { column: OperationNode }).column);
  }
  return null;
}

/**
 * The right side of a comparison, converted where the left side is an id column or a tuple with
 * some.
 */
function convertedOperand(left: OperationNode, right: OperationNode): OperationNode {
  if (left.kind === 'TupleNode') {
    const names = (left as TupleNode).values.map(columnName);
    return convertedTuple(right, names);
  }
  const name = columnName(left);
  return name !== null && isIdColumn(name) ? convertedId(right) : right;
}

/** A tuple, or a list of tuples, position by position. */
function convertedTuple(node: OperationNode, names: readonly (string | null)[]): OperationNode {
  if (node.kind === 'TupleNode') {
    const values = (node as TupleNode).values.map((value, at) => {
      const name = names[at];
      return name !== null && name !== undefined && isIdColumn(name) ? convertedId(value) : value;
    });
    return { ...node, values } as TupleNode;
  }
  if (node.kind === 'ValueListNode') {
    const values = (node as ValueListNode).values.map((value) => convertedTuple(value, names));
    return { ...node, values } as ValueListNode;
  }
  return node;
}

/** Every value below `node` as an id; references, subqueries and raw fragments stay as they are. */
function convertedId(node: OperationNode): OperationNode {
  switch (node.kind) {
    case 'ValueNode': {
      const { value } = node as ValueNode;
      return typeof value === 'string' ? ({ ...node, value: idToBytes(value) } as ValueNode) : node;
    }
    case 'PrimitiveValueListNode': {
      const { values } = node as PrimitiveValueListNode;
      return { ...node, values: values.map(idOf) } as PrimitiveValueListNode;
    }
    case 'ValueListNode': {
      const { values } = node as ValueListNode;
      return { ...node, values: values.map(convertedId) } as ValueListNode;
    }
    case 'AndNode': {
      // `between a and b` is built as a comparison with an AndNode.
      const { left, right } = node as unknown as { left: OperationNode; right: OperationNode };
      return { ...node, left: convertedId(left), right: convertedId(right) } as OperationNode;
    }
    default:
      return node;
  }
}

function convertedRow(
  row: PrimitiveValueListNode | ValueListNode,
  names: readonly string[],
): PrimitiveValueListNode | ValueListNode {
  if (row.kind === 'PrimitiveValueListNode') {
    return { ...row, values: row.values.map((value, at) => storedValue(names[at] ?? '', value)) };
  }
  return {
    ...row,
    values: row.values.map((value, at) =>
      isIdColumn(names[at] ?? '') ? convertedId(value) : value,
    ),
  };
}

function idOf(value: unknown): unknown {
  return typeof value === 'string' ? idToBytes(value) : value;
}
