import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { answer, print, rowsOf, table } from './cells.mjs';

const home = `${process.env.PACKAGES}/node_modules/d3-dsv`;
const { csvParse } = await import(pathToFileURL(`${home}/dist/d3-dsv.mjs`).href);
const { version } = JSON.parse(readFileSync(`${home}/package.json`, 'utf8'));
print(version, rowsOf(csvParse(await (await answer(`${table}/csv`)).text())));
