# Filters that can be full: what is refused is counted, shown and not lost in silence; the rest is added. Eight copies of
# a key fill both of its buckets: where there is room enough, each of the 300 keys has two for itself, where there is less,
# they share some.
for i in $(seq 307); do seq 300; done | head -92000 >lines
for room in 1M 4000; do
    perhaps create -qf --kind cuckoo -n $room f.filter
    show perhaps add f.filter lines
    perhaps info f.filter | grep -e copies -e load
    seq 300 | perhaps count f.filter | cut -f 2 | sort -n | uniq -c
    seq 300 | show perhaps check -c f.filter
done
cp f.filter before
seq 10 | show perhaps add -v f.filter
cmp f.filter before && echo nothing was added, nothing was changed
perhaps create -q --kind cuckoo -n 4000 --policy unique u.filter
show perhaps add u.filter lines
perhaps info u.filter | grep -e copies -e load
# More distinct keys than there is room for.
seq 3000 >keys
perhaps create -q --kind cuckoo -n 1000 -p 0.001 g.filter
perhaps add -v g.filter keys >refused 2>errors
echo $?
sed -E 's/[0-9]+/N/g' errors
perhaps check -v g.filter keys >absent
grep -vcxFf refused absent
perhaps check g.filter keys >there
cat refused there | sort -n | uniq | wc -l
seq 3001 3100 | show perhaps add -q g.filter >/dev/null
perhaps create -q --kind cuckoo -n 1000 -p 0.001 h.filter
perhaps add --json h.filter keys 2>/dev/null | sed -E 's/[0-9]+/N/g'
(echo only) | perhaps add --json -v g.filter 2>/dev/null | tail -n 1 | sed -E 's/[0-9]+/N/g'
perhaps create -q --kind cuckoo -n 1 -p 0.1 tiny.filter
printf 'a\tb\na\tb\na\tb\na\tb\na\tb\na\tb\na\tb\na\tb\na\tb\n' | show perhaps add --json -v tiny.filter
perhaps create -qf --kind cuckoo -n 1 -p 0.1 tiny.filter
for i in $(seq 9); do printf 'x\ny\0'; done | perhaps add -qvz tiny.filter 2>/dev/null | od -c | head
# create makes no filter that lacks keys.
refuse perhaps create -q --kind cuckoo -n 1000 x.filter keys
for i in $(seq 20); do echo often; done >often
refuse perhaps create -q --kind cuckoo x.filter often
refuse perhaps create -q --kind cuckoo -n 100 x.filter often
refuse perhaps create -q --kind cuckoo -n 4000 x.filter lines
(cat often; seq 3000) >both
refuse perhaps create -q --kind cuckoo -n 1000 x.filter both
refuse perhaps create -q --kind cuckoo -n 10 --at-capacity grow --policy multiset --max-capacity 100 x.filter both
refuse perhaps create -q -f --kind cuckoo -n 100 f.filter often
show perhaps create --kind cuckoo --policy unique x.filter often
# Room again, once keys are removed.
perhaps remove -q g.filter there
head -n 500 refused >some
show perhaps add g.filter some
show perhaps check -c g.filter some
