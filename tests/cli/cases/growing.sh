# Filters that grow by layers, refuse at capacity, and are put into fewer layers.
seq 20000 >keys
seq 19500 >gone
for kind in bloom blocked cuckoo; do
    show perhaps create --kind $kind --growth 2 -n 1000 $kind.filter keys
    perhaps check -c $kind.filter keys
    show perhaps info $kind.filter
done
perhaps info --json cuckoo.filter | python3 -m json.tool >/dev/null && echo JSON
show perhaps create --kind cuckoo --policy multiset --at-capacity grow -n 1000 f.filter keys
show perhaps create --kind cuckoo --max-capacity 20k --max-bytes 1MiB -n 1000 planned.filter keys
show perhaps info planned.filter
show perhaps remove f.filter gone
show perhaps plan f.filter
cp f.filter again.filter
show perhaps compact f.filter
show perhaps info f.filter
tail -n 500 keys | perhaps check -c f.filter
show perhaps compact f.filter
show perhaps compact -q again.filter
cmp f.filter again.filter && echo the same bytes
perhaps add -q f.filter keys
perhaps check -c f.filter keys
show perhaps verify f.filter
# The limits.
show perhaps create --growth 4 --max-capacity 2000 -n 1000 g.filter keys
show perhaps create --growth 4 --max-bytes 4k -n 1000 g.filter
show perhaps add g.filter keys
show perhaps info g.filter
show perhaps create --at-capacity refuse -n 1000 g.filter keys
show perhaps create --at-capacity refuse -n 1000 r.filter gone
show perhaps create -q --at-capacity refuse -n 1000 r.filter
seq 1100 | show perhaps add r.filter
show perhaps info r.filter
show perhaps create --kind cuckoo --growth 2 counted.filter keys
# What is refused.
show perhaps create --at-capacity stop -n 1000 x.filter
show perhaps create --at-capacity refuse --growth 4 -n 1000 x.filter
show perhaps create --growth 3 -n 1000 x.filter
show perhaps create --growth 2 --bytes 100k -n 1000 x.filter
show perhaps create --kind counting --growth 2 -n 1000 x.filter
show perhaps create --max-capacity 100 -n 1000 x.filter
show perhaps create --max-capacity 0 -n 1000 x.filter
show perhaps create --max-bytes 100 -n 1000 x.filter
show perhaps compact bloom.filter
show perhaps compact missing.filter
show perhaps compact
