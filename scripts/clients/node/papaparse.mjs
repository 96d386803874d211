import { createRequire } from 'node:module';
import { answer, print, rowsOf, table } from './cells.mjs';

const require = createRequire(`${process.env.PACKAGES}/`);
const Papa = require('papaparse');
const { data, errors } = Papa.parse(await (await answer(`${table}/csv`)).text(), {
  header: true,
  skipEmptyLines: true,
});
if (errors.length > 0) throw new Error(errors[0].message);
print(require('papaparse/package.json').version, rowsOf(data));
