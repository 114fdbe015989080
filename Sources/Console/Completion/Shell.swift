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

    /// Bash splits words at `=`, and completes only what is behind the last one. The script joins them again, and removes
    /// the part up to the last `=` from the answer.
    private static let bashScript = #"""
        _sluice() {
            local i word candidate files= option= prefix= answer
            local -a words=()
            COMPREPLY=()
            for ((i = 1; i <= COMP_CWORD; i++)); do
                word=${COMP_WORDS[i]}
                if ((${#words[@]})) && [[ $word == = || ${words[-1]} == *= ]]; then
                    words[-1]+=$word
                else
                    words+=("$word")
                fi
            done
            word=${words[-1]}
            answer=$("${COMP_WORDS[0]}" complete-words -- "${words[@]}" 2>/dev/null) || return 0
            [[ $word == *=* ]] && prefix=${word%=*}=
            [[ $word == --*=* ]] && option=${word%%=*}=
            while IFS=$'\t' read -r candidate _; do
                if [[ -z $files ]]; then
                    files=$candidate
                else
                    COMPREPLY+=("${candidate#"$prefix"}")
                fi
            done <<<"$answer"
            word=${word#"$option"}
            prefix=${prefix#"$option"}
            case $files in
                files) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
                named-folders)
                    [[ $word == *=* ]] || return 0
                    prefix=${prefix#"${word%%=*}="}
                    mapfile -t COMPREPLY < <(compgen -d -- "${word#*=}")
                    ;;
                *) return 0 ;;
            esac
            compopt -o filenames
            COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
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
                files) compset -P 1 '--*='; _files ;;
                named-folders) compset -P 1 '--*='; compset -P 1 '*=' && _files -/ ;;
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
            # fish completes the arguments of an unknown command as paths, also behind a sign, and reads quotation marks
            # and ~ in them.
            set -l paths
            switch "$answer[1]"
                case files
                    set paths (complete -C "'' $typed")
                case named-folders
                    set paths (complete -C "'' $typed" | string match --regex '.*/$')
            end
            for path in $paths
                echo "$prefix$path"
            end
        end
        complete -c sluice -f -a '(__sluice_complete)'
        """#
}
