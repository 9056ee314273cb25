#!/bin/sh
# Writes a man page, compressed, from what `limitree [subcommand] --help` says.
#
# usage: man_page.sh <limitree> <version> <page> [subcommand]
#        man_page.sh <limitree> [subcommand] --help
# help2man asks the second; the text is then as it understands it: commands and
# words of a table are indented, and a command is one line.
set -eu

for last in "$@"; do :; done
if [ "$last" = --help ]; then
  "$@" | sed -e ':more' -e 'N;$!b more' \
    -e 's/ *\\\n */ /g' -e 's/\n          \([^ ]\)/ \1/g' |
    sed -e 's/^\([a-z][a-z]*\)   */  \1  /'
  exit
fi

limitree=$1 version=$2 page=$3 subcommand=${4-}
name=limitree${subcommand:+-$subcommand}
about=$("$limitree" $subcommand --help | head -n 1)
help2man --no-info --no-discard-stderr --name "$about" \
  --version-string "$name (limitree) $version" --output "$page" \
  "$0 $limitree $subcommand"
gzip -9 --no-name --force "$page"
