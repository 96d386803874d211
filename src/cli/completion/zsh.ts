/** The completion script of zsh, which shows what each word means. */
import type { CompletionNode, Word } from './nodes.ts';

export function zshScript(nodes: readonly CompletionNode[]): string {
  return `#compdef qrs
# Completion of qrs in zsh. In ~/.zshrc, after compinit: eval "$(qrs completion zsh)"
_qrs() {
  local current="\${words[CURRENT]}" previous="\${words[CURRENT-1]}" at='' word
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at/$word" in
${nodes.flatMap(steps).join('\n')}
    esac
  done
  case "$at/$previous" in
${nodes.flatMap(values).join('\n')}
  esac
  case "$at" in
${nodes.map(offers).join('\n')}
  esac
}
compdef _qrs qrs
`;
}

function steps({ path, subcommands }: CompletionNode): readonly string[] {
  return subcommands.map(({ word }) => `      '${path}/${word}') at='${`${path} ${word}`.trimStart()}' ;;`);
}

function values({ path, options }: CompletionNode): readonly string[] {
  return options
    .filter(({ takesValue }) => takesValue)
    .map(({ word, choices }) => {
      const offer = choices.length === 0 ? '_files' : `compadd -- ${choices.join(' ')}`;
      return `    '${path}/${word}') ${offer}; return ;;`;
    });
}

function offers({ path, subcommands, options, choices, takesFile }: CompletionNode): string {
  const plain = [
    ...(subcommands.length > 0 ? [`found=(${described(subcommands)}); _describe command found`] : []),
    ...(choices.length > 0 ? [`compadd -- ${choices.join(' ')}`] : []),
    ...(takesFile ? ['_files'] : []),
  ].join('; ');
  const flags = `found=(${described(options)}); _describe option found`;
  const offer = plain === '' ? flags : `if [[ $current == -* ]]; then ${flags}; else ${plain}; fi`;
  return `    '${path}') ${offer} ;;`;
}

/** `'word:meaning'`: a colon of the word's own would end it, but no word has one. */
function described(words: readonly Word[]): string {
  return words.map(({ word, about }) => `'${word}:${about.replaceAll("'", "'\\''")}'`).join(' ');
}
