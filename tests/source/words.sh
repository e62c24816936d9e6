#!/bin/sh
# Greps pages, comments and messages for phrases that make readers stop. Each has a plain replacement.
set -eu
cd "$(dirname "$0")/../.."
status=0

# avoid PATTERN INSTEAD: an extended regular expression that no file may match, ignoring case
avoid() {
    if grep -rnHiE --exclude-dir=fixtures --exclude=words.sh -e "$1" \
        ./*.md Makefile .ci src examples tests bench docs; then
        echo "^ say: $2"
        status=1
    fi
}

avoid '\bforesee|\bforesaw' 'predict'
avoid '\bof (yours|one.s own)\b' 'your own'
avoid '\blearn(s|ed|t)? by heart' 'overfits'
avoid '\btells? the rest\b' 'lists all options'
avoid '\bleave(s)? away\b|\bleft away\b' 'remove'
avoid '\b(has|have|had) it not\b' 'does not support it'
avoid '\blet(s|ting)? go\b' 'releases, frees'
avoid '\banew\b' 'again'
avoid '\bof so many\b|\bso many (rows|elements|times|bytes|lines|tokens|numbers)\b|\bthere are so many\b' 'n rows, the number of rows'
avoid '\bwhoever\b' 'name the one who'
avoid '\bis there already\b|\bthat are there\b' 'exists, existing'
avoid '\bone behind the other\b' 'in sequence'
avoid '\bthat which\b|\bthose which\b' 'what, those that'
avoid '\bto be (gone|had)\b|\bis gone\b|\bare gone\b' 'freed, removed'
avoid '\bgoes on (to|with|from)\b' 'continues'
avoid '\bby itself,? before main\b' 'automatically, before main'
avoid '\bhalf a wave\b' 'cosine'
avoid '\bit is no (file|folder|json|number|text)\b' 'it is not a file'

[ $status -ne 0 ] || echo "words: no phrase of the list"
exit $status
