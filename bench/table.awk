# Prints the figures of `make bench` as the Markdown table of "Latest results" in bench/README.md:
#   awk -f bench/table.awk build/bench.tsv
# Each peer has a column of ratios, those of the stronger of its rows: default or tuned, jit or loop. Peers that measure
# few workloads share the column "other". Ratios are bold where Heed is behind.
BEGIN { FS = "\t" }

NR == 1 { next }

{
    if (!($1 in place)) {
        place[$1] = ++rows
        name[rows] = $1
        unit[rows] = $4
    }
    if (!($2 in seen)) {
        seen[$2] = 1
        threads[++settings] = $2
    }
    heed[$1, $2] = $3
}

$7 + 0 > 0 {
    peer = $5
    sub(/ tuned$/, "", peer)
    sub(/, (jit|loop)$/, "", peer)
    if (peer !~ /^(PyTorch|torch\.compile|JAX) /) {
        peer = "other"
    }
    if (!(peer in column)) {
        column[peer] = 1
        if (peer != "other") {
            peers[++columns] = peer
        }
    }
    at = $1 SUBSEP $2 SUBSEP peer
    if (!(at in ratio) || $7 < ratio[at]) {
        ratio[at] = $7 + 0
        behind[at] = $11 == "behind"
    }
}

# Two decimals below 10, none from 10 on.
function short(x) {
    return sprintf(x < 9.995 ? "%.2f" : "%.0f", x)
}

END {
    if ("other" in column) {
        peers[++columns] = "other"
    }
    line = "| workload | unit |"
    rule = "|---|---|"
    for (s = 1; s <= settings; s++) {
        line = line " " threads[s] (threads[s] == 1 ? " thread |" : " threads |")
        rule = rule "---|"
        for (c = 1; c <= columns; c++) {
            line = line " " peers[c] " |"
            rule = rule "---|"
        }
    }
    print line
    print rule
    for (r = 1; r <= rows; r++) {
        line = "| `" name[r] "` | " unit[r] " |"
        for (s = 1; s <= settings; s++) {
            line = line " " sprintf("%.3g", heed[name[r], threads[s]]) " |"
            for (c = 1; c <= columns; c++) {
                at = name[r] SUBSEP threads[s] SUBSEP peers[c]
                cell = at in ratio ? short(ratio[at]) : ""
                line = line " " (at in ratio && behind[at] ? "**" cell "**" : cell) " |"
            }
        }
        print line
    }
}
