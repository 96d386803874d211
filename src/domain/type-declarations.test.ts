import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatColumnType } from './column-type.ts';
import { TypeDeclarationError, typeDeclarations } from './type-declarations.ts';

function read(text: string) {
  return Object.fromEntries([...typeDeclarations([text])].map(([name, type]) => [name, formatColumnType(type)]));
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

test('the option may be repeated', () => {
  const both = typeDeclarations(['b=date', 'c=real'], typeDeclarations(['a=uuid']));
  assert.deepEqual([...both.keys()], ['a', 'b', 'c']);
});

test('as many as can be sent are read in a moment, and more than 10,000 are refused', () => {
  const texts = Array.from({ length: 10_000 }, (_, i) => `c${i}=date`);
  const begun = performance.now();
  assert.equal(typeDeclarations(texts).size, 10_000);
  // Copying all earlier texts for each one would take seconds.
  assert.ok(performance.now() - begun < 1000);
  const says = 'The types of at most 10000 columns can be declared.';
  assert.throws(() => typeDeclarations([...texts, 'one=date']), new TypeDeclarationError(says));
  assert.throws(() => typeDeclarations([`${texts.join(',')},one=date`]), new TypeDeclarationError(says));
});

test('text that is no declaration is refused', () => {
  assert.throws(() => read('price'), /A declaration is COLUMN=TYPE; "price" is none\./);
  assert.throws(() => read('a=date,'), /"" is none/);
  assert.throws(() => read('a=date,a=real'), /The type of "a" is declared twice\./);
  assert.throws(() => read('a=decimal(10, 11)'), /Column "a": decimal\(10, 11\) is out of range/);
  assert.throws(() => read('a=array(row(b date, "b" real))'), /Column "a": a row has the field "b" twice\./);
  assert.deepEqual(read('a=row(b date, B real)'), { a: 'row(b date, B real)' });
  assert.throws(() => read('a=money'), /Column "a": type "money", position 1: found "money", expected a type name/);
});
