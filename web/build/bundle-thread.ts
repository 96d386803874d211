/**
 * The thread in which a service that runs from a checkout bundles the explorer. To load the bundler and start its process takes more than a
 * tenth of a second, in which nobody could be answered.
 */
import { parentPort } from 'node:worker_threads';
import { bundle } from './bundle.ts';

parentPort?.postMessage(await bundle());
