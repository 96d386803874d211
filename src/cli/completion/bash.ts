/** The completion script of bash. Words are ours and hold no characters that a shell reads; descriptions do not appear. */
import type { CompletionNode } from './nodes.ts';

export function bashScript(nodes: readonly CompletionNode[]): string {
  return `# Completion of qrs in bash. In ~/.bashrc: eval "$(qrs completion bash)"
_qrs() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command/$word" in
${nodes.flatMap(steps).join('\n')}
    esac
  done
  COMPREPLY=()
  case "$command/$previous" in
${nodes.flatMap(values).join('\n')}
  esac
  case "$command" in
${nodes.map(words).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _qrs qrs
`;
}

/** From a group into the command whose word comes next. */
function steps({ path, subcommands }: CompletionNode): readonly string[] {
  return subcommands.map(({ word }) => `      '${path}/${word}') command='${`${path} ${word}`.trimStart()}' ;;`);
}

/** After an option that takes a value: the values it can have, or nothing, so that bash offers files. */
function values({ path, options }: CompletionNode): readonly string[] {
  return options
    .filter(({ takesValue }) => takesValue)
    .map(({ word, choices }) => {
      const offer = choices.length === 0 ? '' : `COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$current")); `;
      return `    '${path}/${word}') ${offer}return ;;`;
    });
}

/** Where an argument is a file, options are offered once a dash is there, so that files come first. */
function words({ path, subcommands, options, choices, takesFile }: CompletionNode): string {
  const flags = options.map(({ word }) => word).join(' ');
  const plain = [...subcommands.map(({ word }) => word), ...choices].join(' ');
  const offer =
    plain === '' && !takesFile ? `words='${flags}'` : `[[ $current == -* ]] && words='${flags}' || words='${plain}'`;
  return `    '${path}') ${offer} ;;`;
}
