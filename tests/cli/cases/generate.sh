show perhaps --generate man-options
for shell in bash zsh fish; do
    perhaps --generate complete-$shell >completion.$shell
    grep -c -e capacity completion.$shell
done
bash -n completion.bash
# shellcheck disable=SC1091
. ./completion.bash
complete_words() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _perhaps
    printf '%s:' "$*"
    printf ' %s' "${COMPREPLY[@]}"
    echo
}
touch some.filter
complete_words perhaps c
complete_words perhaps ''
complete_words perhaps --v
complete_words perhaps check --n
complete_words perhaps create --kind b
complete_words perhaps create --kind c
complete_words perhaps create --policy ""
complete_words perhaps create --slots ""
complete_words perhaps size --counter-bits ""
complete_words perhaps convert -
complete_words perhaps --generate complete-
complete_words perhaps check so
