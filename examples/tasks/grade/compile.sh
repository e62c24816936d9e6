#!/bin/sh
# What the compiler's first error means, below its own words: compile.sh FILE
first=$(grep -m 1 'error:' "$1")
file=$(echo "$first" | sed -n 's/^\(task[^:]*\):\([0-9]*\):.*/\1, line \2/p')
case $first in
*return-type*) why="A path through this function ends without a return." ;;
*implicit-function* | *"undeclared function"*) why="No function has this name." ;;
*int-conversion*) why="A number stands where a tensor or another pointer belongs, or the reverse." ;;
*undeclared*) why="No variable has this name here: it is declared nowhere, or within other { }." ;;
*"expected"*) why="A ; or a bracket is missing, here or in the line before." ;;
*unused-result*) why="This line drops its result: does a return lack, or an assignment? No function changes its argument." ;;
*read-only*) why="This line assigns to what is only to be read." ;;
*"incompatible"*) why="Two types do not fit." ;;
*) why="The line above has what the compiler says about it." ;;
esac
printf '\n  Your code does not compile%s. %s\n' "${file:+: $file}" "$why"
