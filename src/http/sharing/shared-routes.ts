/** What is shared, at the address of the share: no key is needed there, since the token in the address is one (contract §11). */
import type { FastifyInstance } from 'fastify';
import type { ResultsDeps } from '../../results/deps.ts';
import { answerShared, targetOf } from '../../results/shared/answer-shared.ts';
import { principalOf } from '../authenticate.ts';
import { goneSignal } from '../gone-signal.ts';
import { type ResultsRoutesOptions, requestsBelow } from '../results-routes.ts';
import { sendAnswer } from '../send-answer.ts';

export function sharedRoutes(
  server: FastifyInstance,
  prefix: string,
  deps: ResultsDeps,
  options: ResultsRoutesOptions,
): void {
  const requestOf = requestsBelow(prefix, options);
  for (const [path, ending] of [
    ['results', 'any'],
    ['results/csv', 'csv'],
  ] as const) {
    server.route<{ Params: { readonly token: string } }>({
      method: ['GET', 'HEAD'],
      url: `${prefix}/shared/:token/${path}`,
      config: { isShared: true },
      handler: async (request, reply) => {
        const principal = principalOf(request);
        const { share } = principal;
        if (share === undefined) throw new Error('a share was reached with a key');
        // A share may end at any moment, so nobody keeps an answer without asking.
        const { base, ...asked } = requestOf(request, targetOf(share), ending, { kind: 'revalidate' });
        const below = `${base}/shared/${request.params.token}`;
        const context = { principal, share, stats: request.stats, signal: goneSignal(reply) };
        const answer = await answerShared({ ...asked, base: below, pagesAt: 'results' }, context, deps);
        return await sendAnswer(answer, request, reply, options);
      },
    });
  }
}
