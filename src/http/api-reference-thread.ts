/**
 * Loads the script of the API reference, 4 MB within a program, which takes a quarter of a second. The package hands it out only as a route of a
 * Fastify plugin: a server that listens nowhere is asked for it.
 */
import { parentPort } from 'node:worker_threads';
import scalar from '@scalar/fastify-api-reference';
import Fastify from 'fastify';

const server = Fastify();
await server.register(scalar, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
const { statusCode, rawPayload } = await server.inject('/docs/js/scalar.js');
await server.close();
if (statusCode !== 200) throw new Error(`the script of the API reference could not be loaded: status ${statusCode}`);
const script = new Uint8Array(rawPayload);
parentPort?.postMessage(script, [script.buffer]);
