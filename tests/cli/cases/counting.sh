# Counting filters: every option of create, and what the other commands do with them.
seq 1000 >keys
(cat keys; seq 500; seq 100; seq 20; for i in $(seq 20); do echo 7; done) >stream
show perhaps create --kind counting f.filter stream
show perhaps create --kind counting --counter-bits 8 -n 1000 -p 0.01 wide.filter stream
show perhaps create --kind counting --counter-bits=16 -n 1000 -q widest.filter stream
show perhaps create --kind counting --policy conservative -n 1000 close.filter stream
show perhaps create --kind counting --policy multiset --counter-bits 4 -n 1000 -q same.filter stream
cmp f.filter same.filter && echo the same bytes
show perhaps info f.filter
show perhaps info --json f.filter
perhaps info --json f.filter | python3 -m json.tool >/dev/null && echo JSON
perhaps info wide.filter | grep -e counters -e maximum -e policy
perhaps info close.filter | grep -e policy -e copies
show perhaps add f.filter keys
show perhaps add --json f.filter keys
perhaps info f.filter | grep -e copies -e adds
show perhaps verify f.filter wide.filter close.filter
# No line is answered "surely fewer" that is there often enough.
for times in 0 1 2 3 4 5 25; do
    printf '%s: ' $times
    perhaps check -c --at-least $times wide.filter keys
done
seq 501 1000 | show perhaps check -vc --at-least 2 wide.filter
# Two halves, and all at once.
split -n l/2 stream half.
perhaps create -q --kind counting -n 1000 a.filter half.aa
perhaps create -q --kind counting -n 1000 b.filter half.ab
show perhaps merge -o ab.filter a.filter b.filter
perhaps info ab.filter | grep -e copies -e adds
perhaps count same.filter keys >same
perhaps count ab.filter keys | cmp - same && echo the same counts
refuse perhaps merge -o x.filter a.filter wide.filter
refuse perhaps merge -o x.filter a.filter close.filter
refuse perhaps merge -o x.filter a.filter b.filter a.filter
ln a.filter link.filter
refuse perhaps merge -o x.filter a.filter link.filter
seq 2000 30000 >absent
show perhaps calibrate same.filter --present keys --absent absent
sqlite3 s.db 'CREATE TABLE t (k TEXT)'
seq 1000 | sqlite3 s.db '.import /dev/stdin t'
seq 990 1500 | show perhaps guard -q same.filter --store sqlite:s.db --table t --column k
# All counters at their maximum.
for i in $(seq 40); do cat keys; done >often
perhaps create -q --kind counting -n 10 crowded.filter often
show perhaps info crowded.filter
