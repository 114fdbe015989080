/// A shell and its completion script. The scripts contain no command or option: they ask `sluice`.
enum Shell: String, CaseIterable {
    case bash, zsh, fish

    var script: String {
        switch self {
        case .bash: Self.bashScript
        case .zsh: Self.zshScript
        case .fish: Self.fishScript
        }
    }

    /// Bash splits words at `=`, so a value behind one is a separate word. The script joins them again, and removes
    /// the part up to the `=` from the answer.
    private static let bashScript = #"""
        _sluice() {
            local i word candidate files= prefix= answer
            local -a words=()
            COMPREPLY=()
            for ((i = 1; i <= COMP_CWORD; i++)); do
                word=${COMP_WORDS[i]}
                if ((${#words[@]})) && [[ ${words[-1]} == --* && ($word == = || ${words[-1]} == *=) ]]; then
                    words[-1]+=$word
                else
                    words+=("$word")
                fi
            done
            word=${words[-1]}
            answer=$("${COMP_WORDS[0]}" complete-words -- "${words[@]}" 2>/dev/null) || return 0
            [[ $word == --*=* ]] && prefix=${word%%=*}=
            while IFS=$'\t' read -r candidate _; do
                if [[ -z $files ]]; then
                    files=$candidate
                else
                    COMPREPLY+=("${candidate#"$prefix"}")
                fi
            done <<<"$answer"
            word=${word#"$prefix"}
            case $files in
                files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
                folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
            esac
            return 0
        }
        complete -F _sluice sluice
        """#

    private static let zshScript = #"""
        #compdef sluice
        _sluice() {
            local -a lines described
            local line
            lines=("${(@f)$("${words[1]}" complete-words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
            for line in "${(@)lines[2,-1]}"; do
                [[ -n $line ]] && described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
            done
            (( $#described )) && _describe -V sluice described
            case $lines[1] in
                files) compset -P '--*='; _files ;;
                folders) compset -P '--*='; _files -/ ;;
            esac
        }
        # Found by its file's name it is the body of the function itself, and has to answer at once.
        if [[ ${funcstack[1]} == _sluice ]]; then
            _sluice "$@"
        else
            compdef _sluice sluice
        fi
        """#

    private static let fishScript = #"""
        function __sluice_complete
            set -l words (commandline -opc) (commandline -ct)
            set -l answer ($words[1] complete-words -- $words[2..-1] 2>/dev/null)
            for line in $answer[2..-1]
                echo $line
            end
            set -l prefix (string match --regex -- '^--[^=]*=' $words[-1])
            set -l typed (string replace -- "$prefix" '' $words[-1])
            # fish completes the arguments of an unknown command as paths, and reads quotation marks and ~ in them.
            set -l paths
            switch "$answer[1]"
                case files
                    set paths (complete -C "'' $typed")
                case folders
                    set paths (complete -C "'' $typed" | string match --regex '.*/$')
            end
            for path in $paths
                echo "$prefix$path"
            end
        end
        complete -c sluice -f -a '(__sluice_complete)'
        """#
}
