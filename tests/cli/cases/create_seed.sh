# The same seed gives the same file, another seed another file; so do order of options and way of reading.
seq 5000 >keys
perhaps create -q -n 5000 a.filter keys
perhaps create -q -n 5000 b.filter <keys -
perhaps create -q -n 5000 c.filter --seed 0 keys
perhaps create -q -n 5000 d.filter --seed 1 keys
perhaps create -q -n 5000 e.filter --seed 0x1 keys
perhaps create -q f.filter --seed 18446744073709551615 keys
perhaps create -q g.filter --seed 0xffffffffffffffff <keys
sha256sum ./*.filter | sort | awk '{print $1 != last ? "another:" : "same:", $2; last = $1}' | sort -k 2
