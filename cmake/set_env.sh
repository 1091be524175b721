# SPDX-License-Identifier: MIT
# Makes this installation the one that compilers, the loader and Python find:  source <prefix>/set_env.sh
# For bash and zsh, from any folder, as often as wanted.  The folder may be moved; this file finds itself.

if [ -n "${BASH_VERSION:-}" ]; then
  _descend_prefix=${BASH_SOURCE[0]}
elif [ -n "${ZSH_VERSION:-}" ]; then
  eval '_descend_prefix=${(%):-%x}'
else
  echo "set_env.sh: bash or zsh must source this file" >&2
  return 1
fi
_descend_prefix=$(dirname "$(readlink -f "$_descend_prefix")")

# Puts folder $2 first in the colon-separated variable $1, where it then stands once.
_descend_first() {
  eval "_descend_list=\":\${$1:-}:\""
  _descend_list=${_descend_list//":$2:"/:}
  _descend_list=${_descend_list#:}
  _descend_list=${_descend_list%:}
  export "$1=$2${_descend_list:+:$_descend_list}"
}

export ASCEND_HOME_PATH="$_descend_prefix"
export ASCEND_TOOLKIT_HOME="$_descend_prefix"
export ASCEND_CUSTOM_PATH="${ASCEND_CUSTOM_PATH:-$_descend_prefix}"
export ASCEND_OPP_PATH="$_descend_prefix/opp"
_descend_first LD_LIBRARY_PATH "$_descend_prefix/lib64"
_descend_first PATH "$_descend_prefix/bin"
_descend_first PYTHONPATH "$_descend_prefix/python/site-packages"
_descend_first CMAKE_PREFIX_PATH "$_descend_prefix/lib64/cmake"

unset -f _descend_first
unset _descend_prefix _descend_list
