/** A client that only counts the bytes that it gets, as curl does. What a client does with an answer is not measured. */
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, type RequestOptions, request } from 'node:http';

/**
 * Reads an answer to its end.
 * @param onBytes told of what has come, also of an answer that is then cut
 * @returns its headers
 * @throws when it is no 200, or not as long as it says
 */
export async function countBytes(
  url: string,
  options: RequestOptions,
  onBytes: (bytes: number) => void = () => undefined,
): Promise<IncomingHttpHeaders> {
  const [response] = (await once(request(url, options).end(), 'response')) as [IncomingMessage];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    onBytes(chunk.length);
  }
  const announced = Number(response.headers['content-length'] ?? bytes);
  if (response.statusCode !== 200 || bytes !== announced) {
    throw new Error(`status ${response.statusCode}, ${bytes} bytes of ${announced}`);
  }
  return response.headers;
}
