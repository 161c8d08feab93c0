# When to rebuild, and to what size.
seq 90000 >keys
perhaps create -q -n 100k a.filter keys
show perhaps plan a.filter
show perhaps plan --distinct 90k --per-day 500 --days 30 a.filter
show perhaps plan --json --distinct 90000 a.filter
seq 90001 130000 | perhaps add -q a.filter
show perhaps plan a.filter
show perhaps plan --json a.filter
show perhaps plan --distinct 100 a.filter
show perhaps plan --per-day many a.filter
show perhaps plan --residue x a.filter
show perhaps plan --observed 1 a.filter
perhaps create -q -n 100k b.filter keys
show perhaps plan --observed 0.02 b.filter
show perhaps plan --observed 0.01 b.filter
show perhaps plan --observed 0 b.filter
show perhaps plan --residue 20k b.filter
show perhaps plan --json --observed 0.02 --residue 20k b.filter
show perhaps plan missing.filter
