seq 1000 >keys
perhaps create -q -n 2000 -p 0.001 --seed 7 --metadata $'two\nlines' f.filter keys
show perhaps info f.filter
show perhaps info --json f.filter
perhaps info --json f.filter | python3 -m json.tool >/dev/null && echo JSON
perhaps create -q -n 100 -p 0.001 crowded.filter keys
show perhaps info crowded.filter
perhaps create -q -n 1 -p 0.5 full.filter keys
show perhaps info full.filter
show perhaps info --json full.filter
perhaps create -q -n 10 $'new\nline \xff.filter' --metadata $'\xff\x01'
show perhaps info $'new\nline \xff.filter'
show perhaps info --json $'new\nline \xff.filter'
