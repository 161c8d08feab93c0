# count: every key with its bound.
(seq 10; seq 5; seq 2; for i in $(seq 30); do echo often; done) >stream
perhaps create -q --kind counting -p 1e-6 f.filter stream
printf '1\n5\n10\noften\nabsent\n\n7' >some
show perhaps count f.filter some
show perhaps count f.filter <some
show perhaps count f.filter some - </dev/null
show perhaps count --json f.filter some
show perhaps count --line-buffered f.filter -- some
printf '1\0with\nnewline\0' | perhaps count -z f.filter | od -c
printf '1\r\n5' | perhaps count --crlf f.filter | od -c
printf '\xff\n' | show perhaps count --json f.filter
show perhaps count f.filter /dev/null
show perhaps count f.filter missing some
show perhaps count --json f.filter missing
# Often, at least: what is printed may have been added that often; with -v it was surely not.
for times in 1 2 3 4 15 16 100 18446744073709551615; do
    show perhaps check --at-least $times f.filter some
    show perhaps check -v --at-least=$times f.filter some
done
show perhaps check --at-least 0 f.filter some
show perhaps check --at-least 0 -vc f.filter some
show perhaps check --at-least 2 -nH f.filter some
show perhaps check --at-least 2 --json f.filter some
show perhaps check --at-least 2 -q f.filter some
show perhaps check --at-least 1k -q f.filter some
for times in -1 '' x 1.5 18446744073709551616; do
    refuse perhaps check --at-least "$times" f.filter some
done
# Filters that do not count.
perhaps create -q -p 1e-6 bloom.filter stream
perhaps create -q -p 1e-6 --kind blocked blocked.filter stream
perhaps create -q -p 1e-6 --kind cuckoo --policy unique unique.filter stream
for kind in bloom blocked unique; do
    show perhaps check --at-least 3 $kind.filter some
    show perhaps check -q --at-least 3 $kind.filter some
    show perhaps check --at-least 1 -v $kind.filter some
    refuse perhaps count $kind.filter some
done
refuse perhaps count missing.filter some
refuse perhaps count some some
refuse perhaps count - some
refuse perhaps count -q f.filter some
refuse perhaps count -v f.filter some
refuse perhaps count
