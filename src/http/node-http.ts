/**
 * Node's `http`, as `require` would give it. An `import` of it asks for all that it exports, also for the browser's `WebSocket`, for which Node
 * loads a whole HTTP client that we do not use: a twentieth of the time until the service is ready, and 3 MB.
 */
export const { createServer, METHODS, ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');
