/** Bytes of an answer on standard output, as they come: the next ones are asked for when these are out. */
import type { CommandContext } from '../command-context.ts';

/** The envelope of a run without a result is smaller: an error has 10,000 characters. */
const ENVELOPE_LENGTH_MAX = 100_000;
const LINE_END = '\n';

/**
 * @param whyNone what is wrong with an answer that is a document without rows; only ever asked about a short one, before it is printed
 * @throws Error saying what `whyNone` says
 */
export async function printBytes(
  chunks: AsyncIterable<Uint8Array>,
  context: CommandContext,
  whyNone: (text: string) => string | undefined,
): Promise<void> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let held: string | undefined = '';
  let last = LINE_END;
  for await (const chunk of chunks) {
    const text: string = decoder.decode(chunk, { stream: true });
    if (held !== undefined && held.length + text.length <= ENVELOPE_LENGTH_MAX) {
      held += text;
      continue;
    }
    last = text.at(-1) ?? last;
    await print((held ?? '') + text, context);
    held = undefined;
  }
  if (held === undefined) return await endLine(last, context);
  const problem = held === '' ? undefined : whyNone(held);
  if (problem !== undefined) throw new Error(problem);
  await print(held, context);
  await endLine(held.at(-1) ?? LINE_END, context);
}

/** JSON of the service has no line end, and what follows it on a terminal or in a file should stand on a line of its own. */
async function endLine(last: string, context: CommandContext): Promise<void> {
  if (last !== LINE_END) await print(LINE_END, context);
}

async function print(text: string, context: CommandContext): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  context.stdout.write(text, () => resolve());
  await promise;
}
