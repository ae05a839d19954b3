# SPDX-License-Identifier: BSD-3-Clause
# Completion of nbdramctl for bash. Commands and options come from its --help,
# names from the daemon, if it answers.

_nbdramctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} tool=${COMP_WORDS[0]} word command='' i
	local ask=("$tool") wanted
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		-s | --socket)
			i=$((i + 1))
			# A path is wanted: as for any command.
			[ "$i" -lt "$COMP_CWORD" ] || return
			ask+=(-s "${COMP_WORDS[i]}")
			;;
		-*) ;;
		*) [ "$command" ] || command=$word ;;
		esac
	done
	case $command,$cur in
	*,-*)
		wanted=$("$tool" --help 2>/dev/null |
			grep -o -E -- '(^| |\[)--?[a-zA-Z][a-z-]*' | tr -d ' [' |
			sort -u)
		;;
	,*)
		wanted=$("$tool" --help 2>/dev/null |
			sed -n '/^commands:/,/^$/s/^  \([a-z-]*\).*/\1/p')
		;;
	create,* | clone,*=* | snapshot,*=*)
		wanted='size= clone= image= load= format= label= block= files= alloc= quota= guarantee= readonly= allow= writers= default= detect-zeroes= max-connections='
		case $command in
		clone) wanted=${wanted#*files= } ;;
		snapshot) wanted='allow= writers= default= max-connections=' ;;
		esac
		compopt -o nospace 2>/dev/null
		;;
	detach,*)
		wanted=$("${ask[@]}" attached 2>/dev/null |
			awk 'NR > 1 { print $1 }')
		;;
	disconnect,*)
		wanted=$("${ask[@]}" clients 2>/dev/null |
			awk 'NR > 1 { print $1 }')
		;;
	show,* | delete,* | resize,* | clone,* | snapshot,* | rollback,* | reset,* | save,* | load,*)
		# Names with blanks or odd bytes are left to the person.
		wanted=$("${ask[@]}" list --json 2>/dev/null |
			sed -n 's/^ *"name": "\([^" \\]*\)",*$/\1/p')
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$wanted" -- "$cur")
}
complete -o default -F _nbdramctl nbdramctl
