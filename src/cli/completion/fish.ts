/** The completion script of fish, which shows what each word means. */
import type { CompletionNode } from './nodes.ts';

export function fishScript(nodes: readonly CompletionNode[]): string {
  return `# Completion of qrs in fish. Once: qrs completion fish > ~/.config/fish/completions/qrs.fish
function __qrs_at
  set -l at ''
  for word in (commandline -opc)[2..]
    switch "$at/$word"
${nodes.flatMap(steps).join('\n')}
    end
  end
  test "$at" = "$argv[1]"
end
complete -c qrs -f
${nodes.flatMap(lines).join('\n')}
`;
}

function steps({ path, subcommands }: CompletionNode): readonly string[] {
  return subcommands.flatMap(({ word }) => [
    `      case '${path}/${word}'`,
    `        set at '${`${path} ${word}`.trimStart()}'`,
  ]);
}

function lines({ path, subcommands, options, choices, takesFile }: CompletionNode): readonly string[] {
  const here = `complete -c qrs -n "__qrs_at '${path}'"`;
  return [
    ...subcommands.map(({ word, about }) => `${here} -a ${word} -d ${quote(about)}`),
    ...(choices.length > 0 ? [`${here} -a '${choices.join(' ')}'`] : []),
    ...(takesFile ? [`${here} -F`] : []),
    ...options.map((option) => {
      const values = option.choices.length === 0 ? '' : ` -a '${option.choices.join(' ')}'`;
      return `${here} -l ${option.word.slice(2)}${option.takesValue ? ` -r${values}` : ''} -d ${quote(option.about)}`;
    }),
  ];
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
