# convert: the same answers from a fraction of the memory.
seq 1000 >keys
seq 20000 >candidates
perhaps create -q --kind counting -n 1000 --seed 5 --metadata 'counted words' f.filter keys
show perhaps convert --kind bloom -o b.filter f.filter
for name in f b; do perhaps check $name.filter candidates | md5sum; done
perhaps create -q -n 1000 --seed 5 --metadata 'counted words' bloom.filter keys
cmp b.filter bloom.filter && echo as if it had been made of the keys
show perhaps convert -q --no-wait f.filter --output=c.filter --kind=bloom
cmp b.filter c.filter && echo the same bytes
refuse perhaps convert --kind bloom -o b.filter f.filter
show perhaps convert --kind bloom -f -o b.filter f.filter
seq 501 1000 | perhaps remove -q f.filter
show perhaps convert --kind bloom -f -o b.filter f.filter
perhaps info b.filter | grep -e adds -e metadata -e distinct
for name in f b; do perhaps check $name.filter candidates | md5sum; done
perhaps create -q --kind counting --policy conservative -n 1000 close.filter keys
show perhaps convert --kind bloom -o d.filter close.filter
perhaps create -q --kind counting -n 10 crowded.filter keys 2>/dev/null
show perhaps convert --kind bloom -o e.filter crowded.filter
perhaps create -q --kind cuckoo cuckoo.filter keys
perhaps create -q --kind blocked blocked.filter keys
for kind in counting blocked cuckoo; do refuse perhaps convert --kind $kind -o x.filter f.filter; done
for kind in bloom blocked cuckoo; do refuse perhaps convert --kind bloom -o x.filter $kind.filter; done
refuse perhaps convert --kind magic -o x.filter f.filter
refuse perhaps convert -o x.filter f.filter
refuse perhaps convert --kind bloom f.filter
refuse perhaps convert --kind bloom -o - f.filter
refuse perhaps convert --kind bloom -o x.filter -
refuse perhaps convert --kind bloom -f -o . f.filter
refuse perhaps convert --kind bloom -o x.filter f.filter b.filter
refuse perhaps convert --kind bloom -o x.filter missing.filter
refuse perhaps convert --kind bloom -o no/such.filter f.filter
refuse perhaps convert --kind bloom -o x.filter keys
