import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatColumnType } from './column-type.ts';
import { typeDeclarations } from './type-declarations.ts';

function read(text: string) {
  return Object.fromEntries([...typeDeclarations(text)].map(([name, type]) => [name, formatColumnType(type)]));
}

test('declarations are separated by commas outside parentheses', () => {
  assert.deepEqual(
    read(
      'price=decimal(10, 3),to = varbinary, at=timestamp(3) with time zone,n=row(a bigint, b map(varchar, uint256))',
    ),
    {
      price: 'decimal(10, 3)',
      to: 'varbinary',
      at: 'timestamp(3) with time zone',
      n: 'row(a bigint, b map(varchar, uint256))',
    },
  );
});

test('a column name in double quotes may have commas, equals signs and quotes', () => {
  assert.deepEqual(read('"a,b"=uint256,"x=y"=date,"say ""hi"""=varchar,größe=real'), {
    'a,b': 'uint256',
    'x=y': 'date',
    'say "hi"': 'varchar',
    größe: 'real',
  });
});

test('the option may be given again', () => {
  const both = typeDeclarations('b=date', typeDeclarations('a=uuid'));
  assert.deepEqual([...both.keys()], ['a', 'b']);
});

test('what is no declaration is refused', () => {
  assert.throws(() => read('price'), /A declaration is COLUMN=TYPE; "price" is none\./);
  assert.throws(() => read('a=date,'), /"" is none/);
  assert.throws(() => read('a=date,a=real'), /The type of "a" is declared twice\./);
  assert.throws(() => read('a=decimal(10, 11)'), /Column "a": decimal\(10, 11\) is out of range/);
  assert.throws(() => read('a=money'), /Column "a": type "money", position 1: found "money", expected a type name/);
});
