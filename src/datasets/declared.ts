/** The curated datasets: a line for each. */
export { declareAvsStats } from './avs-stats/declaration.ts';
export { declareOperatorStats } from './operator-stats/declaration.ts';
export { declareOperatorToAvsMapping } from './operator-to-avs-mapping/declaration.ts';
export { declarePoints } from './points/declaration.ts';
